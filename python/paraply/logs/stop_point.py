"""Stop points of a replay: before a time, after a GTID, before a GTID, or before a position."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from paraply.errors import UsageError
from paraply.logs.inputs.compression import plain_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from paraply._native import GtidSet, StopCondition

__all__ = ["StopPlace", "StopPoint", "moment_text", "native_stop", "parse_moment", "parse_stop"]

_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)?")
_MYSQL = re.compile(r"[0-9A-Fa-f]{8}-?(?:[0-9A-Fa-f]{4}-?){3}[0-9A-Fa-f]{12}(?::[A-Za-z_][A-Za-z0-9_]{0,31})?:[1-9]\d*")
_MARIADB = re.compile(r"(?:0|[1-9]\d*)-(?:0|[1-9]\d*)-[1-9]\d*")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class StopPoint:
    """Point after which nothing is applied; of two conditions the first one met in the log counts.

    Attributes:
        time: Microseconds since 1970, UTC: the stop is before the first transaction in log order whose commit time is not earlier.
            Compared with the commit time on the original source, in microseconds where the log has it (MySQL 8.0 and
            later), else in whole seconds.
        after: GTID of the last transaction to apply.
        before: GTID of the first transaction not to apply.
        place: Base name of a file, and the offset in it of the first transaction not to apply.
        view_change: GTIDs of view changes to ignore; the stop is after the next view change of a group that is not among them (R30).
        text: The stop in the user's words, for messages.
    """

    time: int | None = None
    after: str | None = None
    before: str | None = None
    place: tuple[str, int] | None = None
    view_change: GtidSet | None = field(default=None, compare=False)
    text: str = field(default="", compare=False)

    @property
    def gtids(self) -> list[tuple[str, str]]:
        """GTIDs of the stop, each with its option."""
        named = (("--stop-at", self.after), ("--stop-before", self.before))
        return [(option, gtid) for option, gtid in named if gtid is not None]

    def native(self) -> StopCondition:
        """Return the stop for the native reader."""
        from paraply._native import StopCondition

        return StopCondition(time=self.time, before=self.before, after=self.after, view_change=self.view_change, position=self.place)


def native_stop(stop: StopPoint | None) -> StopCondition | None:
    """Return a stop, if there is one, for the native reader."""
    return None if stop is None else stop.native()


@dataclass(frozen=True, slots=True)
class StopPlace:
    """Transaction at which reading of a log stopped.

    Attributes:
        file: Its log file.
        position: Offset of its first event.
        gtid: Its GTID, if there is one.
        committed_at: Commit time on its source, microseconds since 1970, UTC.
        included: True if it is the last applied transaction, False if it is the first one not applied.
        asked: The options that asked for the stop, in the user's words.
    """

    file: str
    position: int
    gtid: str | None
    committed_at: int | None
    included: bool
    asked: str = ""

    def __str__(self) -> str:
        """Return the stop for people."""
        who = self.gtid or "a transaction without GTID"
        when = f", committed {moment_text(self.committed_at)}" if self.committed_at is not None else ""
        return f"{'after' if self.included else 'before'} {who} ({self.file}:{self.position}{when})"

    def as_json(self) -> Mapping[str, Any]:
        """Return the stop as in the JSON object of a command."""
        return {
            "file": self.file,
            "position": self.position,
            "gtid": self.gtid,
            "committed_at": None if self.committed_at is None else moment_text(self.committed_at),
            "included": self.included,
            "asked": self.asked,
        }


def moment_text(microseconds: int) -> str:
    """Return a moment as RFC 3339 text in UTC.

    >>> moment_text(1_700_000_000_000_000)
    '2023-11-14T22:13:20.000000Z'
    """
    return (_EPOCH + timedelta(microseconds=microseconds)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_stop(stop_at: str | None = None, stop_before: str | None = None) -> StopPoint | None:
    """Return the stop of ``--stop-at`` and ``--stop-before``; None without them.

    Args:
        stop_at: A time in RFC 3339 with an offset, or the GTID of the last transaction to apply.
        stop_before: The GTID of the first transaction not to apply, or its place as FILE:POSITION.

    Raises:
        UsageError: A text is neither a time, nor a GTID, nor a place.

    >>> parse_stop("2023-11-14T23:13:20+01:00").time
    1700000000000000
    >>> parse_stop("0-1-17").after
    '0-1-17'
    >>> parse_stop(stop_before="/backup/binlog.000042.zst:1234").place
    ('binlog.000042', 1234)
    """
    if stop_at is None and stop_before is None:
        return None
    time = after = before = place = None
    words = []
    if stop_at is not None:
        words.append(f"--stop-at {stop_at}")
        if _TIME.match(stop_at.strip()):
            time = parse_moment("--stop-at", stop_at.strip())
        else:
            after = _parse_gtid("--stop-at", stop_at.strip(), "a time such as 2026-03-01T14:07:00+01:00, or one GTID")
    if stop_before is not None:
        words.append(f"--stop-before {stop_before}")
        place = _parse_place(stop_before.strip())
        wanted = "one GTID or FILE:POSITION; a time goes to --stop-at, which stops before it"
        before = _parse_gtid("--stop-before", stop_before.strip(), wanted) if place is None else None
    return StopPoint(time, after, before, place, text=" ".join(words))


def parse_moment(option: str, text: str) -> int:
    """Return a time in RFC 3339 with an offset as microseconds since 1970.

    Raises:
        UsageError: The text is no such time; the message names the option.

    >>> parse_moment("--since", "2023-11-14T23:13:20+01:00")
    1700000000000000
    """
    match = _TIME.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{option} {text}: write the time as RFC 3339 does, such as 2026-03-01T14:07:00+01:00 or 2026-03-01T13:07:00Z")
    day, clock, fraction, offset = match.groups()
    if offset is None:
        raise UsageError(
            f"{option} {text} does not say in which time zone: add the offset, such as {day}T{clock}Z for UTC or {day}T{clock}+01:00"
        )
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}{'+00:00' if offset in 'Zz' else offset}")
    except ValueError as error:
        raise UsageError(f"{option} {text} is not a time: {error}") from None
    digits = fraction or ""
    # Rounded up: a transaction is after the stop only if it is not earlier.
    more = int(digits[:6].ljust(6, "0") or 0) + bool(digits[6:].strip("0"))
    return (moment - _EPOCH) // _MICROSECOND + more


def _parse_place(text: str) -> tuple[str, int] | None:
    """Return base name and offset of FILE:POSITION; None for any other text."""
    file, colon, position = text.rpartition(":")
    if not colon or not file or not position.isdigit() or _MYSQL.fullmatch(text) or _TIME.match(text):
        return None
    return plain_name(PurePath(file).name), int(position)


def _parse_gtid(option: str, text: str, wanted: str) -> str:
    if _MARIADB.fullmatch(text):
        return text
    if _MYSQL.fullmatch(text):
        return text.lower()
    raise UsageError(f"{option} {text}: give {wanted} (uuid:number as MySQL writes it, domain-server-number as MariaDB does)")
