"""Logs written again with new numbers, with which a stock MySQL replica applies more transactions at once (R37).

Sources: the behaviour of MySQL 9.7's replica (``sql/rpl_mts_submode.cc``).
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from paraply._native import Catalog, LogReader, LogStamper, log_head
from paraply.errors import UsageError
from paraply.logs import log_paths
from paraply.logs.feed import Feed, FeedRules
from paraply.output_files import write_failed
from paraply.schema.catalog import SchemaCatalog
from paraply.schema.readers.dump import read_dump
from paraply.wording import fallback_reasons, fallback_total

__all__ = ["MOST_WORKERS", "StampReport", "stamp"]

MOST_WORKERS = 1024
"""Largest ``replica_parallel_workers`` of MySQL: a number that is further back gains nothing."""

Progress = Callable[[int, int], None]


@dataclass(slots=True)
class StampReport:
    """Result of ``stamp``.

    Attributes:
        transactions: Number of transactions.
        changed: Transactions that got other numbers than they had.
        barriers: Transactions that wait for all before them, and for which all after them wait.
        parallel_before: Transactions that may start while the one before them is applied, by the log's own numbers.
        parallel_after: The same by the new numbers.
        workers: Most workers of the replica; no number is further back.
        files: The new files.
        bytes: Their size in bytes.
        fallbacks: Number of coarser write sets (R13).
        fallback_reasons: The same by reason and table.
        seconds: Duration.
    """

    transactions: int = 0
    changed: int = 0
    barriers: int = 0
    parallel_before: int = 0
    parallel_after: int = 0
    workers: int = MOST_WORKERS
    files: list[str] = field(default_factory=list)
    bytes: int = 0
    fallbacks: int = 0
    fallback_reasons: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """Return the fields of the command's JSON object."""
        counts = ("transactions", "changed", "barriers", "parallel_before", "parallel_after")
        return {name: getattr(self, name) for name in (*counts, "workers", "files", "bytes", "fallbacks", "fallback_reasons")}


def stamp(
    paths: Path | str | Sequence[Path | str],
    folder: Path | str,
    *,
    workers: int = MOST_WORKERS,
    schema: Path | str | None = None,
    on_progress: Progress | None = None,
) -> StampReport:
    """Write logs again with new ``last_committed`` and ``sequence_number``, and valid checksums.

    The new numbers are the least ones that are safe. The files get their names when all of them are complete and durable; after an error
    there is none.

    Args:
        paths: Binlogs or relay logs of MySQL 5.7 or later, in order, or folders with them.
        folder: The folder for the new files, which have the names of the logs.
        workers: Number of workers of the replica (``replica_parallel_workers``). The numbers are safe for any other number, too.
        schema: A dump of the tables at the start of the log; by default only the log's own DDL is used.
        on_progress: Called with the bytes read and the transactions written.

    Returns:
        Report of the written files.

    Raises:
        UsageError: A log is missing or MariaDB's, two logs have the same name, or a new file exists.
        LogError: The log is damaged or not understood.
    """
    if not 1 <= workers <= MOST_WORKERS:
        raise UsageError(f"--workers {workers}: give the replica's replica_parallel_workers, from 1 to {MOST_WORKERS}")
    started = time.monotonic()
    logs = log_paths(paths)
    refuse_mariadb(logs)
    report = StampReport(workers=workers)
    with NewFiles(logs, Path(folder)) as files:
        # What is written to a growing log after this moment is left out, by both readers.
        sizes = [Path(log).stat().st_size for log in logs]
        stamper = LogStamper(list(zip(logs, sizes, map(str, files.partial), strict=True)), workers)
        catalog = read_dump(Path(schema)) if schema is not None else SchemaCatalog()
        feed = Feed(LogReader(logs, sizes=sizes), catalog, Catalog(), FeedRules("fine"))
        feed.seed(list(catalog))
        try:
            for item in feed:
                stamper.write(item.batch, item.write_sets)
                if on_progress is not None:
                    on_progress(feed.read_bytes, stamper.transactions)
        finally:
            feed.stop()
            feed.join()
        stamper.finish()
        files.complete()
    for name in ("transactions", "changed", "barriers", "parallel_before", "parallel_after"):
        setattr(report, name, getattr(stamper, name))
    report.files, report.bytes = [str(path) for path in files.final], stamper.written
    report.fallbacks = fallback_total(feed.fallbacks)
    report.fallback_reasons = fallback_reasons(feed.fallbacks)
    report.seconds = time.monotonic() - started
    return report


def refuse_mariadb(logs: Sequence[str]) -> None:
    """Refuse logs of MariaDB.

    Raises:
        UsageError: A log is MariaDB's.
    """
    for log in logs:
        if log_head(log).mariadb:
            raise UsageError(
                f"{log} is a log of MariaDB, whose transactions carry no last_committed and sequence_number; for a MariaDB replica set"
                " slave_parallel_mode=optimistic, or replay the log with paraply apply",
                file=log,
            )


class NewFiles:
    """Files that are written under temporary names, and renamed when all are complete.

    Args:
        logs: The logs, whose names the files get.
        folder: Their folder.

    Raises:
        UsageError: Two logs have the same name, or a file exists.
    """

    def __init__(self, logs: Sequence[str], folder: Path) -> None:
        names = [Path(log).name for log in logs]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise UsageError(f"two of the logs have the name {twice}, and would be one file in {folder}; stamp them into two folders")
        self._folder = folder
        self.final = [folder / name for name in names]
        """Names of the files when they are complete."""
        self.partial = [folder / f".{name}.partial-{os.getpid()}" for name in names]
        """Names until then."""

    def __enter__(self) -> NewFiles:
        """Make the folder, and check that no file would be replaced."""
        if self._folder.exists() and not self._folder.is_dir():
            raise UsageError(f"{self._folder} is a file; name a folder for the new files", file=str(self._folder))
        self._folder.mkdir(parents=True, exist_ok=True)
        self._refuse_existing()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        """Remove the files that are not complete.

        Raises:
            ParaplyError: One of them could not be written.
        """
        for path in self.partial:
            path.unlink(missing_ok=True)
        names = {str(partial): final for partial, final in zip(self.partial, self.final, strict=True)}
        if isinstance(error, OSError) and (final := names.get(str(error.filename))) is not None:
            raise write_failed(final, "-o", error) from None

    def complete(self) -> None:
        """Give the files their names."""
        self._refuse_existing()
        for partial, final in zip(self.partial, self.final, strict=True):
            partial.rename(final)
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            with contextlib.suppress(OSError):  # a file system that cannot
                os.fsync(folder)
        finally:
            os.close(folder)

    def _refuse_existing(self) -> None:
        for path in self.final:
            if os.path.lexists(path):
                raise UsageError(f"{path} exists, and is not replaced; name another folder, or remove it", file=str(path))
