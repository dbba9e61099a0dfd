"""The lines of ``paraply status`` about a live source."""

from __future__ import annotations

from typing import Any

import pytest

from paraply.cli.status import _progress, _received
from paraply.targets.channel_status import ChannelStatus

CONNECTED = {
    "source": "mysql://db1", "connected": True, "disconnected_since": None, "last_error": "", "heard_seconds_ago": 0.3,
    "lag_transactions": 0, "unapplied_transactions": 0, "received_transactions": 4, "last_received": "u:4", "source_file": "b.1",
    "source_position": 9, "semi_sync": "off",
}  # fmt: skip
LOST = {"connected": False, "disconnected_since": "2026-01-01T00:00:00.000000Z", "last_error": "it is down", "lag_transactions": None}


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        ({}, ("connected, heard", "0 transactions, 0 s")),
        (LOST, ("not connected since 2026-01-01T00:00:00.000000Z (it is down)", "not known while the source is not connected; everything")),
        (
            {**LOST, "unapplied_transactions": 7},
            ("not connected since", "not known while the source is not connected; 7 transactions, 12 s of"),
        ),
    ],
)
def test_no_lag_of_0_is_shown_while_the_source_is_not_connected(changes: dict[str, Any], lines: tuple[str, str]) -> None:
    source, _, lag = _received({**CONNECTED, **changes}, {"lag": 12.0})
    assert lines[0] in source
    assert lines[1] in lag


def test_no_place_of_the_source_is_shown_before_something_is_received() -> None:
    before = {"received_transactions": 0, "source_position": 4}
    assert _received({**CONNECTED, **before}, {"lag": None})[1] == "received   nothing since the start; the relay log goes up to u:4"
    assert _received({**CONNECTED, **before, "last_received": ""}, {"lag": None})[1] == "received   nothing since the start"
    assert _received(CONNECTED, {"lag": None})[1] == "received   4 transactions up to u:4 (b.1:9)"


def test_an_incomplete_gtid_set_is_named() -> None:
    lines = _progress(ChannelStatus("default", 1, complete=False, executed="u:1-9", gtid_mode="record", missing="u:5-9"))
    assert any(line.startswith("incomplete") and "lacks u:5-9" in line for line in lines)
