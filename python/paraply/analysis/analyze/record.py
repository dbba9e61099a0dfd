"""Recording of logs and traces for the simulation."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from paraply._extras import require_extra
from paraply._native import Catalog, LogReader, LogRecorder, LogTotals, Predicted, Recording, name_keys
from paraply.analysis.verify import server_version
from paraply.errors import UsageError
from paraply.logs.feed import Feed, FeedLimits, FeedRules
from paraply.schema.catalog import SchemaCatalog
from paraply.schema.readers.dump import read_dump

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paraply._native import Costs, TransactionBatch, TransactionKey, WriteSetFallback, WriteSets
    from paraply.analysis.analyze.names import KeyNames

__all__ = ["TRACE_COLUMNS", "Recorded", "is_trace", "record_logs", "record_trace", "recorded"]

_LIMITS = FeedLimits(batch_bytes=4 << 20, queue_batches=4, queue_bytes=16 << 20)
_MOST_PREDICTED = 64
_TRACE_ROWS = 16_384
TRACE_COLUMNS = (
    "gtid",
    "session",
    "committed_at",
    "kind",
    "write_set",
    "reads",
    "rows",
    "bytes",
    "last_committed",
    "sequence_number",
    "file",
    "offset",
    "barrier",
)
"""Columns of a trace that are recorded, as far as it has them."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recorded log, its totals, and what was counted meanwhile."""

    recording: Recording
    totals: LogTotals
    predicted: Predicted
    fallbacks: list[WriteSetFallback]
    files: int


def is_trace(path: str | Path) -> bool:
    """Return True for a trace in Parquet.

    >>> is_trace("trace.parquet"), is_trace("binlog.000001")
    (True, False)
    """
    return Path(path).suffix == ".parquet"


def record_logs(
    paths: Sequence[str],
    costs: Costs,
    names: KeyNames,
    *,
    schema: Path | None,
    history: int | None,
    primaries: int,
    latency_us: int,
    on_progress: Callable[[float, int], None] | None,
) -> Recorded:
    """Read logs, and record what each transaction has to wait for.

    The reader's thread decodes and hashes for the applier; the caller's thread hashes as a source does, and finds the dependencies.
    """
    major, minor = (int(part) for part in (server_version(paths[0]) or "9.7").split("."))
    recorder = LogRecorder(costs, version=(major, minor), history=history, primaries=primaries, latency_us=latency_us)
    tables: deque[Catalog] = deque()
    known = Catalog()

    def keep_tables(_batch: TransactionBatch, _fine: WriteSets, catalog: Catalog) -> None:
        tables.append(catalog.copy())

    catalog = read_dump(schema) if schema is not None else SchemaCatalog()
    feed = Feed(LogReader(paths), catalog, Catalog(), FeedRules(on_hashed=keep_tables), limits=_LIMITS)
    feed.seed(list(catalog))
    try:
        for item in feed:
            known.follow(tables.popleft())
            group = item.batch.write_sets(known, scheme="group")
            wanted = recorder.observe(item.batch, item.write_sets, group)
            if wanted:
                find_names(item.batch, known, wanted, names, recorder)
            if on_progress is not None:
                on_progress(feed.read_bytes, len(recorder))
    finally:
        feed.stop()
        feed.join()
    return recorded(recorder, feed.fallbacks, len(paths))


def find_names(batch: TransactionBatch, catalog: Catalog, wanted: Sequence[TransactionKey], names: KeyNames, recorder: LogRecorder) -> None:
    """Find the names of keys in the transactions that touch them."""
    by_transaction: dict[int, list[int]] = {}
    for index, key in wanted:
        if key not in names:
            by_transaction.setdefault(index, []).append(key)
    for index, keys in by_transaction.items():
        for scheme in ("fine", "group"):
            for found in name_keys(batch[index], catalog, scheme, keys):
                names.add(found.hash, found.table, found.key, found.values)
                if found.cause is not None:
                    recorder.set_cause(found.hash, found.cause)
            keys = [key for key in keys if key not in names]
            if not keys:
                break


def record_trace(
    paths: Sequence[str],
    costs: Costs,
    *,
    primaries: int,
    latency_us: int,
    on_progress: Callable[[float, int], None] | None,
) -> Recorded:
    """Read a trace in Parquet, which has hashes of keys, but not their names."""
    require_extra("arrow", "paraply analyze of a trace")
    import pyarrow as pa
    import pyarrow.parquet as pq

    recorder = LogRecorder(costs, primaries=primaries, latency_us=latency_us)
    done = 0
    for path in paths:
        try:
            with pq.ParquetFile(path) as file:
                columns = [name for name in TRACE_COLUMNS if name in file.schema_arrow.names]
                for batch in file.iter_batches(_TRACE_ROWS, columns=columns):
                    recorder.observe_trace(batch)
                    done += batch.nbytes
                    if on_progress is not None:
                        on_progress(done, len(recorder))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise UsageError(f"{path} is no trace: {error}", file=path) from None
    return recorded(recorder, [], len(paths))


def recorded(recorder: LogRecorder, fallbacks: list[WriteSetFallback], files: int) -> Recorded:
    """Return the record."""
    predicted, totals = recorder.predicted(_MOST_PREDICTED), recorder.totals()
    return Recorded(recorder.finish(), totals, predicted, fallbacks, files)
