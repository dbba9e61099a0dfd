"""The columnar trace of logs as an Arrow stream.

One row for each transaction, in the order of the log: its origin, the hashes of its keys, and its source's stamps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paraply._extras import require_extra
from paraply._native import Catalog, LogReader, trace_batch, trace_schema
from paraply.analysis.parts import LogPart
from paraply.analysis.statement_rows import statement_text, tables_in
from paraply.errors import UsageError
from paraply.logs import log_paths
from paraply.logs.feed import Feed, FeedLimits, FeedRules
from paraply.schema.catalog import SchemaCatalog
from paraply.schema.readers.dump import read_dump

if TYPE_CHECKING:
    import pyarrow as pa

    from paraply._native import Selection, WriteSetFallback
    from paraply.logs.feed import FeedItem

__all__ = ["SCHEMES", "TraceSource", "trace"]

SCHEMES = ("fine", "group")


def trace(
    paths: Path | str | Sequence[Path | str],
    *,
    scheme: str = "fine",
    schema: Path | str | None = None,
    batch_transactions: int = 4096,
) -> pa.RecordBatchReader:
    """Return the trace of logs, in order, as an Arrow stream (``__arrow_c_stream__``).

    Memory is needed for a batch, not for the log. An error of the log is raised after the transactions before it.

    Args:
        paths: Binlogs or relay logs, in order.
        scheme: Scheme of the write sets: ``fine``, the applier's with shared keys in ``reads`` (R15), or ``group``, a group member's.
        schema: A dump of the tables at the start of the log; by default only the log's own DDL is used.
        batch_transactions: Most transactions in a batch; a statement that may change the schema ends a batch, too.

    Returns:
        The stream. Transactions of tables with unknown keys are barriers (R13).

    Raises:
        UsageError: A file is missing, or the scheme is unknown.
        LogError: The log is damaged or not understood; raised by the stream, while it is read.

    >>> trace([])
    Traceback (most recent call last):
    ...
    paraply.errors.UsageError: name at least one log file
    """
    source = TraceSource(LogPart(log_paths(paths)), scheme, schema, batch_transactions)
    require_extra("arrow", "paraply.trace")
    import pyarrow as pa  # half of the time to import paraply, for one function

    return pa.RecordBatchReader.from_batches(trace_schema(), iter(source))


class TraceSource:
    """Reader that hashes and numbers the transactions of a log; iterate over it to get record batches.

    Args:
        part: The part of a log; its definitions are added to those of ``schema``.
        scheme: Scheme of the write sets.
        schema: A dump of the tables at the start.
        batch_transactions: Most transactions of a batch.
        selection: Conditions that the transactions must meet; positions count all.
        statements: Returns True for a batch whose statement is wanted, although the selection does not choose it. With it the rows have a
            column more, ``statement``: the text of DDL.

    Raises:
        UsageError: The scheme is unknown.
    """

    def __init__(
        self,
        part: LogPart,
        scheme: str,
        schema: Path | str | None = None,
        batch_transactions: int = 4096,
        *,
        selection: Selection | None = None,
        statements: Callable[[FeedItem], bool] | None = None,
    ) -> None:
        if scheme not in SCHEMES:
            raise UsageError(f"unknown scheme `{scheme}`: it is {' or '.join(SCHEMES)}")
        if batch_transactions < 1:
            raise UsageError(f"a batch of {batch_transactions} transactions: it takes at least one")
        catalog = read_dump(Path(schema)) if schema is not None else SchemaCatalog()
        limits = FeedLimits(batch_transactions=batch_transactions)
        reader = LogReader(part.paths, piece=part.piece, position=part.position, selection=selection, sizes=part.sizes)
        self._feed = Feed(reader, catalog, Catalog(), FeedRules(scheme), threaded=False, limits=limits)
        self._feed.seed([*catalog, *part.tables])
        self._with_reads = scheme == "fine"
        self._statements = statements
        self.transactions = 0
        """Number of transactions so far."""

    @property
    def read_bytes(self) -> int:
        """Number of bytes of the log read so far."""
        return self._feed.read_bytes

    @property
    def fallbacks(self) -> list[WriteSetFallback]:
        """(reason, table, count) of coarser write sets (R13)."""
        return self._feed.fallbacks

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for item in self._feed:
            batch = item.batch
            if item.changes and self._statements is not None and self._statements(item):
                batch = batch.choosing(len(batch) - 1)
            rows = with_statement(trace_batch(batch, item.write_sets, reads=self._with_reads), item, text=self._statements is not None)
            self.transactions += rows.num_rows
            yield rows


def with_statement(rows: pa.RecordBatch, item: FeedItem, *, text: bool) -> pa.RecordBatch:
    """Return rows of the trace with the tables of the statement at the end of their batch, if the last row is that one.

    Args:
        rows: The rows.
        item: Their batch.
        text: True to add a column ``statement`` with its text.
    """
    import pyarrow as pa

    if text:
        rows = rows.append_column(pa.field("statement", pa.string()), pa.nulls(rows.num_rows, pa.string()))
    if not item.changes or not rows.num_rows or rows.column("position")[-1].as_py() != item.batch.positions[-1]:
        return rows
    last = item.batch[len(item.batch) - 1]
    rows = with_last(rows, "tables", list(dict.fromkeys([*last.tables, *tables_in(item.changes)])))
    return with_last(rows, "statement", statement_text(last)) if text else rows


def with_last(rows: pa.RecordBatch, name: str, value: Any) -> pa.RecordBatch:
    """Return rows with another value in one column of the last one."""
    import pyarrow as pa

    column = rows.column(name)
    changed = pa.concat_arrays([column.slice(0, rows.num_rows - 1), pa.array([value], column.type)])
    return rows.set_column(rows.schema.get_field_index(name), rows.schema.field(name), changed)
