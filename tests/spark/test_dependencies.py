"""Numbers on Spark: the same as in one process, however the trace lies."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from spark.oracles import SCHEMA, Numbers, certified, history, in_sql, plainly

from paraply.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytest.importorskip("pyspark")

from paraply.spark import dependencies, unwrap
from paraply.spark.dependencies import Limits, Options, number

pytestmark = pytest.mark.spark
COLUMNS = (
    "position bigint, origin string, session bigint, kind string, write_set array<bigint>, reads array<bigint>, "
    "server_id bigint, barrier boolean"
)
TINY = Limits(alone=0, chunk=16, part=50)
LIMITS = {"one task": Limits(), "chunks": TINY, "large chunks": Limits(alone=0)}


def written(folder: Path, rows: Sequence[dict[str, Any]], files: int, layout: str, seed: int) -> None:
    """Writes a trace into files: in order, dealt out one by one, or shuffled."""
    folder.mkdir(parents=True, exist_ok=True)
    indexes = list(range(len(rows)))
    if layout == "shuffled":
        random.Random(seed).shuffle(indexes)
    size = max(-(-len(rows) // files), 1)
    for place in range(files):
        mine = indexes[place::files] if layout == "dealt" else indexes[place * size : (place + 1) * size]
        table = pa.Table.from_pylist([rows[index] for index in mine], SCHEMA)
        pq.write_table(table, folder / f"{random.Random(seed + place).randrange(10**9)}.parquet", row_group_size=37)


def collected(frame: DataFrame) -> list[Numbers]:
    """The numbers in the order of positions, each position once."""
    rows = sorted((row.position, row.computed_last_committed, row.computed_sequence_number) for row in frame.collect())
    assert [row[0] for row in rows] == list(range(1, len(rows) + 1))
    return [(last, sequence) for _, last, sequence in rows]


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 6))])
@pytest.mark.parametrize("limits", LIMITS)
def test_r3_r15_numbers_are_those_of_one_process_whatever_the_layout(spark: SparkSession, tmp_path: Path, seed: int, limits: str) -> None:
    rows = history(seed, 120 + seed * 50)
    choose = random.Random(seed)
    layout = ["ordered", "dealt", "shuffled"][seed % 3]
    written(tmp_path / "trace", rows, choose.choice([1, 2, 7, 16]), layout, seed)
    trace = spark.read.schema(COLUMNS).parquet(str(tmp_path / "trace"))
    if seed % 2:
        trace = trace.repartition(choose.choice([1, 3, 8]))
    scheme = choose.choice(["fine", "group"])
    gc_after = sorted(choose.sample(range(1, 200), 2))
    local = choose.choice([(), ("a",)])
    sessions = choose.random() < 0.5
    got = number(trace, Options(scheme, tuple(gc_after), local, sessions), LIMITS[limits])
    assert collected(got) == plainly(rows, scheme, gc_after, local, sessions)


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return history(77, 400)


@pytest.fixture(scope="module")
def trace(spark: SparkSession, rows: list[dict[str, Any]]) -> DataFrame:
    return spark.createDataFrame(pa.Table.from_pylist(rows, SCHEMA)).cache()


@pytest.mark.parametrize("local", [(), ("a",)])
def test_r4_the_native_certifier_gives_the_same(trace: DataFrame, rows: list[dict[str, Any]], local: tuple[str, ...]) -> None:
    got = number(trace, Options("group", (), local), TINY)
    assert collected(got) == certified(rows, local)


def test_r5_sql_alone_gives_the_same(spark: SparkSession) -> None:
    rows = [row | {"kind": "dml"} for row in history(78, 300)]
    trace = spark.createDataFrame(pa.Table.from_pylist(rows, SCHEMA)).repartition(5)
    assert collected(number(trace, Options("group"), TINY)) == collected(in_sql(trace)) == certified(rows)


@pytest.mark.parametrize("partitions", [1, 2, 13, 64])
def test_numbers_do_not_depend_on_partitions(trace: DataFrame, rows: list[dict[str, Any]], partitions: int) -> None:
    assert collected(number(trace.repartition(partitions, "session", "position"), Options(), TINY)) == plainly(rows)


@pytest.mark.parametrize("batch", [1, 7, 1_000_000])
def test_numbers_do_not_depend_on_batches(spark: SparkSession, trace: DataFrame, rows: list[dict[str, Any]], batch: int) -> None:
    name = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = spark.conf.get(name)
    spark.conf.set(name, str(batch))
    try:
        assert collected(number(trace.coalesce(2), Options(), TINY)) == plainly(rows)
    finally:
        spark.conf.set(name, before)


def test_r7_a_collection_is_named_by_the_last_number_before_it(spark: SparkSession) -> None:
    trace = spark.createDataFrame([(1, [1]), (2, [2]), (3, [3]), (4, [4])], "position bigint, write_set array<bigint>")
    assert collected(dependencies(trace, gc_after=[3])) == [(0, 0), (1, 3), (3, 4), (3, 5)]


def test_local_transactions_may_be_named_by_server(spark: SparkSession) -> None:
    columns = "position bigint, write_set array<bigint>, server_id bigint"
    trace = spark.createDataFrame([(1, [1], 1), (2, [1], 2), (3, [1], 1), (4, [1], 2)], columns)
    assert collected(dependencies(trace, local_origins=[2])) == [(0, 0), (None, None), (1, 3), (None, None)]


def test_an_unknown_session_is_one_session_of_its_origin(spark: SparkSession) -> None:
    columns = "position bigint, write_set array<bigint>, origin string, session bigint"
    rows = [(1, [9], "c", 1), (2, [1], "a", None), (3, [2], "b", None), (4, [3], "a", None), (5, [4], "a", 1)]
    trace = spark.createDataFrame(rows, columns)
    assert [last for last, _ in collected(dependencies(trace, sessions=True))] == [0, 1, 1, 3, 1]


def test_an_empty_trace_has_no_numbers(spark: SparkSession) -> None:
    trace = spark.createDataFrame([], "position bigint, write_set array<bigint>")
    assert collected(dependencies(trace)) == []
    assert collected(number(trace, Options(), Limits(alone=-1))) == []


@pytest.mark.parametrize("limits", [Limits(), TINY])
def test_a_position_that_is_there_twice_is_refused(spark: SparkSession, limits: Limits) -> None:
    trace = spark.createDataFrame([(1, [1]), (2, [2]), (2, [3])], "position bigint, write_set array<bigint>")
    with pytest.raises(Exception, match="position 2") as caught:
        number(trace, Options(), limits).collect()
    error = unwrap(caught.value)
    assert isinstance(error, UsageError)
    assert "position 2" in error.message


@pytest.mark.parametrize(
    ("columns", "options", "words"),
    [
        ("position bigint", {}, "write_set"),
        ("position bigint, write_set array<string>", {}, "array<string>"),
        ("position bigint, write_set array<bigint>", {"scheme": "writeset"}, "writeset"),
        ("position bigint, write_set array<bigint>", {"sessions": True}, "origin"),
        ("position bigint, write_set array<bigint>", {"local_origins": ["a"]}, "origin"),
    ],
)
def test_what_cannot_be_computed_is_refused_at_once(spark: SparkSession, columns: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        dependencies(spark.createDataFrame([], columns), **options)
