"""Both numbers of every transaction of a trace that is too large for one machine.

Sources: WL#8440 (algorithm AL1) for the numbers, rules R1, R3 to R7 and R15 for their dependencies.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from paraply.errors import UsageError
from paraply.spark import tasks
from paraply.spark.failures import unwrap

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["Limits", "Options", "dependencies", "number"]

SCHEMES = ("fine", "group")
BARRIER_KINDS = ("ddl", "empty", "xa_prepare", "xa_end")


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the sizes of tasks.

    Attributes:
        alone: Most rows that a single task processes alone.
        chunk: Most rows of a chunk.
        part: Rows of the trace for each part of the keys.
        parts: Most parts of the keys.
    """

    alone: int = 50_000
    chunk: int = 1_000_000
    part: int = 500_000
    parts: int = 2_000


@dataclass(frozen=True, slots=True)
class Options:
    """Options of ``dependencies``.

    Attributes:
        scheme: ``fine`` or ``group``.
        gc_after: Numbers after which a collection ran.
        local_origins: Origins of local transactions: origins as text, server ids as numbers.
        sessions: True to keep a session's transactions in order.
    """

    scheme: str = "fine"
    gc_after: tuple[int, ...] = ()
    local_origins: tuple[str | int, ...] = ()
    sessions: bool = False


def dependencies(
    trace_df: DataFrame,
    *,
    scheme: str = "fine",
    gc_after: Iterable[int] = (),
    local_origins: Iterable[str | int] = (),
    sessions: bool = False,
) -> DataFrame:
    """Compute ``last_committed`` and ``sequence_number`` of every transaction, exactly as the native certifier in one process.

    The result does not depend on files and partitions of the trace. Where partitions hold separate ranges of positions in ascending
    order, the trace is not shuffled: each range is resolved in its own task, and only packed keys and barriers that concern other ranges
    are sent. Two small jobs read the positions first; the rest runs when the result is used.

    Args:
        trace_df: The trace: ``position`` (dense from 1), ``write_set``, and optionally ``reads``, ``barrier``, ``kind``,
            ``origin``, ``server_id`` and ``session``.
        scheme: ``fine``: a transaction that shares a key (``reads``) depends on the last exclusive user of the key, not on other sharers
            (R15). ``group``: shared keys count like all others, as on a group member.
        gc_after: Sequence numbers after which a garbage collection ran, as ``verify`` reports them (R7).
        local_origins: Origins whose transactions were local on the member: they use up no number and get none (R4). A number is a
            ``server_id``, because the transactions of a group have one UUID in common.
        sessions: Keep transactions of one origin and session in order, as if they wrote to one row; an unknown session counts as one
            session for each origin.

    Returns:
        ``position``, ``computed_last_committed`` and ``computed_sequence_number``, in no particular order; both numbers are null for local
        transactions, and 0 for the first remote one and for view changes (R6).

    Raises:
        UsageError: A column is missing or of another type, an option is not known, or two transactions have the same position.
    """
    options = Options(scheme, tuple(sorted(set(gc_after))), tuple(local_origins), sessions)
    return number(trace_df, options, Limits())


def number(trace_df: DataFrame, options: Options, limits: Limits) -> DataFrame:
    """Compute ``dependencies`` with other limits, so that small traces can take every code path."""
    if options.scheme not in SCHEMES:
        raise UsageError(f"unknown scheme `{options.scheme}`: it is {' or '.join(SCHEMES)}")
    rows = prepared(trace_df, options)
    layout = layout_of(rows, limits)
    group, collections = options.scheme == "group", list(options.gc_after)
    if layout.rows <= limits.alone:
        alone = rows.coalesce(1).sortWithinPartitions("position")
        return alone.mapInArrow(partial(tasks.number_alone, group=group, collections=collections), tasks.NUMBERS)
    arranged = layout.arrange(rows)
    reports = arranged.mapInArrow(partial(tasks.resolve_chunks, parts=layout.parts, group=group, cut=layout.cut), tasks.REPORT)
    by_part = reports.repartitionById(layout.parts, "part").sortWithinPartitions("part", "chunk", "kind")
    answers = by_part.mapInArrow(tasks.resolve_keys, tasks.ANSWER)
    by_chunk = answers.repartition(layout.chunks, "chunk").sortWithinPartitions("chunk", "kind")
    return by_chunk.mapInArrow(partial(tasks.finish, collections=collections), tasks.NUMBERS)


def prepared(trace_df: DataFrame, options: Options) -> DataFrame:
    """Select the columns for the native resolvers.

    Raises:
        UsageError: A column is missing or of another type.
    """
    columns = set(trace_df.columns)
    need(columns, "position", "write_set")
    kept = [
        F.col("position").cast("bigint").alias("position"),
        role(columns, options).cast("tinyint").alias("role"),
        hashes(trace_df, "write_set"),
    ]
    if "reads" in columns:
        kept.append(hashes(trace_df, "reads"))
    if options.sessions:
        need(columns, "origin")
        session = F.col("session") if "session" in columns else F.lit(None).cast("bigint")
        kept.append(F.xxhash64(F.col("origin"), session.isNull(), F.coalesce(session, F.lit(0))).alias("session"))
    return trace_df.select(*kept)


def role(columns: set[str], options: Options) -> Column:
    """Return the role of each transaction for the certifier, as the native code numbers it."""
    kind = F.col("kind") if "kind" in columns else F.lit("dml")
    barrier = kind.isin(*BARRIER_KINDS)
    if "barrier" in columns:
        barrier = barrier | F.coalesce(F.col("barrier"), F.lit(False))
    return F.when(kind == "view_change", 3).when(local(columns, options), 2).when(barrier, 1).otherwise(0)


def local(columns: set[str], options: Options) -> Column:
    """Return the condition that a transaction began on the member itself (R4)."""
    names = [origin for origin in options.local_origins if isinstance(origin, str)]
    servers = [origin for origin in options.local_origins if not isinstance(origin, str)]
    found = F.lit(False)
    if names:
        need(columns, "origin")
        found = found | F.coalesce(F.col("origin").isin(names), F.lit(False))
    if servers:
        need(columns, "server_id")
        found = found | F.coalesce(F.col("server_id").isin(servers), F.lit(False))
    return found


def hashes(trace_df: DataFrame, name: str) -> Column:
    """Return a column of hashes.

    Raises:
        UsageError: The column is not an array of integers.
    """
    kind = trace_df.schema[name].dataType
    if not isinstance(kind, T.ArrayType) or not isinstance(kind.elementType, T.IntegralType):
        raise UsageError(f"the column `{name}` of the trace is {kind.simpleString()}, not array<bigint>")
    return F.col(name).cast("array<bigint>").alias(name)


def need(columns: set[str], *names: str) -> None:
    """Raise ``UsageError`` if a column is missing."""
    for name in names:
        if name not in columns:
            raise UsageError(f"the trace has no column `{name}`; see the documentation of the trace's columns")


@dataclass(frozen=True, slots=True)
class Layout:
    """Layout of a trace, and its division into chunks.

    Attributes:
        rows: Rows of the trace.
        parts: Parts of the keys.
        chunks: Number of tasks that join chunks.
        cut: Rule for the ends of chunks.
        tasks: Number of tasks for sorting the trace; None if it is in order.
    """

    rows: int
    parts: int
    chunks: int
    cut: tasks.Cut
    tasks: int | None

    def arrange(self, rows: DataFrame) -> DataFrame:
        """Return the trace in an order that can be divided."""
        if self.tasks is None:
            return rows
        chunk = F.expr(f"(position - {self.cut.origin}) div {self.cut.width}")
        return rows.repartitionById(self.tasks, F.pmod(chunk, F.lit(self.tasks)).cast("int")).sortWithinPartitions("position")


def layout_of(rows: DataFrame, limits: Limits) -> Layout:
    """Read only the positions, and choose the layout of the trace."""
    try:
        found = rows.select("position").mapInArrow(tasks.find_runs, tasks.RUN).collect()
    except Exception as error:
        raise unwrap(error) from None
    runs = [run.asDict() for run in found]
    total = sum(run["rows"] for run in runs if not run["gaps"])
    if any(run["rows"] == 0 and not run["gaps"] for run in runs):  # a task had too many runs to count them
        first, last, total = rows.agg(F.min("position"), F.max("position"), F.count("*")).first() or (0, 0, 0)
    else:
        first, last = min((run["first"] for run in runs), default=0), max((run["last"] for run in runs), default=0)
    parallel = parallelism_of(rows)
    parts = min(max(-(-total // limits.part), parallel), limits.parts)
    for gaps in (True, False):
        ordered = [run for run in runs if run["gaps"] == gaps]
        if are_apart(ordered):
            chunks = sum(-(-run["rows"] // limits.chunk) for run in ordered)
            cut = tasks.Cut(gaps=gaps, width=None, origin=first, rows=limits.chunk)
            return Layout(total, parts, tasks_for(chunks, total, limits, parallel), cut, None)
    chunks = max(-(-total // limits.chunk), parallel)
    width = max((last - first) // chunks + 1, 1)
    cut = tasks.Cut(gaps=False, width=width, origin=first, rows=limits.chunk * 2)
    return Layout(total, parts, tasks_for(chunks, total, limits, parallel), cut, chunks)


def parallelism_of(rows: DataFrame) -> int:
    """Return the number of tasks that the session runs at the same time; else the number of shuffle partitions."""
    try:
        return max(int(rows.sparkSession.sparkContext.defaultParallelism), 1)
    except Exception:
        return int(rows.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)


def tasks_for(chunks: int, total: int, limits: Limits, parallel: int) -> int:
    """Return the number of tasks that join chunks: many small chunks share one."""
    return max(min(chunks, max(-(-total // limits.chunk), parallel)), 1)


def are_apart(runs: list[dict[str, Any]]) -> bool:
    """Return True if no two runs of positions overlap."""
    ordered = sorted(runs, key=lambda run: run["first"])
    counted = all(run["rows"] > 0 for run in ordered)
    return counted and all(before["last"] < run["first"] for before, run in itertools.pairwise(ordered))
