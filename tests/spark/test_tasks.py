"""The work of Spark's tasks, without Spark: many small traces, cut and distributed in every way."""

from __future__ import annotations

import os
import random
from typing import Any

import pyarrow as pa
import pytest
from spark.oracles import Numbers, history, plainly

pytest.importorskip("pyspark")

from paraply.spark import tasks

SEEDS = int(os.environ.get("PARAPLY_SPARK_SEEDS", "60"))


def batches_of(rows: list[dict[str, Any]], choose: random.Random, local: tuple[str, ...]) -> list[pa.RecordBatch]:
    """The rows as the native code takes them, in batches of any size."""
    taken = [
        {
            "position": row["position"],
            "role": 3 if row["kind"] == "view_change" else 2 if row["origin"] in local else int(row["barrier"]),
            "write_set": row["write_set"],
            "reads": row["reads"],
        }
        for row in rows
    ]
    hashes = pa.list_(pa.int64())
    schema = pa.schema([("position", pa.int64()), ("role", pa.int8()), ("write_set", hashes), ("reads", hashes)])
    batches, start = [], 0
    while start < len(taken):
        end = start + choose.choice([1, 3, 20, 1000])
        batches.append(pa.RecordBatch.from_pylist(taken[start:end], schema))
        start = end
    return batches


def shuffled(batches: list[pa.RecordBatch], order: list[str]) -> list[pa.RecordBatch]:
    """All rows in one task, in order."""
    rows = sorted((row for batch in batches for row in batch.to_pylist()), key=lambda row: [row[name] for name in order])
    return [pa.RecordBatch.from_pylist([row], batches[0].schema) for row in rows]


@pytest.mark.parametrize("seed", range(SEEDS))
def test_r3_r4_r5_r7_r15_numbers_do_not_depend_on_how_the_trace_is_cut(seed: int) -> None:
    choose = random.Random(seed)
    rows = history(seed, choose.randrange(1, 250))
    local = choose.choice([(), ("a",)])
    scheme = choose.choice(["fine", "group"])
    collections = sorted(choose.sample(range(1, 250), 2))
    # Runs of the trace, dealt out over tasks: each task holds some of them in any order.
    cuts = sorted(choose.sample(range(len(rows)), min(choose.randrange(0, 9), len(rows) - 1)))
    runs = [rows[start:end] for start, end in zip([0, *cuts], [*cuts, len(rows)], strict=True) if end > start]
    choose.shuffle(runs)
    places = [runs[place::3] for place in range(3)]
    parts = choose.choice([1, 2, 5])
    cut = tasks.Cut(gaps=True, width=None, origin=1, rows=choose.choice([5, 40, 1000]))
    reports: list[pa.RecordBatch] = []
    for place in places:
        batches = batches_of([row for run in place for row in run], choose, local)
        reports += tasks.resolve_chunks(batches, parts, scheme == "group", cut)
    answers = list(tasks.resolve_keys(shuffled(reports, ["part", "chunk", "kind"])))
    numbers = [row for batch in tasks.finish(shuffled(answers, ["chunk", "kind"]), collections) for row in batch.to_pylist()]
    got: list[Numbers] = [(row["computed_last_committed"], row["computed_sequence_number"]) for row in numbers]
    assert [row["position"] for row in numbers] == list(range(1, len(rows) + 1))
    assert got == plainly(rows, scheme, collections, local)


@pytest.mark.parametrize("seed", range(20))
def test_runs_of_positions_are_found_whatever_the_batches(seed: int) -> None:
    choose = random.Random(seed)
    positions = [position for position in range(1, 60) if choose.random() < 0.8]
    middle = len(positions) // 2
    positions = positions[middle:] + positions[:middle]
    batches, start = [], 0
    while start < len(positions):
        end = start + choose.choice([1, 2, 7])
        batches.append(pa.RecordBatch.from_arrays([pa.array(positions[start:end], pa.int64())], ["position"]))
        start = end
    found = [row for batch in tasks.find_runs(batches) for row in batch.to_pylist()]
    ascending = [(run["first"], run["last"], run["rows"]) for run in found if not run["gaps"]]
    dense = [run for run in found if run["gaps"]]
    halves = (positions[: len(positions) - middle], positions[len(positions) - middle :])
    assert ascending == [(part[0], part[-1], len(part)) for part in halves]
    assert [position for run in dense for position in range(run["first"], run["last"] + 1)] == positions
    assert all(run["rows"] == run["last"] - run["first"] + 1 for run in dense)
