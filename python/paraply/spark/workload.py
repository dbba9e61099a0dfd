"""Analysis of a trace's workload: conflicts between transactions, and possible parallelism."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

from paraply._native import CriticalPath
from paraply.errors import UsageError
from paraply.spark.dependencies import SCHEMES, Options, prepared
from paraply.spark.failures import reporting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["conflicts", "parallelism"]

WINDOWS = "window bigint, first bigint, last bigint, transactions bigint, barriers bigint, critical_path bigint, parallelism double"
WINDOW_SCHEMA = pa.schema(
    [
        ("window", pa.int64()),
        ("first", pa.int64()),
        ("last", pa.int64()),
        ("transactions", pa.int64()),
        ("barriers", pa.int64()),
        ("critical_path", pa.int64()),
        ("parallelism", pa.float64()),
    ]
)


def conflicts(trace_df: DataFrame, *, scheme: str = "fine", by_table: bool = False) -> DataFrame:
    """Return the pairs of transactions that use one key next to each other, so that the later one waits for the earlier.

    A use of a key is paired with the last exclusive use before it, and a shared use with the next exclusive one after it. All other
    conflicts follow from these. Barriers are not in any pair; they wait for everything.

    Args:
        trace_df: The trace, as for ``dependencies``; with ``tables`` pairs have their tables.
        scheme: ``fine``: transactions that share a key do not conflict (R15); ``group``: they do.
        by_table: Count by the table of the common key instead: the table that every transaction changes which takes the key exclusively. If
            these always change several tables together, the name has all of them, with `` or `` between.

    Returns:
        ``position``, ``earlier`` (its position), ``keys`` (number of common keys) and, if the trace has it, ``tables`` (tables that both
        change). By table: ``table``, ``pairs``, ``transactions`` (number of waiting ones); a pair counts once for each table of its keys.

    Raises:
        UsageError: A column is missing or of another type, or the scheme is unknown.
    """
    if scheme not in SCHEMES:
        raise UsageError(f"unknown scheme `{scheme}`: it is {' or '.join(SCHEMES)}")
    if by_table and "tables" not in trace_df.columns:
        raise UsageError("the trace has no column `tables`, by which conflicts could be counted")
    touches = touches_of(trace_df, scheme)
    keyed = keyed_pairs(touches)
    if by_table:
        counted = keyed.join(tables_of_keys(touches, trace_df), "key").groupBy("table")
        return counted.agg(F.countDistinct("position", "earlier").alias("pairs"), F.countDistinct("position").alias("transactions"))
    pairs = keyed.groupBy("position", "earlier").agg(F.count("*").alias("keys"))
    return with_tables(pairs, trace_df) if "tables" in trace_df.columns else pairs


def touches_of(trace_df: DataFrame, scheme: str) -> DataFrame:
    """Return each key that a transaction uses, once: ``position``, ``key``, ``exclusive``."""
    rows = prepared(trace_df, Options(scheme)).where("role = 0")
    touched = rows.select("position", F.explode("write_set").alias("key"), F.lit(True).alias("exclusive"))
    if "reads" in rows.columns:
        shared = rows.select("position", F.explode("reads").alias("key"), F.lit(scheme == "group").alias("exclusive"))
        touched = touched.unionAll(shared)
    return touched.groupBy("position", "key").agg(F.max("exclusive").alias("exclusive"))


def keyed_pairs(touches: DataFrame) -> DataFrame:
    """Return each common key of a pair of positions: ``position``, ``earlier``, ``key``."""
    by_key = Window.partitionBy("key").orderBy("position")
    taken = F.when(F.col("exclusive"), F.col("position"))
    before = F.last(taken, ignorenulls=True).over(by_key.rowsBetween(Window.unboundedPreceding, -1))
    behind = F.first(taken, ignorenulls=True).over(by_key.rowsBetween(1, Window.unboundedFollowing))
    placed = touches.withColumns({"before": before, "behind": F.when(~F.col("exclusive"), behind)})
    back = placed.where("before is not null").select("position", F.col("before").alias("earlier"), "key")
    forth = placed.where("behind is not null").select(F.col("behind").alias("position"), F.col("position").alias("earlier"), "key")
    return back.unionAll(forth)


def tables_of_keys(touches: DataFrame, trace_df: DataFrame) -> DataFrame:
    """Return the table of each key: what all transactions change that take the key exclusively. A hash does not tell its table."""
    changed = trace_df.select("position", F.array_sort("tables").alias("tables"))
    users = touches.where("exclusive").join(changed, "position").groupBy("key").agg(F.collect_set("tables").alias("each"))
    common = F.aggregate("each", F.get(F.col("each"), F.lit(0)), F.array_intersect)
    return users.select("key", F.array_join(F.array_sort(common), " or ").alias("table"))


def with_tables(pairs: DataFrame, trace_df: DataFrame) -> DataFrame:
    """Add the tables that both transactions of a pair change."""
    tables = trace_df.select("position", "tables")
    later = pairs.join(tables, "position")
    other = tables.select(F.col("position").alias("earlier"), F.col("tables").alias("others"))
    common = F.array_intersect("tables", "others").alias("tables")
    return later.join(other, "earlier").select("position", "earlier", "keys", common)


def parallelism(trace_df: DataFrame, *, window: int = 10_000, scheme: str = "fine", sessions: bool = False) -> DataFrame:
    """Return the parallelism of a trace by windows: the transactions of each over its longest chain of dependencies.

    Every transaction counts as one step. The critical path of a window is the least number of steps with any number of workers;
    dependencies across windows are left out.

    Args:
        trace_df: The trace, as for ``dependencies``.
        window: Number of positions in a window.
        scheme: ``fine``: transactions that share a key do not wait for one another (R15); ``group``: they do.
        sessions: Keep transactions of one origin and session in order.

    Returns:
        ``window`` (from 0), ``first`` and ``last`` (positions), ``transactions``, ``barriers``, ``critical_path`` (steps),
        ``parallelism``. View changes are not counted.

    Raises:
        UsageError: A column is missing or of another type, or an option is unknown.
    """
    if scheme not in SCHEMES:
        raise UsageError(f"unknown scheme `{scheme}`: it is {' or '.join(SCHEMES)}")
    if window < 1:
        raise UsageError(f"a window of {window} positions: it takes at least one")
    rows = prepared(trace_df, Options(scheme, sessions=sessions))
    if scheme == "group" and "reads" in rows.columns:
        both = F.array_union("write_set", F.coalesce("reads", F.array().cast("array<bigint>")))
        rows = rows.withColumn("write_set", both).drop("reads")
    rows = rows.withColumn("window", F.expr(f"(position - 1) div {window}"))
    arranged = rows.repartition("window").sortWithinPartitions("window", "position")
    return arranged.mapInArrow(measure, WINDOWS)


@reporting
def measure(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the windows of a task, whose rows arrive in order; a window may span batches."""
    path, current, first, last = CriticalPath(), None, 0, 0
    for batch in batches:
        windows = batch.column("window").to_numpy(zero_copy_only=False)
        positions = batch.column("position")
        cuts = [0, *(np.flatnonzero(np.diff(windows)) + 1).tolist(), batch.num_rows]
        for begin, end in itertools.pairwise(cuts):
            if begin == end:
                continue
            if current != int(windows[begin]):
                if current is not None:
                    yield measured(path, current, first, last)
                current, first = int(windows[begin]), positions[begin].as_py()
            path.add(batch.slice(begin, end - begin))
            last = positions[end - 1].as_py()
    if current is not None:
        yield measured(path, current, first, last)


def measured(path: CriticalPath, window: int, first: int, last: int) -> pa.RecordBatch:
    """Return one window as a batch."""
    length = path.finish()
    parallelism = length.transactions / length.steps if length.steps else 0.0
    row = [window, first, last, length.transactions, length.barriers, length.steps, parallelism]
    columns = [pa.array([value], field.type) for value, field in zip(row, WINDOW_SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=WINDOW_SCHEMA)
