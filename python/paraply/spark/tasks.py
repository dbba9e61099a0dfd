"""Functions of Spark's tasks: Arrow batches in and out, all work in native code.

The steps are those of the native ``trace`` module: chunks are resolved alone, dependencies across chunks are resolved by parts of the
keys, and both results are joined chunk by chunk. Only packed bytes are sent between the steps.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from paraply._native import ChunkResolver, KeyResolver, chunk_numbers
from paraply.spark.failures import reporting

__all__ = ["ANSWER", "NUMBERS", "REPORT", "RUN", "Cut", "find_runs", "finish", "number_alone", "resolve_chunks", "resolve_keys"]

# Kinds of packed bytes; reports sort before rows.
EDGES, ROWS = 0, 1
# With more runs than this in one task it is cheaper to sort the trace.
MOST_RUNS = 1024

RUN = "gaps boolean, first bigint, last bigint, rows bigint"
REPORT = "part int, chunk bigint, kind tinyint, last bigint, numbers bigint, barrier bigint, payload binary"
ANSWER = "chunk bigint, kind tinyint, part int, base bigint, floor bigint, payload binary"
NUMBERS = "position bigint, computed_last_committed bigint, computed_sequence_number bigint"

REPORT_SCHEMA = pa.schema(
    [
        ("part", pa.int32()),
        ("chunk", pa.int64()),
        ("kind", pa.int8()),
        ("last", pa.int64()),
        ("numbers", pa.int64()),
        ("barrier", pa.int64()),
        ("payload", pa.binary()),
    ]
)
ANSWER_SCHEMA = pa.schema(
    [
        ("chunk", pa.int64()),
        ("kind", pa.int8()),
        ("part", pa.int32()),
        ("base", pa.int64()),
        ("floor", pa.int64()),
        ("payload", pa.binary()),
    ]
)
RUN_SCHEMA = pa.schema([("gaps", pa.bool_()), ("first", pa.int64()), ("last", pa.int64()), ("rows", pa.int64())])


@dataclass(frozen=True, slots=True)
class Cut:
    """Rule that divides a task's rows into chunks.

    Attributes:
        gaps: True to divide where a position does not follow the previous one; False only where it is not greater.
        width: Positions of a chunk if the rows were sorted by position; else None.
        origin: The first position of the trace, from which ``width`` counts.
        rows: Most rows of a chunk.
    """

    gaps: bool
    width: int | None
    origin: int
    rows: int

    def starts(self, positions: Any, before: int | None) -> Any:
        """Return the indexes at which a new run begins; ``before`` is the last position of the previous batch."""
        previous = np.empty_like(positions)
        previous[1:] = positions[:-1]
        previous[0] = before if before is not None else positions[0] - 1
        if self.width is not None:
            return np.flatnonzero((positions - self.origin) // self.width != (previous - self.origin) // self.width)
        step = positions - previous
        return np.flatnonzero(step != 1 if self.gaps else step <= 0)


@reporting
def find_runs(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the runs of ascending positions in a task's rows, once divided at gaps too and once not.

    A task with too many runs of a kind yields one run of that kind without rows.
    """
    kinds = [RunList(Cut(gaps=gaps, width=None, origin=0, rows=0)) for gaps in (True, False)]
    for batch in batches:
        positions = batch.column(0).to_numpy(zero_copy_only=False)
        for runs in kinds:
            runs.add(positions)
    for runs in kinds:
        yield pa.RecordBatch.from_pylist(runs.as_rows(), schema=RUN_SCHEMA)


class RunList:
    """Runs of positions over the batches of a task."""

    def __init__(self, cut: Cut) -> None:
        self._cut = cut
        self._first: list[int] = []
        self._last: list[int] = []
        self._rows: list[int] = []
        self._before: int | None = None
        self._too_many = False

    def add(self, positions: Any) -> None:
        """Add the next positions."""
        if self._too_many or not len(positions):
            return
        starts = self._cut.starts(positions, self._before)
        if self._before is None and (not len(starts) or starts[0] != 0):
            starts = np.concatenate([[0], starts])
        if len(self._first) + len(starts) > MOST_RUNS:
            self._too_many = True
            return
        bounds = [*starts.tolist(), len(positions)]
        if bounds[0] > 0:  # the last run continues
            self._last[-1] = int(positions[bounds[0] - 1])
            self._rows[-1] += bounds[0]
        for start, end in itertools.pairwise(bounds):
            self._first.append(int(positions[start]))
            self._last.append(int(positions[end - 1]))
            self._rows.append(end - start)
        self._before = int(positions[-1])

    def as_rows(self) -> list[dict[str, Any]]:
        """Return the runs."""
        gaps = self._cut.gaps
        if self._too_many:
            return [{"gaps": gaps, "first": 0, "last": 0, "rows": 0}]
        runs = zip(self._first, self._last, self._rows, strict=True)
        return [{"gaps": gaps, "first": first, "last": last, "rows": rows} for first, last, rows in runs]


@reporting
def number_alone(batches: Iterable[pa.RecordBatch], group: bool, collections: list[int]) -> Iterator[pa.RecordBatch]:
    """Yield the numbers of a trace that one task holds, in the order of its positions."""
    resolver = ChunkResolver(0, shared_counts_as_exclusive=group)
    for batch in batches:
        resolver.add(batch)
    yield chunk_numbers(resolver.finish().rows, [], collections)


@reporting
def resolve_chunks(batches: Iterable[pa.RecordBatch], parts: int, group: bool, cut: Cut) -> Iterator[pa.RecordBatch]:
    """Resolve the chunks of a task alone, and report the dependencies across chunks for each part of the keys."""
    resolver = ChunkResolver(parts, shared_counts_as_exclusive=group)
    before: int | None = None
    for batch in batches:
        if not batch.num_rows:
            continue
        positions = batch.column(0).to_numpy(zero_copy_only=False)
        starts = [*cut.starts(positions, before).tolist(), batch.num_rows]
        begin = 0
        for end in starts:
            if end > begin:
                resolver.add(batch.slice(begin, end - begin))
            if len(resolver) and (end < batch.num_rows or len(resolver) >= cut.rows):
                yield report(resolver, parts)
            begin = end
        before = int(positions[-1])
    if len(resolver):
        yield report(resolver, parts)


def report(resolver: ChunkResolver, parts: int) -> pa.RecordBatch:
    """Return the packed bytes of a chunk: one row for each part of the keys, and one with its transactions."""
    found = resolver.finish()
    count = parts + 1
    columns = [
        pa.array([*range(parts), found.first % parts], pa.int32()),
        pa.array([found.first] * count, pa.int64()),
        pa.array([EDGES] * parts + [ROWS], pa.int8()),
        pa.array([found.last] * count, pa.int64()),
        pa.array([found.numbers] * count, pa.int64()),
        pa.array([found.barrier] * count, pa.int64()),
        pa.array([*found.edges, found.rows], pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=REPORT_SCHEMA)


@reporting
def resolve_keys(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Resolve the dependencies across chunks. Reports arrive sorted by part, then by chunk; rows are passed on."""
    resolver, current = KeyResolver(), None
    for batch in batches:
        answers = []
        for row in batch.to_pylist():
            if row["kind"] == ROWS:
                answers.append((row["chunk"], ROWS, row["part"], 0, 0, row["payload"]))
                continue
            if row["part"] != current:
                resolver, current = KeyResolver(), row["part"]
            found = resolver.add(row["chunk"], row["last"], row["numbers"], row["barrier"], row["payload"])
            answers.append((row["chunk"], EDGES, row["part"], found.base, found.floor, found.crossings))
        columns = [pa.array(column, field.type) for column, field in zip(zip(*answers, strict=True), ANSWER_SCHEMA, strict=False)]
        if columns:
            yield pa.RecordBatch.from_arrays(columns, schema=ANSWER_SCHEMA)


@reporting
def finish(batches: Iterable[pa.RecordBatch], collections: list[int]) -> Iterator[pa.RecordBatch]:
    """Join the numbers of each chunk; answers arrive sorted by chunk, before its rows."""
    answers: list[tuple[int, int, bytes]] = []
    for batch in batches:
        for row in batch.to_pylist():
            if row["kind"] == EDGES:
                answers.append((row["base"], row["floor"], row["payload"]))
                continue
            yield chunk_numbers(row["payload"], answers, collections)
            answers = []
