"""Health of a channel, for monitoring: the exit code of ``paraply status``."""

from __future__ import annotations

from typing import Any

import pytest
from unit.observe.busy_run import BUSY, IDENTITY

from paraply.cli.status import trouble_of
from paraply.errors import ApplyFailed, ParaplyError
from paraply.observe.status_json import status_object
from paraply.targets.channel_status import ChannelStatus, LastSign

#: Counters of a run that has applied nothing yet.
FRESH = status_object(IDENTITY, BUSY)["counters"] | {"lag": None}


def channel(
    *, complete: bool = False, age: float = 1.0, outcome: str | None = None, error: ParaplyError | None = None, **more: Any
) -> ChannelStatus:
    status = status_object(IDENTITY, BUSY, outcome=outcome, error=error) | more
    return ChannelStatus("default", 3, complete, sign=LastSign(3, "2026-01-01T00:00:00Z", age, status))


def receiver(*, connected: bool, pending: int | None) -> dict[str, Any]:
    return {"connected": connected, "lag_transactions": pending}


@pytest.mark.parametrize(
    ("found", "max_lag", "trouble"),
    [
        (channel(), None, None),
        (channel(), 60, None),
        (channel(), 5, "it lags 12 s, more than 5 s"),
        (channel(complete=True, outcome="done"), None, None),
        (channel(complete=True, outcome="done"), 5, None),
        (ChannelStatus("fill", 1, complete=True), 5, None),
        (channel(outcome="stopped"), None, None),
        (channel(outcome="stopped"), 5, "it does not run"),
        (channel(age=99), 5, "its process has stopped reporting"),
        (channel(outcome="failed", error=ApplyFailed("no such row")), None, "failed: no such row"),
        (channel(age=99), None, "its process has stopped reporting"),
        (channel(receiver=receiver(connected=True, pending=0)), 5, None),
        (channel(receiver=receiver(connected=True, pending=7)), 5, "it lags 12 s, more than 5 s"),
        (channel(receiver=receiver(connected=True, pending=7), counters=FRESH), 5, "7 transactions wait, and none was applied"),
        (channel(receiver=receiver(connected=True, pending=0), counters=FRESH), 5, None),
        (channel(receiver=receiver(connected=False, pending=0)), 5, "not connected to its source"),
        (channel(receiver=receiver(connected=False, pending=0)), None, None),
        (ChannelStatus("default", 1, complete=True), None, None),
        (ChannelStatus("default", 1, complete=False, pending="ALTER TABLE t ..."), None, "a crash inside a DDL is undecided"),
    ],
)
def test_trouble_is_named(found: ChannelStatus, max_lag: float | None, trouble: str | None) -> None:
    found_trouble = trouble_of(found, max_lag)
    assert (found_trouble is None) == (trouble is None), found_trouble
    assert (trouble or "") in (found_trouble or "")
