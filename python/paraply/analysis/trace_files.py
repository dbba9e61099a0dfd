"""The columnar trace of logs as Parquet files."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from paraply._native import trace_schema
from paraply.analysis.parts import LogPart
from paraply.analysis.trace import TraceSource
from paraply.errors import ParaplyError, UsageError
from paraply.logs import log_paths
from paraply.output_files import NewFile
from paraply.wording import fallback_reasons, fallback_total

__all__ = ["TraceReport", "write_trace"]

ROW_GROUP_ROWS = 65_536
ROW_GROUP_BYTES = 64 << 20
# Columns with few values; hashes rarely repeat.
DICTIONARY_COLUMNS = ["origin", "kind", "tables.list.element", "file", "session", "server_id"]

Progress = Callable[[int, int], None]


@dataclass(slots=True)
class TraceReport:
    """Result of ``write_trace``.

    Attributes:
        transactions: Number of transactions, and so of rows of the trace.
        files: The Parquet files.
        bytes: Bytes of those files.
        log_bytes: Bytes of the transactions in the log.
        fallbacks: Number of coarser write sets (R13).
        fallback_reasons: The same by reason and table.
        seconds: Duration.
    """

    transactions: int = 0
    files: list[str] = field(default_factory=list)
    bytes: int = 0
    log_bytes: int = 0
    fallbacks: int = 0
    fallback_reasons: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """Return the fields of the command's JSON object."""
        names = ("transactions", "files", "bytes", "log_bytes", "fallbacks", "fallback_reasons")
        return {name: getattr(self, name) for name in names}


def write_trace(
    paths: Path | str | Sequence[Path | str],
    output: Path | str,
    *,
    scheme: str = "fine",
    schema: Path | str | None = None,
    by_file: bool = False,
    row_group_rows: int = ROW_GROUP_ROWS,
    on_progress: Progress | None = None,
) -> TraceReport:
    """Write the trace of logs as Parquet: zstd, in row groups with statistics of their positions.

    A file gets its name only when it is complete, that is when its log was read to the end; until then nothing is replaced.

    Args:
        paths: Binlogs or relay logs, in order.
        output: The Parquet file, or the folder with ``by_file``.
        scheme: Scheme of the write sets, as for ``trace``.
        schema: A dump of the tables at the start.
        by_file: True to write a folder with one Parquet file for each log; positions continue from one to the next.
        row_group_rows: Most rows of a row group.
        on_progress: Called with the bytes read and the transactions written.

    Returns:
        Report of the written files.

    Raises:
        UsageError: A file is missing, two logs have the same name, or the output is a folder where a file is needed, or the reverse.
        LogError: The log is damaged or not understood; an incomplete file is removed.
    """
    started = time.monotonic()
    source = TraceSource(LogPart(log_paths(paths)), scheme, schema)
    report = TraceReport()
    with TraceWriter(Path(output), by_file, log_paths(paths), row_group_rows) as writer:
        for batch in source:
            writer.write(batch)
            if on_progress is not None:
                on_progress(source.read_bytes, source.transactions)
        writer.finish()
    report.transactions, report.log_bytes = source.transactions, source.read_bytes
    report.files = [str(file) for file in writer.files]
    report.bytes = sum(file.stat().st_size for file in writer.files)
    report.fallbacks = fallback_total(source.fallbacks)
    report.fallback_reasons = fallback_reasons(source.fallbacks)
    report.seconds = time.monotonic() - started
    return report


class TraceWriter:
    """Writer of trace batches into one Parquet file, or into one for each log.

    Args:
        output: The file or the folder.
        by_file: True if the output is a folder.
        logs: The logs, in order.
        row_group_rows: Most rows of a row group.

    Raises:
        UsageError: The output is not usable.
    """

    def __init__(self, output: Path, by_file: bool, logs: Sequence[str], row_group_rows: int) -> None:
        if by_file and output.exists() and not output.is_dir():
            raise UsageError(f"{output} is a file; with one Parquet file for each log the output is a folder", file=str(output))
        if not by_file and output.is_dir():
            raise UsageError(f"{output} is a folder; name a file in it, or write one file for each log", file=str(output))
        names = [Path(log).name for log in logs]
        if by_file and len(set(names)) < len(names):
            raise UsageError("two of the logs have the same name; write them into one file, or one after the other")
        self._output = output
        self._by_file = by_file
        self._row_group_rows = row_group_rows
        self._open: OpenFile | None = None
        self._log: str | None = None
        self.files: list[Path] = []
        """Files that are complete."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._open is not None:
            self._open.abandon()

    def write(self, batch: pa.RecordBatch) -> None:
        """Write a batch, whose rows may belong to several logs."""
        if not self._by_file:
            self._file(self._output).write(batch)
            return
        for log, rows in runs_of(batch):
            if log != self._log:
                self._close()
                self._log = log
            self._file(self._output / f"{Path(log).name}.parquet").write(rows)

    def finish(self) -> None:
        """Complete the last file; a log without transactions makes a file without rows."""
        if self._open is None and not self.files and not self._by_file:
            self._file(self._output)
        self._close()

    def _file(self, path: Path) -> OpenFile:
        if self._open is None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._open = OpenFile(path, self._row_group_rows)
        return self._open

    def _close(self) -> None:
        if self._open is not None:
            self._open.complete()
            self.files.append(self._open.path)
            self._open = None


class OpenFile:
    """Parquet file that is written under a temporary name, and renamed when it is complete."""

    def __init__(self, path: Path, row_group_rows: int) -> None:
        self.path = path
        """Name of the file when it is complete."""
        self._row_group_rows = row_group_rows
        self._file = NewFile(path, "-o")
        self._pending: list[pa.RecordBatch] = []
        self._rows = 0
        self._bytes = 0
        self._writer = pq.ParquetWriter(
            self._file.file, trace_schema(), compression="zstd", write_statistics=True, use_dictionary=DICTIONARY_COLUMNS
        )

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows; a full row group is written."""
        while self._rows + batch.num_rows >= self._row_group_rows:
            missing = self._row_group_rows - self._rows
            self._take(batch.slice(0, missing))
            self._flush()
            batch = batch.slice(missing)
        self._take(batch)
        if self._bytes >= ROW_GROUP_BYTES:
            self._flush()

    def complete(self) -> None:
        """Write the remaining rows, and rename the file."""
        self._flush()
        self._writer.close()
        self._file.complete()
        self._file.abandon()

    def abandon(self) -> None:
        """Remove the file that is not complete."""
        with suppress(OSError, ParaplyError):
            self._writer.close()
        self._file.abandon()

    def _take(self, batch: pa.RecordBatch) -> None:
        if batch.num_rows:
            self._pending.append(batch)
            self._rows += batch.num_rows
            self._bytes += batch.get_total_buffer_size()

    def _flush(self) -> None:
        if self._pending:
            self._writer.write_table(pa.Table.from_batches(self._pending), row_group_size=self._row_group_rows)
        self._pending, self._rows, self._bytes = [], 0, 0


def runs_of(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the rows of each log in a batch, in order."""
    files = batch.column("file")
    start = 0
    while start < batch.num_rows:
        log = files[start].as_py()
        others = pc.index(pc.not_equal(files.slice(start), log), True).as_py()
        length = batch.num_rows - start if others < 0 else others
        yield log, batch.slice(start, length)
        start += length
