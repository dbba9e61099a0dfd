"""Meaning of ``--stop-at`` and ``--stop-before``."""

from __future__ import annotations

import pytest

from paraply.errors import UsageError
from paraply.logs.stop_point import StopPlace, StopPoint, moment_text, parse_stop

UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        ("2023-11-14T22:13:20Z", 1_700_000_000_000_000),
        ("2023-11-14T23:13:20+01:00", 1_700_000_000_000_000),
        ("2023-11-14 17:13:20.25-05:00", 1_700_000_000_250_000),
        ("2023-11-14t22:13:20.000001z", 1_700_000_000_000_001),
        # A transaction of that microsecond is earlier than the stop.
        ("2023-11-14T22:13:20.0000005Z", 1_700_000_000_000_001),
    ],
)
def test_a_time_is_a_moment_in_microseconds(text: str, microseconds: int) -> None:
    assert parse_stop(text) == StopPoint(time=microseconds)


@pytest.mark.parametrize("text", [f"{UUID}:17", f"{UUID.upper()}:17", f"{UUID}:a_tag:17", "0-1-17"])
def test_anything_else_is_a_gtid(text: str) -> None:
    assert parse_stop(text) == StopPoint(after=text.lower())
    assert parse_stop(None, text) == StopPoint(before=text.lower())


@pytest.mark.parametrize(
    ("stop_at", "stop_before", "message"),
    [
        ("2026-03-01T14:07:00", None, "time zone"),
        ("2026-03-01T14:07+01:00", None, "RFC 3339|one GTID"),
        ("2026-03-01", None, "one GTID"),
        ("2026-02-30T14:07:00Z", None, "is not a time"),
        (f"{UUID}:1-17", None, "one GTID"),
        (None, "2026-03-01T14:07:00Z", "--stop-at"),
        ("0-1-0", None, "one GTID"),
        ("soon", None, "one GTID"),
    ],
)
def test_what_is_neither_is_refused(stop_at: str | None, stop_before: str | None, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_stop(stop_at, stop_before)


def test_the_stop_is_named_for_people_and_for_json() -> None:
    assert parse_stop() is None
    place = StopPlace("binlog.000003", 190, "0-1-17", 1_700_000_000_000_000, included=False)
    assert str(place) == "before 0-1-17 (binlog.000003:190, committed 2023-11-14T22:13:20.000000Z)"
    assert place.as_json()["committed_at"] == moment_text(1_700_000_000_000_000)
