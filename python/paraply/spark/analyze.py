"""Analysis of a trace in a Spark task: the result is that of ``paraply analyze`` over the same trace."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.serializers import CPickleSerializer
from pyspark.sql import functions as F  # noqa: N812

from paraply._native import LogRecorder
from paraply.analysis.analyze import Analysis, AnalyzeOptions
from paraply.analysis.analyze.names import KeyNames
from paraply.analysis.analyze.record import TRACE_COLUMNS, recorded
from paraply.analysis.analyze.run import analysis_of
from paraply.errors import UsageError
from paraply.spark.dependencies import hashes, need
from paraply.spark.failures import reporting, unwrap

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["analyze"]

HASHES = ("write_set", "reads")
TYPES = {
    "gtid": "string",
    "session": "bigint",
    "committed_at": "timestamp",
    "kind": "string",
    "rows": "int",
    "bytes": "bigint",
    "last_committed": "bigint",
    "sequence_number": "bigint",
    "file": "string",
    "offset": "bigint",
    "barrier": "boolean",
}
SERIALIZER: Any = CPickleSerializer()
"""Serializer by which Spark itself brings results of tasks to the driver."""
RESULT = "result binary"
RESULT_SCHEMA = pa.schema([("result", pa.binary())])


def analyze(trace_df: DataFrame, options: AnalyzeOptions | None = None) -> Analysis:
    """Find out how parallel a trace is, what makes its replay serial, and what a change would gain.

    The trace is read by all tasks, sorted by position with Spark's sort, which uses the disk, and simulated by one task in order: what
    a transaction waits for may be anywhere before it. That task keeps about 100 bytes for each transaction, and nothing of the trace.

    Args:
        trace_df: The trace: ``position``, ``write_set``, ``rows``, ``bytes``, and what else there is of its columns; rows in any order.
        options: The options of ``paraply.analysis.analyze``. A trace has no use for ``schema`` and ``history``; ``timeline`` is refused.

    Returns:
        The result of ``paraply.analysis.analyze`` over the same trace.

    Raises:
        UsageError: A column is missing or of another type, or an option is not possible.

    Examples:
        >>> from paraply.spark import analyze, session
        >>> trace = session().read.parquet("trace.parquet")  # doctest: +SKIP
        >>> analyze(trace).explanation.causes[0].cause  # doctest: +SKIP
        'hot_row'
    """
    started = time.monotonic()
    options = options or AnalyzeOptions()
    if options.timeline is not None:
        raise UsageError("a task of Spark writes no timeline; use `paraply analyze --trace` on a part of the trace")
    ordered = recordable(trace_df).repartition(1).sortWithinPartitions("position")
    files = len(set(trace_df.inputFiles()))
    try:
        rows = ordered.mapInArrow(partial(simulate, options=options, files=files), RESULT).collect()
    except Exception as error:
        raise unwrap(error) from None
    analysis: Analysis = SERIALIZER.loads(bytes(rows[0]["result"])) if rows else record([], options, files)
    return replace(analysis, seconds=time.monotonic() - started)


def recordable(trace_df: DataFrame) -> DataFrame:
    """Select the columns that are recorded, with the types of a trace.

    Raises:
        UsageError: A column is missing or of another type.
    """
    columns = set(trace_df.columns)
    need(columns, "position", "write_set", "rows", "bytes")
    kept = [F.col("position").cast("bigint").alias("position")]
    for name in TRACE_COLUMNS:
        if name in columns:
            kept.append(hashes(trace_df, name) if name in HASHES else F.col(name).cast(TYPES[name]).alias(name))
    if "barrier" not in columns:
        kept.append(F.lit(False).alias("barrier"))
    return trace_df.select(*kept)


@reporting
def simulate(batches: Iterable[pa.RecordBatch], options: AnalyzeOptions, files: int) -> Iterator[pa.RecordBatch]:
    """Yield the analysis of all rows of a task as one value."""
    result = SERIALIZER.dumps(record(batches, options, files))
    yield pa.RecordBatch.from_arrays([pa.array([result], pa.binary())], schema=RESULT_SCHEMA)


def record(batches: Iterable[pa.RecordBatch], options: AnalyzeOptions, files: int) -> Analysis:
    """Record batches of a trace in order, and return their analysis."""
    latency_us = round(options.latency_ms * 1000)
    recorder = LogRecorder(options.costs.native(), primaries=options.primaries, latency_us=latency_us)
    for batch in batches:
        recorder.observe_trace(batch.drop_columns(["position"]))
    return analysis_of(recorded(recorder, [], files), options, KeyNames(hides=options.hide_values))
