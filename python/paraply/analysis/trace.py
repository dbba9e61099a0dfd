"""The columnar trace of logs as an Arrow stream.

One row a transaction, in the order of the log: who ran it, what it touched as hashes, and what its source stamped it with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from paraply._native import Catalog, LogReader, trace_batch, trace_schema
from paraply.errors import UsageError
from paraply.logs import log_paths
from paraply.logs.feed import Feed, FeedLimits, FeedRules
from paraply.schema.catalog import SchemaCatalog
from paraply.schema.readers.dump import read_dump

if TYPE_CHECKING:
    import pyarrow as pa

    from paraply._native import Selection
    from paraply.analysis.parts import Place
    from paraply.schema.model import Table

__all__ = ["SCHEMES", "TraceSource", "trace"]

SCHEMES = ("fine", "group")


def trace(
    paths: Path | str | Sequence[Path | str],
    *,
    scheme: str = "fine",
    schema: Path | str | None = None,
    batch_transactions: int = 4096,
) -> pa.RecordBatchReader:
    """The trace of one log or of several in order, as an Arrow stream (``__arrow_c_stream__``).

    Memory is needed for a batch, not for the log. An error of the log is raised behind the transactions that stand before it.

    Args:
        paths: Binlogs or relay logs, in order.
        scheme: Which write sets: ``fine``, the applier's with shared keys in ``reads`` (R15), or ``group``, a group member's certifier's.
        schema: A dump with the tables as they were at the start of the log; by default the log's own DDL must do.
        batch_transactions: Most transactions of a batch; a statement that may change the schema ends one, too.

    Returns:
        The stream. A table whose keys are not known makes its transactions barriers (R13).

    Raises:
        UsageError: A file is not there, or the scheme is not known.
        LogError: The log is damaged or not understood; from the stream, while it is read.

    >>> trace([])
    Traceback (most recent call last):
    ...
    paraply.errors.UsageError: name at least one log file
    """
    source = TraceSource(log_paths(paths), scheme, schema, batch_transactions)
    import pyarrow as pa  # half of what it takes to import paraply, for one function

    return pa.RecordBatchReader.from_batches(trace_schema(), iter(source))


class TraceSource:
    """Reads, hashes and numbers the transactions of a log; iterate over it to get record batches.

    Args:
        paths: The files, in order.
        scheme: Which write sets.
        schema: A dump with the tables at the start.
        batch_transactions: Most transactions of a batch.
        tables: Further definitions that hold at the start.
        position: Transactions before the first one.
        piece: Where in the only file to begin and to end.
        selection: Conditions that the transactions must meet; positions count all.
        sizes: Bytes of each file that are read; none for all.

    Raises:
        UsageError: The scheme is not known.
    """

    def __init__(
        self,
        paths: Sequence[str],
        scheme: str,
        schema: Path | str | None,
        batch_transactions: int = 4096,
        *,
        tables: Sequence[Table] = (),
        position: int = 0,
        piece: tuple[Place, int | None] | None = None,
        selection: Selection | None = None,
        sizes: Sequence[int] = (),
    ) -> None:
        if scheme not in SCHEMES:
            raise UsageError(f"unknown scheme `{scheme}`: it is {' or '.join(SCHEMES)}")
        if batch_transactions < 1:
            raise UsageError(f"a batch of {batch_transactions} transactions: it takes at least one")
        catalog = read_dump(Path(schema)) if schema is not None else SchemaCatalog()
        limits = FeedLimits(batch_transactions=batch_transactions)
        reader = LogReader(paths, piece=piece, position=position, selection=selection, sizes=list(sizes))
        self._feed = Feed(reader, catalog, Catalog(), FeedRules(scheme), threaded=False, limits=limits)
        self._feed.seed([*catalog, *tables])
        self._with_reads = scheme == "fine"
        self.transactions = 0
        """Transactions so far."""

    @property
    def read_bytes(self) -> int:
        """Bytes of the log so far."""
        return self._feed.read_bytes

    @property
    def fallbacks(self) -> list[tuple[str, str, int]]:
        """(reason, table, count) of coarser write sets (R13)."""
        return self._feed.fallbacks

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for item in self._feed:
            rows = trace_batch(item.batch, item.write_sets, reads=self._with_reads)
            self.transactions += rows.num_rows
            yield rows
