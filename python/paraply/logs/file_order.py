"""Checks that log files follow each other without gaps, by their heads and tails, before anything is applied."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cmp_to_key
from itertools import pairwise
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from paraply.errors import LogError, UsageError
from paraply.logs.file_names import split_name
from paraply.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paraply._native import GtidSet, LogHead

__all__ = ["LogFile", "check_order", "missing_before", "problem_between", "read_heads", "refuse_twice"]

_SHOWN = 400


@dataclass(frozen=True, slots=True)
class LogFile:
    """A log file with the information in its head and tail.

    Attributes:
        path: Path as given.
        head: Head and tail; None if the head is damaged, which the reader will report.
        stem: Base name without the rotation number.
        number: Rotation number; None if the name has none.
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
        """GTIDs that were executed before the file."""
        return None if self.head is None else self.head.previous_gtids


def read_heads(paths: Sequence[str]) -> list[LogFile]:
    """Read the heads and tails of log files; a few kilobytes of each, whatever their size."""
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
    """Refuse files that are given twice, are in the wrong order, or have missing files between them.

    The check uses, for each pair of files:

    - the GTIDs that were executed before each file (Previous-GTIDs, MariaDB's GTID list);
    - the name of the next file at the end of a closed file;
    - the numbers in the names.

    A whole file is only read if none of these gives an answer.

    Raises:
        UsageError: The files do not follow each other; the message states the problem and what to do.
    """
    refuse_twice(files)
    problem = _first_problem(files)
    if problem is None:
        return
    ordered = sorted(files, key=cmp_to_key(_compare))
    if [file.path for file in ordered] != [file.path for file in files] and _first_problem(ordered) is None:
        raise UsageError(f"the logs are not in the order in which they were written; give them as: {' '.join(f.path for f in ordered)}")
    raise UsageError(problem[1], file=problem[0].path)


def missing_before(files: Sequence[LogFile], held: GtidSet) -> GtidSet | None:
    """Return the GTIDs that were executed before the first file and are not on the target: transactions that none of the logs has.

    Args:
        files: The logs, in order.
        held: GTIDs on the target.

    Returns:
        The missing set; None if nothing is missing, or the first file has no such information.
    """
    previous = files[0].previous if files else None
    if not previous:
        return None
    return (previous - held) or None


def shown(gtids: GtidSet) -> str:
    """Return a GTID set for a message; a long one is cut off."""
    text = str(gtids)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({counted(len(gtids), 'transaction')})"


def refuse_twice(files: Sequence[LogFile]) -> None:
    """Refuse a file that is named twice, and copies of one log.

    Raises:
        UsageError: There is one; the message names it.
    """
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
        # Two files of one server with the same head and the same start time are copies of one log.
        identity = (head.server_id, head.begun, str(head.previous_gtids), head.first_gtid, head.first_committed_at, file.number)
        known = contents.setdefault(identity, file)
        if known is not file:
            which = "are copies of one log" if known.head and known.head.size == head.size else "begin with the same transactions"
            raise UsageError(f"{known.path} and {file.path} {which}; name only the longer one", file=file.path)


def _first_problem(files: Sequence[LogFile]) -> tuple[LogFile, str] | None:
    for older, newer in pairwise(files):
        problem = problem_between(older, newer)
        if problem is not None:
            return newer, problem
    return None


def problem_between(older: LogFile, newer: LogFile) -> str | None:
    """Return the problem with a file that follows another one, such as missing files between them; None if there is none."""
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
            f"{newer.name} was begun before {older.name} or on another server: it does not know all GTIDs executed before {older.name}"
            f" ({shown(before - after)}); give the logs of one server, in order"
        )
    if announced is not None:
        return named
    if older.number is not None and newer.number is not None and older.stem == newer.stem and same_server:
        if newer.number == older.number + 1:
            return None if older.head.closed else _cut_off(older, newer)
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


def _cut_off(older: LogFile, newer: LogFile) -> str | None:
    """Return the problem with a file that is not closed, although a later one exists, or None: after a crash it is whole, as a copy not.

    A GTID list of MariaDB does not tell this, because its numbers need not be without gaps.
    """
    before, after = older.previous, newer.previous
    if older.head is None or older.head.mariadb or before is None or after is None:
        return None
    from paraply._native import log_gtids

    missing = (after - before) - log_gtids(older.path)
    if not missing:
        return None
    return f"{older.name} was not copied to its end: it lacks {shown(missing)}, committed before {newer.name} was begun; copy it again"


def _by_gtids(older: LogFile, newer: LogFile, before: GtidSet, after: GtidSet) -> str | None:
    """Read the older file, and return the problem between two files that do not name each other, or None."""
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
    """Compare two files by the time at which they were written."""
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
