"""The error of a replication that ends outside its apply, in the status row of its target."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any, cast

import pytest

from paraply.errors import ConnectionFailed, ParaplyError, ReceiveFailed, UsageError
from paraply.replication.outcome import publish_failure
from paraply.targets.channel_status import ChannelStatus, LastSign
from paraply.targets.protocol import Target

REFUSED = ReceiveFailed("the source does not send its log")


class Channels:
    """A target with channels and their status rows."""

    def __init__(self, *channels: ChannelStatus, lost: bool = False) -> None:
        self.channels = list(channels)
        self.lost = lost
        self.rows: dict[tuple[str, int], dict[str, Any]] = {}
        self.open_rows = 0

    @contextlib.contextmanager
    def made(self) -> Iterator[Target]:
        yield cast("Target", self)

    def read_channels(self) -> list[ChannelStatus]:
        if self.lost:
            raise ConnectionFailed("refused")
        return self.channels

    def open_status_row(self, found: ChannelStatus) -> Row:
        self.open_rows += 1
        return Row(self, found)


class Row:
    def __init__(self, target: Channels, found: ChannelStatus) -> None:
        self.target = target
        self.found = found

    def publish(self, text: str) -> None:
        self.target.rows[self.found.name, self.found.epoch] = json.loads(text)

    def close(self) -> None:
        self.target.open_rows -= 1


def published(error: ParaplyError, *channels: ChannelStatus, **more: Any) -> dict[tuple[str, int], dict[str, Any]]:
    target = Channels(*channels, **more)
    publish_failure(target.made, "shop", error, None, {"connected": False})
    assert target.open_rows == 0
    return target.rows


def channel(name: str = "shop", *, complete: bool = False, outcome: str | None = "done", age: float = 1.0) -> ChannelStatus:
    return ChannelStatus(name, 4, complete, gtid_mode="preserve", sign=LastSign(4, "2026-01-01T00:00:00Z", age, {"outcome": outcome}))


@pytest.mark.parametrize("found", [channel(complete=True), channel(outcome="failed"), channel(outcome=None, age=99)])
def test_the_error_is_written_under_the_present_epoch(found: ChannelStatus) -> None:
    ((place, status),) = published(REFUSED, channel("other"), found).items()
    assert place == ("shop", 4)
    assert (status["outcome"], status["error"]["class"], status["gtid_mode"]) == ("failed", "ReceiveFailed", "preserve")
    assert status["receiver"] == {"connected": False}


def test_the_row_of_a_process_that_runs_stays() -> None:
    assert published(REFUSED, channel(outcome=None)) == {}


def test_a_first_start_leaves_a_row_of_epoch_0_unless_an_option_was_wrong() -> None:
    assert list(published(REFUSED)) == [("shop", 0)]
    assert published(UsageError("--start-after names GTIDs, but the source has none")) == {}
    assert list(published(UsageError("other filters"), channel())) == [("shop", 4)]


def test_a_target_that_is_lost_hides_no_error() -> None:
    assert published(REFUSED, lost=True) == {}
