"""Whether log files follow each other without gaps, told by their heads and tails before anything is applied."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cmp_to_key
from itertools import pairwise
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from paraply.errors import LogError, UsageError
from paraply.logs.file_names import split_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paraply._native import GtidSet, LogHead

__all__ = ["LogFile", "check_order", "missing_before", "read_heads"]

_SHOWN = 400


@dataclass(frozen=True, slots=True)
class LogFile:
    """A log file and what it tells of itself.

    Attributes:
        path: As it was named.
        head: Its head and tail; None where the head is damaged, which the reader tells in its turn.
        stem: The name without the number that rotation counts up.
        number: That number; None if the name has none.
    """

    path: str
    head: LogHead | None
    stem: str
    number: int | None

    @property
    def name(self) -> str:
        """The base name."""
        return PurePath(self.path).name

    @property
    def previous(self) -> GtidSet | None:
        """What was executed before the file."""
        return None if self.head is None else self.head.previous_gtids


def read_heads(paths: Sequence[str]) -> list[LogFile]:
    """Reads the heads and tails of log files; a few kilobytes of each, whatever their size."""
    from paraply._native import log_head

    files = []
    for path in paths:
        stem, number = split_name(path)
        head: LogHead | None
        try:
            head = log_head(path)
        except LogError:
            head = None
        files.append(LogFile(path, head, stem, number))
    return files


def check_order(files: Sequence[LogFile]) -> None:
    """Refuses files that are named twice, that stand in the wrong order, or between which others are missing.

    By the GTIDs that each file says were executed before it (Previous-GTIDs, MariaDB's GTID list), by the name of the next file
    that a closed file ends with, and by the numbers in the names. A file is walked through only where none of these tells.

    Raises:
        UsageError: Says what is wrong and what to do.
    """
    _refuse_twice(files)
    problem = _first_problem(files)
    if problem is None:
        return
    ordered = sorted(files, key=cmp_to_key(_compare))
    if [file.path for file in ordered] != [file.path for file in files] and _first_problem(ordered) is None:
        raise UsageError(f"the logs are not in the order in which they were written; give them as: {' '.join(f.path for f in ordered)}")
    raise UsageError(problem[1], file=problem[0].path)


def missing_before(files: Sequence[LogFile], held: GtidSet) -> GtidSet | None:
    """What was executed before the first file and the target does not hold: transactions that no log given here has.

    Args:
        files: The logs, in order.
        held: What the target holds.

    Returns:
        The missing set; None if nothing is missing, or the first file does not tell.
    """
    previous = files[0].previous if files else None
    if not previous:
        return None
    return (previous - held) or None


def shown(gtids: GtidSet) -> str:
    """A GTID set for a message: its beginning, where it is long."""
    text = str(gtids)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(gtids)} transactions)"


def _refuse_twice(files: Sequence[LogFile]) -> None:
    seen: dict[tuple[int, int], LogFile] = {}
    contents: dict[tuple[object, ...], LogFile] = {}
    for file in files:
        status = Path(file.path).stat()
        known = seen.setdefault((status.st_dev, status.st_ino), file)
        if known is not file:
            also = "" if known.path == file.path else f", also as {known.path}"
            raise UsageError(f"{file.path} is named twice{also}; name each log once", file=file.path)
        head = file.head
        if head is None or not head.has_transactions:
            continue
        # Two files that begin alike in the same second under one server are copies of one.
        identity = (head.server_id, head.begun, str(head.previous_gtids), head.first_gtid, head.first_committed_at, file.number)
        known = contents.setdefault(identity, file)
        if known is not file:
            which = "are copies of one log" if known.head and known.head.size == head.size else "begin with the same transactions"
            raise UsageError(f"{known.path} and {file.path} {which}; name only the longer one", file=file.path)


def _first_problem(files: Sequence[LogFile]) -> tuple[LogFile, str] | None:
    for older, newer in pairwise(files):
        problem = _between(older, newer)
        if problem is not None:
            return newer, problem
    return None


def _between(older: LogFile, newer: LogFile) -> str | None:
    """What is wrong with a file that follows another one; None if nothing is."""
    if older.head is None or newer.head is None:
        return None
    same_server = older.head.server_id == newer.head.server_id
    announced = older.head.next_file
    named = _by_announcement(older, newer, announced) if announced is not None else None
    if announced is not None and named is None and same_server:
        return None
    before, after = older.previous, newer.previous
    if before is not None and after is not None and not before <= after:
        return (
            f"{newer.name} was begun before {older.name} or on another server: what was executed before {older.name} is unknown to it"
            f" ({shown(before - after)}); give the logs of one server, in order"
        )
    if announced is not None:
        return named
    if older.number is not None and newer.number is not None and older.stem == newer.stem and same_server:
        if newer.number == older.number + 1:
            return None
        return f"{newer.name} does not follow {older.name}: {_missing_names(older.stem, older.number + 1, newer.number)}"
    if before is not None and after is not None and (older.head.first_gtid or newer.head.first_gtid):
        return _by_gtids(older, newer, before, after)
    return None


def _by_announcement(older: LogFile, newer: LogFile, announced: str) -> str | None:
    stem, number = split_name(announced)
    if number is None or newer.number is None or number == newer.number:
        return None
    return (
        f"{older.name} ends with the name of the next log, {announced}, but {newer.name} follows:"
        f" {_missing_names(stem, number, newer.number)}"
    )


def _missing_names(stem: str, first: int, behind: int) -> str:
    last = behind - 1
    if last < first:
        return "the logs are out of order, or not of one server"
    names = f"{stem}.{first:06}" + ("" if first == last else f" to {stem}.{last:06}")
    return f"add {names}"


def _by_gtids(older: LogFile, newer: LogFile, before: GtidSet, after: GtidSet) -> str | None:
    """Neither file says that the other one is its neighbour: walks through the older one."""
    from paraply._native import log_gtids

    held = log_gtids(older.path)
    missing = (after - before) - held
    if missing:
        return f"between {older.name} and {newer.name} logs are missing that hold {shown(missing)}; add them"
    twice = held - after
    if twice:
        return (
            f"{newer.name} was begun when {shown(twice)} of {older.name} were not executed on its server: both may hold them;"
            " give the logs of one server"
        )
    return None


def _compare(one: LogFile, other: LogFile) -> int:
    """Which of two files was written first."""
    if one.head is not None and other.head is not None:
        first, second = one.head.previous_gtids, other.head.previous_gtids
        if first is not None and second is not None and first != second:
            if first <= second:
                return -1
            if second <= first:
                return 1
        if one.stem == other.stem and one.number is not None and other.number is not None:
            return one.number - other.number
        return one.head.begun - other.head.begun
    return (one.number or 0) - (other.number or 0)
