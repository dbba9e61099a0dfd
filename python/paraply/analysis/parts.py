"""Division of logs into parts that can be read at the same time, each with its start and its table definitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paraply._native import scan_log
from paraply.errors import UsageError
from paraply.logs.statement_text import decode_logged
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
# The magic, and the header of the first event without its flags, because the server clears one of them when it closes the file.
HEAD_BYTES = 4 + 17

Place = tuple[int, int, bool]
"""Boundary between transactions: its offset, the offset of the valid format description, and True for a relay log."""

BEGIN: Place = (4, 4, False)
Step = Callable[[SchemaCatalog], None]


@dataclass(frozen=True, slots=True)
class FileMark:
    """State of a log file at one time.

    Attributes:
        size: Size in bytes.
        head: The first bytes, with the time and the server of its creation.
    """

    size: int
    head: bytes


@dataclass(frozen=True, slots=True)
class LogPart:
    """Part of one or several logs, read by one task.

    Attributes:
        paths: One log, or several in order if transactions span files.
        position: Number of transactions before it.
        tables: The definitions valid at its start.
        piece: Start and end in the only file; None for whole files. The end is None for the end of the file.
        committed: Earliest and latest commit time, microseconds since 1970; None if unknown.
        transactions: Number of transactions; None if unknown.
        marks: States of the files when the part was made; no more than that is read. Empty to read files to their present end.
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
        """Number of bytes to read from each file; empty for all."""
        return [mark.size for mark in self.marks]


@dataclass(frozen=True, slots=True)
class Scanned:
    """Result of scanning a file.

    Attributes:
        path: The file.
        pieces: For each piece its start, its end, its number of transactions, and their earliest and latest commit time.
        steps: Changes of tables by statements, each with the number of its piece.
        end: Position at which a later scan continues.
        failure: Error that ended the scan before the file's end.
    """

    path: str
    pieces: list[tuple[Place, int, int, tuple[int, int] | None]]
    steps: list[tuple[int, Step]]
    end: Place
    failure: BaseException | None


def scan(path: str, split: int, *, start: Place | None = None, cuts: Sequence[int] = (), events: bool = False) -> Scanned:
    """Scan a file without decoding its rows.

    Args:
        path: The file.
        split: Size after which the file is divided, at the next transaction boundary.
        start: Position at which to begin.
        cuts: Further offsets at which the file is divided.
        events: Read only the GTID events that begin transactions.

    Raises:
        LogError: The file cannot be read, or is not a log; ``failure`` has an error inside the log.
    """
    found: LogScan = scan_log(path, split, start=start, cuts=list(cuts), events=events)
    return Scanned(path, found.pieces, list(steps_of(found)), found.end, found.failure)


def steps_of(found: LogScan) -> Iterator[tuple[int, Step]]:
    """Yield the changes of tables by a file's statements."""
    for piece, transaction in found.statements:
        log = transaction.format
        for statement in transaction.statements:
            sql = decode_logged(statement, transaction)
            yield piece, partial(_advance, sql, statement.database, statement.context, log.mariadb, log.version)


def _advance(
    sql: str, database: str, context: dict[str, Any], mariadb: bool, version: tuple[int, int, int], catalog: SchemaCatalog
) -> None:
    """Apply one statement to the definitions."""
    advance(catalog, sql, database, context, mariadb=mariadb, version=version)


def scan_all(paths: Sequence[str], split: int, *, events: bool = False) -> list[Scanned]:
    """Scan several files at the same time."""
    if len(paths) == 1:
        return [scan(paths[0], split, events=events)]
    with ThreadPoolExecutor(SCANNERS) as pool:
        return list(pool.map(lambda path: scan(path, split, events=events), paths))


def cut(paths: Sequence[str], tables: Sequence[Table], split: int, *, events: bool = False) -> list[LogPart]:
    """Divide logs into parts of about ``split`` bytes that can be read independently.

    The parts cover the files as they are now; events written later belong to no part. If a transaction continues in the next file, or a
    file is damaged, there is one part with all files, because only a reader of all of them can find the error.

    Args:
        paths: The logs, in order.
        tables: The definitions valid at their start.
        split: Size of a part in bytes.
        events: True for parts of events: transactions are not decoded, and no tables are known.

    Raises:
        LogError: A file cannot be read, or is not a log.
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
        UsageError: The file cannot be read.
    """
    try:
        with Path(path).open("rb") as log:
            return FileMark(Path(path).stat().st_size, log.read(HEAD_BYTES))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", file=path) from error


def check_unchanged(path: str, before: FileMark) -> None:
    """Check that a file still has its earlier content; it may have grown.

    Raises:
        UsageError: The file has shrunk, or another file has its name.
    """
    now = mark_of(path)
    if now.size < before.size:
        raise UsageError(f"{path} became smaller since it was first read: a log only grows; load it again", file=path)
    if not now.head.startswith(before.head):
        raise UsageError(f"{path} is another file than the one that was first read; load it again", file=path)


def catalog_behind(paths: Sequence[str], tables: Sequence[Table]) -> SchemaCatalog:
    """Return the definitions valid after logs.

    Args:
        paths: The logs, in order.
        tables: The definitions valid at their start.
    """
    catalog = catalog_of(tables)
    for found in scan_all(paths, WHOLE):
        for _, step in found.steps:
            step(catalog)
    return catalog


def catalog_of(tables: Sequence[Table]) -> SchemaCatalog:
    """Return definitions that statements can change."""
    catalog = SchemaCatalog()
    for table in tables:
        catalog.put(table)
    return catalog
