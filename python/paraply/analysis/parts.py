"""Logs cut into parts that can be read at the same time: where each begins, and which tables there are then."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paraply._native import scan_log
from paraply.errors import UsageError
from paraply.logs.statement_text import decode_statement
from paraply.schema.advance import advance
from paraply.schema.catalog import SchemaCatalog

if TYPE_CHECKING:
    from paraply._native import LogScan
    from paraply.schema.model import Table

__all__ = [
    "BEGIN",
    "FileMark",
    "LogPart",
    "Place",
    "Scanned",
    "Step",
    "catalog_behind",
    "catalog_of",
    "check_unchanged",
    "cut",
    "mark_of",
    "scan",
    "scan_all",
]

SCANNERS = 8
WHOLE = 1 << 62
# The magic, and the header of the first event without its flags, of which the server clears one when it closes the file.
HEAD_BYTES = 4 + 17

Place = tuple[int, int, bool]
"""A place between transactions: its offset, the offset of the format description in force, whether the file is a relay log."""

BEGIN: Place = (4, 4, False)
Step = Callable[[SchemaCatalog], None]


@dataclass(frozen=True, slots=True)
class FileMark:
    """A log file as it was when it was looked at.

    Attributes:
        size: Its bytes.
        head: Its first bytes: when it was made and by which server.
    """

    size: int
    head: bytes


@dataclass(frozen=True, slots=True)
class LogPart:
    """What one task reads.

    Attributes:
        paths: One log, or several in order where transactions reach over files.
        position: Transactions before it.
        tables: The definitions that hold at its start.
        piece: Where in the only file it begins and ends; None for whole files. The end is None where it is the file's.
        committed: Earliest and latest commit time, microseconds since 1970; None where that is not known.
        transactions: How many there are; None where that is not known.
        marks: The files as they were when the part was cut, of which no more is read; empty where files are read as far as they go.
    """

    paths: list[str]
    position: int = 0
    tables: list[Table] = field(default_factory=list)
    piece: tuple[Place, int | None] | None = None
    committed: tuple[int, int] | None = None
    transactions: int | None = None
    marks: tuple[FileMark, ...] = ()

    @property
    def sizes(self) -> list[int]:
        """Bytes of each file that are read; none for all."""
        return [mark.size for mark in self.marks]


@dataclass(frozen=True, slots=True)
class Scanned:
    """What looking through a file told.

    Attributes:
        path: The file.
        pieces: Where each piece begins and ends, its transactions, their earliest and latest commit time.
        steps: What statements do to the tables, each with the number of its piece.
        end: Where a later look goes on.
        failure: What ended it before the file's end.
    """

    path: str
    pieces: list[tuple[Place, int, int, tuple[int, int] | None]]
    steps: list[tuple[int, Step]]
    end: Place
    failure: BaseException | None


def scan(path: str, split: int, *, start: Place | None = None, cuts: Sequence[int] = (), events: bool = False) -> Scanned:
    """Looks through a file without its rows.

    Args:
        path: The file.
        split: Bytes behind which it is cut, at the next transaction boundary.
        start: Where to begin.
        cuts: Offsets at which it is cut, too.
        events: Understand nothing but where GTIDs begin transactions.

    Raises:
        LogError: It cannot be read, or is no log; damage inside stands in ``failure``.
    """
    found: LogScan = scan_log(path, split, start=start, cuts=list(cuts), events=events)
    return Scanned(path, found.pieces, list(steps_of(found)), found.end, found.failure)


def steps_of(found: LogScan) -> Iterator[tuple[int, Step]]:
    """What the statements of a file do to the tables."""
    for piece, transaction in found.statements:
        log = transaction.format
        for statement in transaction.statements:
            sql = decode_statement(statement, mariadb=log.mariadb, file=transaction.file)
            yield piece, partial(_advance, sql, statement.database, statement.context, log.mariadb, log.version)


def _advance(
    sql: str, database: str, context: dict[str, Any], mariadb: bool, version: tuple[int, int, int], catalog: SchemaCatalog
) -> None:
    """Let one statement change the tables."""
    advance(catalog, sql, database, context, mariadb=mariadb, version=version)


def scan_all(paths: Sequence[str], split: int, *, events: bool = False) -> list[Scanned]:
    """Looks through several files at the same time."""
    if len(paths) == 1:
        return [scan(paths[0], split, events=events)]
    with ThreadPoolExecutor(SCANNERS) as pool:
        return list(pool.map(lambda path: scan(path, split, events=events), paths))


def cut(paths: Sequence[str], tables: Sequence[Table], split: int, *, events: bool = False) -> list[LogPart]:
    """Cuts logs into parts of about ``split`` bytes, each to be read by itself.

    The parts are of the files as they are now: what is written later belongs to none of them. Where a transaction goes on in the next
    file, or a file is damaged, there is one part with all of them: its reader then sees what the readers of parts could not.

    Args:
        paths: The logs, in order.
        tables: The definitions that hold at their start.
        split: Bytes.
        events: For events: no transaction need be understood, and no tables are known.

    Raises:
        LogError: A file cannot be read, or is no log.
    """
    marks = {path: mark_of(path) for path in paths}
    scans = scan_all(paths, split, events=events)
    if not events and any(found.failure is not None for found in scans):
        return [LogPart(list(paths), tables=list(tables), marks=tuple(marks[path] for path in paths))]
    catalog = catalog_of(tables)
    parts: list[LogPart] = []
    position = 0
    for found in scans:
        mark = replace(marks[found.path], size=max(marks[found.path].size, found.end[0]))  # it may have grown before the scan
        whole = not events and len(found.pieces) == 1
        steps = iter([*found.steps, (len(found.pieces), None)])
        at, step = next(steps)
        for number, (start, end, transactions, committed) in enumerate(found.pieces):
            last = number == len(found.pieces) - 1
            piece = None if whole else (start, None if last else end)
            parts.append(LogPart([found.path], position, list(catalog), piece, committed, transactions, (mark,)))
            position += transactions
            while at <= number:
                if step is not None:
                    step(catalog)
                at, step = next(steps)
    return parts


def mark_of(path: str) -> FileMark:
    """Return a file's size and its first bytes.

    Raises:
        UsageError: It cannot be read.
    """
    try:
        with Path(path).open("rb") as log:
            return FileMark(Path(path).stat().st_size, log.read(HEAD_BYTES))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", file=path) from error


def check_unchanged(path: str, before: FileMark) -> None:
    """Check that a file still holds what it held when it was looked at; it may have grown.

    Raises:
        UsageError: It became smaller, or another file has its name.
    """
    now = mark_of(path)
    if now.size < before.size:
        raise UsageError(f"{path} became smaller since it was first read: a log only grows; load it again", file=path)
    if not now.head.startswith(before.head):
        raise UsageError(f"{path} is another file than the one that was first read; load it again", file=path)


def catalog_behind(paths: Sequence[str], tables: Sequence[Table]) -> SchemaCatalog:
    """The definitions that hold behind logs.

    Args:
        paths: The logs, in order.
        tables: The definitions that hold at their start.
    """
    catalog = catalog_of(tables)
    for found in scan_all(paths, WHOLE):
        for _, step in found.steps:
            step(catalog)
    return catalog


def catalog_of(tables: Sequence[Table]) -> SchemaCatalog:
    """Definitions that follow statements."""
    catalog = SchemaCatalog()
    for table in tables:
        catalog.put(table)
    return catalog
