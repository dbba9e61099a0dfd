"""Division of logs into parts that can be read at the same time, each with its start and its table definitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from paraply._native import LogReader, Place, scan_log
from paraply.errors import UsageError
from paraply.logs.statement_text import decode_logged
from paraply.schema.advance import advance
from paraply.schema.catalog import SchemaCatalog

if TYPE_CHECKING:
    from paraply._native import CommitTimes, LogScan, ScannedPiece, Transaction
    from paraply.logs.stop_point import StopPoint
    from paraply.schema.ddl.change import SchemaChange
    from paraply.schema.model import Table

__all__ = [
    "BEGIN",
    "WHOLE",
    "Division",
    "FileMark",
    "LogPart",
    "Place",
    "Scanned",
    "Step",
    "catalog_of",
    "check_scans",
    "check_unchanged",
    "cut",
    "divide",
    "mark_of",
    "place_of",
    "scan",
    "scan_all",
]

SCANNERS = 8
WHOLE = 1 << 62
# The magic, and the header of the first event without its flags, because the server clears one of them when it closes the file.
HEAD_BYTES = 4 + 17

BEGIN = Place(4, 4, relay_log=False)


@dataclass(frozen=True, slots=True)
class Step:
    """Statements of one transaction, which may change tables.

    Attributes:
        transaction: The transaction.
    """

    transaction: Transaction

    @property
    def offset(self) -> int:
        """Offset of the transaction in its file."""
        return self.transaction.offset

    def __call__(self, catalog: SchemaCatalog) -> list[SchemaChange]:
        """Apply the statements to definitions, and return their changes."""
        return [change for _, changes in self.run(catalog) for change in changes]

    def run(self, catalog: SchemaCatalog) -> Iterator[tuple[str, list[SchemaChange]]]:
        """Apply one statement after the other to definitions; yield its text and its changes."""
        log = self.transaction.format
        for statement in self.transaction.statements:
            sql = decode_logged(statement, self.transaction)
            yield sql, advance(catalog, sql, statement.database, statement.context, mariadb=log.mariadb, version=log.version)


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
        first_file: Number of its first file among those of the load.
        gtid: GTID of the transaction in which a piece of events begins.
    """

    paths: list[str]
    position: int = 0
    tables: list[Table] = field(default_factory=list)
    piece: tuple[Place, int | None] | None = None
    committed: CommitTimes | None = None
    transactions: int | None = None
    marks: tuple[FileMark, ...] = ()
    first_file: int = 0
    gtid: str | None = None

    @property
    def sizes(self) -> list[int]:
        """Number of bytes to read from each file; empty for all."""
        return [mark.size for mark in self.marks]

    def place(self, transaction: Transaction) -> tuple[int, int]:
        """Return the number of a transaction's file in the load, and its offset."""
        return self.first_file + self.paths.index(transaction.file), transaction.offset


@dataclass(frozen=True, slots=True)
class Scanned:
    """Result of scanning a file.

    Attributes:
        path: The file.
        pieces: The pieces in order.
        steps: Changes of tables by statements, each with the number of its piece.
        end: Position at which a later scan continues.
        failure: Error that ended the scan before the file's end.
    """

    path: str
    pieces: list[ScannedPiece]
    steps: list[tuple[int, Step]]
    end: Place
    failure: BaseException | None


@dataclass(frozen=True, slots=True)
class Division:
    """Logs as they were divided.

    Attributes:
        parts: The parts in order.
        scans: The scanned files in order.
        complete: True if all files were scanned to their ends.
    """

    parts: list[LogPart]
    scans: list[Scanned]
    complete: bool


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
    for statements in found.statements:
        yield statements.piece, Step(statements.transaction)


def scan_all(paths: Sequence[str], split: int, *, events: bool = False) -> list[Scanned]:
    """Scan several files at the same time."""
    if len(paths) == 1:
        return [scan(paths[0], split, events=events)]
    with ThreadPoolExecutor(SCANNERS) as pool:
        return list(pool.map(lambda path: scan(path, split, events=events), paths))


def check_scans(scans: Sequence[Scanned]) -> None:
    """Check that all statements of logs were seen; what comes after the end of the last log is told by its reader.

    Raises:
        LogError: A log before the last one was not scanned to its end.
    """
    for found in scans[:-1]:
        if found.failure is not None:
            raise found.failure


def cut(paths: Sequence[str], tables: Sequence[Table], split: int, *, events: bool = False) -> list[LogPart]:
    """Divide logs into parts of about ``split`` bytes that can be read independently; ``divide`` has the details."""
    return divide(paths, tables, split, events=events).parts


def divide(
    paths: Sequence[str], tables: Sequence[Table], split: int, *, events: bool = False, end: tuple[int, int] | None = None
) -> Division:
    """Divide logs into parts of about ``split`` bytes that can be read independently.

    The parts cover the files as they are now; events written later belong to no part. If a transaction continues in the next file, or a
    file is damaged, there is one part with all files, because only a reader of all of them can find the error.

    Args:
        paths: The logs, in order.
        tables: The definitions valid at their start.
        split: Size of a part in bytes.
        events: True for parts of events: transactions are not decoded, and no tables are known.
        end: Number of a file, and an offset in it between transactions: later transactions are left out.

    Raises:
        LogError: A file cannot be read, or is not a log; with ``end``, also a damaged one.
    """
    if end is not None:
        paths = paths[: end[0] + 1]
    marks = {path: mark_of(path) for path in paths}
    scans = scan_all(paths, split, events=events) if end is None else _scans_to(paths, split, end[1])
    failed = next((found.failure for found in scans if found.failure is not None), None)
    if not events and failed is not None:
        if end is not None:
            raise failed
        whole = LogPart(list(paths), tables=list(tables), marks=tuple(marks[path] for path in paths))
        return Division([whole], scans, complete=False)
    catalog = catalog_of(tables)
    parts: list[LogPart] = []
    position = 0
    for index, found in enumerate(scans):
        mark = replace(marks[found.path], size=max(marks[found.path].size, found.end.offset))  # it may have grown before the scan
        whole_file = not events and len(found.pieces) == 1 and end is None
        steps = iter([*found.steps, (len(found.pieces), None)])
        at, step = next(steps)
        for number, scanned in enumerate(found.pieces):
            last = number == len(found.pieces) - 1 and end is None
            piece = None if whole_file else (scanned.start, None if last else scanned.end)
            parts.append(LogPart([found.path], position, list(catalog), piece, scanned.committed, scanned.transactions, (mark,), index))
            position += scanned.transactions
            while at <= number:
                if step is not None:
                    step(catalog)
                at, step = next(steps)
    return Division(parts, scans, complete=True)


def _scans_to(paths: Sequence[str], split: int, offset: int) -> list[Scanned]:
    """Scan files up to an offset in the last one."""
    scans = scan_all(paths[:-1], split) if len(paths) > 1 else []
    found = scan(paths[-1], split, cuts=[offset])
    pieces = [piece for piece in found.pieces if piece.start.offset < offset]
    steps = [(number, step) for number, step in found.steps if step.offset < offset]
    failure = None if found.end.offset >= offset else found.failure
    return [*scans, replace(found, pieces=pieces, steps=steps, failure=failure)]


def place_of(paths: Sequence[str], stop: StopPoint) -> tuple[int, int] | None:
    """Return the number of the file and the offset after the last transaction before a stop; None if that is after the logs.

    Raises:
        UsageError: The logs do not hold the GTID.
    """
    reader = LogReader(paths, count_rows=False, stop=stop.native())
    last = None
    while (batch := reader.next_batch()) is not None:
        if len(batch):
            last = batch[len(batch) - 1]
    if reader.stopped is None:
        if stop.gtids:
            raise UsageError(f"{stop.gtids[0][1]} is not in these logs; name the logs that hold it, or a time")
        return None
    return (0, BEGIN.offset) if last is None else (list(paths).index(last.file), last.end_offset)


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


def catalog_of(tables: Sequence[Table]) -> SchemaCatalog:
    """Return definitions that statements can change."""
    catalog = SchemaCatalog()
    for table in tables:
        catalog.put(table)
    return catalog
