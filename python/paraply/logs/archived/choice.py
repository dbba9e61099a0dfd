"""The files of an archive that a command needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from paraply._native import GtidSet
from paraply.errors import UsageError
from paraply.logs.stop_point import StopPoint, parse_stop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paraply.logs.archived.manifest import ArchivedFile

__all__ = ["Wanted", "needed_files"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Part of a log that a command reads.

    Attributes:
        start_after: GTIDs that are not needed.
        stop: Point after which nothing is needed.
        since: Commit time from which, microseconds since 1970, UTC.
        until: Commit time before which.
    """

    start_after: GtidSet | None = None
    stop: StopPoint | None = None
    since: int | None = None
    until: int | None = None

    @classmethod
    def between(cls, start_after: str | None = None, stop_at: str | None = None, stop_before: str | None = None) -> Wanted:
        """Return the part between ``--start-after``, and ``--stop-at`` and ``--stop-before``.

        Raises:
            UsageError: A stop is neither a time nor a GTID.
        """
        try:
            after = GtidSet(start_after) if start_after else None
        except (UsageError, ValueError):  # the preflight reports it
            after = None
        return cls(after, parse_stop(stop_at, stop_before))


def needed_files(files: Sequence[ArchivedFile], wanted: Wanted) -> list[ArchivedFile]:
    """Return the files that hold the part, without a gap; at least one.

    >>> from paraply.logs.archived.manifest import ArchivedFile
    >>> files = [ArchivedFile(f"binlog.00000{n}", "", 1, gtids=f"0-1-{n}0", transactions=10, closed=True) for n in (1, 2, 3, 4)]
    >>> [file.name for file in needed_files(files, Wanted.between("0-1-10", stop_at="0-1-25"))]
    ['binlog.000002', 'binlog.000003']
    """
    first = 0
    while first + 1 < len(files) and is_before(files[first], wanted):
        first += 1
    kept = list(files[first:])
    ends = [number for number, file in enumerate(kept) if holds_stop(file, wanted.stop)]
    if ends:
        kept = kept[: ends[0] + 1]
    while len(kept) > 1 and wanted.until is not None and (kept[-1].first_commit or 0) >= wanted.until:
        kept.pop()
    return kept


def is_before(file: ArchivedFile, wanted: Wanted) -> bool:
    """Return True if the part begins after a file."""
    if not file.closed:
        return False
    if wanted.since is not None and file.last_commit is not None and file.last_commit < wanted.since:
        return True
    if wanted.start_after is None or file.without_gtid:
        return False
    return GtidSet(file.gtids) <= wanted.start_after


def holds_stop(file: ArchivedFile, stop: StopPoint | None) -> bool:
    """Return True if a stop is in a file, or before it."""
    if stop is None:
        return False
    if stop.time is not None and file.last_commit is not None and file.last_commit >= stop.time:
        return True
    gtids = GtidSet(file.gtids)
    return any(holds(gtids, gtid) for gtid in (stop.after, stop.before) if gtid is not None)


def holds(gtids: GtidSet, gtid: str) -> bool:
    """Return True if a set holds a GTID; one of the other family is in no set."""
    return gtid in gtids
