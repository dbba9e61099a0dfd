"""Conflicts and parallelism of traces, and the forms of the functions."""

from __future__ import annotations

import datetime
from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from spark.oracles import SCHEMA, history

from paraply.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

pytest.importorskip("pyspark")

from paraply.spark import conflicts, parallelism, unwrap, write_set_hash, write_set_hash_pandas

pytestmark = pytest.mark.spark


def touches(row: dict[str, Any], scheme: str) -> tuple[set[int], set[int]]:
    owned = set(row["write_set"]) | (set(row["reads"]) if scheme == "group" else set())
    return owned, set(row["reads"]) - owned


def is_barrier(row: dict[str, Any], scheme: str) -> bool:
    owned, shared = touches(row, scheme)
    return row["barrier"] or not (owned or shared)


def pairs(rows: Sequence[dict[str, Any]], scheme: str) -> Counter[tuple[int, int]]:
    """Each key by itself, plainly."""
    found: Counter[tuple[int, int]] = Counter()
    taken: dict[int, int] = {}
    sharing: dict[int, list[int]] = {}
    for row in rows:
        if row["kind"] != "dml" or row["barrier"]:
            continue
        owned, shared = touches(row, scheme)
        for key in owned | shared:
            if key in taken:
                found[row["position"], taken[key]] += 1
        for key in owned:
            for reader in sharing.pop(key, []):
                found[row["position"], reader] += 1
            taken[key] = row["position"]
        for key in shared:
            sharing.setdefault(key, []).append(row["position"])
    return found


@pytest.mark.parametrize("scheme", ["fine", "group"])
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3))])
def test_r15_conflicts_are_those_of_each_key(spark: SparkSession, seed: int, scheme: str) -> None:
    rows = history(seed, 150)
    trace = spark.createDataFrame(pa.Table.from_pylist(rows, SCHEMA)).repartition(3)
    got = {(row.position, row.earlier): row["keys"] for row in conflicts(trace, scheme=scheme).collect()}
    assert got == dict(pairs(rows, scheme))


def test_conflicts_by_table(spark: SparkSession) -> None:
    columns = "position bigint, write_set array<bigint>, tables array<string>"
    rows = [(1, [1], ["a"]), (2, [1, 2], ["a", "b"]), (3, [2], ["b"]), (4, [2], ["b"])]
    # Both change two tables, and the common key is of one of them.
    rows += [(5, [9], ["a", "b"]), (6, [9], ["a", "b"]), (7, [9], ["a"]), (8, [8], ["a", "b"]), (9, [8], ["a", "b"])]
    trace = spark.createDataFrame(rows, columns)
    assert {(r.position, r.earlier, tuple(r.tables)) for r in conflicts(trace).collect()} == {
        (2, 1, ("a",)),
        (3, 2, ("b",)),
        (4, 3, ("b",)),
        (6, 5, ("a", "b")),
        (7, 6, ("a",)),
        (9, 8, ("a", "b")),
    }
    counted = {row.table: (row.pairs, row.transactions) for row in conflicts(trace, by_table=True).collect()}
    assert counted == {"a": (3, 3), "b": (2, 2), "a or b": (1, 1)}
    with pytest.raises(UsageError, match="tables"):
        conflicts(trace.drop("tables"), by_table=True)


def longest(rows: Sequence[dict[str, Any]], scheme: str, sessions: bool) -> tuple[int, int, int]:
    """Every pair of transactions, plainly: transactions, barriers, steps."""
    steps: list[tuple[dict[str, Any], int]] = []
    for row in rows:
        if row["kind"] == "view_change":
            continue
        owned, shared = touches(row, scheme)
        mine = (row["origin"], row["session"])
        step = 1
        for other, at in steps:
            others, other_shared = touches(other, scheme)
            meets = owned & (others | other_shared) or shared & others or (sessions and mine == (other["origin"], other["session"]))
            if meets or alone(row, scheme, sessions) or alone(other, scheme, sessions):
                step = max(step, at + 1)
        steps.append((row, step))
    return len(steps), sum(alone(row, scheme, sessions) for row, _ in steps), max((step for _, step in steps), default=0)


def alone(row: dict[str, Any], scheme: str, sessions: bool) -> bool:
    return is_barrier(row, scheme)


@pytest.mark.parametrize(("scheme", "sessions"), [("fine", False), ("group", False), ("fine", True)])
def test_the_critical_path_of_each_window(spark: SparkSession, scheme: str, sessions: bool) -> None:
    rows = history(5, 230)
    trace = spark.createDataFrame(pa.Table.from_pylist(rows, SCHEMA)).repartition(4)
    got = {row.window: row for row in parallelism(trace, window=50, scheme=scheme, sessions=sessions).collect()}
    assert sorted(got) == [0, 1, 2, 3, 4]
    for number, row in got.items():
        part = rows[number * 50 : (number + 1) * 50]
        assert (row.first, row.last) == (part[0]["position"], part[-1]["position"])
        assert (row.transactions, row.barriers, row.critical_path) == longest(part, scheme, sessions)
        assert row.parallelism == pytest.approx(row.transactions / row.critical_path)


def test_a_window_of_nothing_is_refused(spark: SparkSession) -> None:
    trace = spark.createDataFrame([(1, [1])], "position bigint, write_set array<bigint>")
    with pytest.raises(UsageError, match="window"):
        parallelism(trace, window=0)


def test_r11_both_forms_of_the_hash_are_the_same(spark: SparkSession) -> None:
    day = datetime.date(2024, 2, 29)
    columns = "a int, b bigint, c string, d decimal(10,2), e binary, f date, g double, h boolean"
    frame = spark.createDataFrame(
        [(1, -2, "Résumé", Decimal("-1.50"), b"x", day, 0.5, True), (3, 1 << 60, "", Decimal(0), b"", day, -1.0, False)], columns
    )
    for key in (["a"], ["a", "b"], ["d", "e"], ["f"], ["g", "h"]):
        forms = frame.select(write_set_hash("PRIMARY", "test", "t1", *key), write_set_hash_pandas("PRIMARY", "test", "t1", *key))
        assert all(one == other is not None for one, other in forms.collect())
    text = [f("c", "shop", "tag", "c", collation="utf8mb4_0900_ai_ci") for f in (write_set_hash, write_set_hash_pandas)]
    assert all(one == other for one, other in frame.select(*text).collect())


def test_pandas_is_refused_what_it_does_not_keep(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1,), (None,)], "a bigint")
    with pytest.raises(Exception, match="pandas does not keep") as caught:
        frame.select(write_set_hash_pandas("PRIMARY", "test", "t1", "a")).collect()
    assert isinstance(unwrap(caught.value), UsageError)
    assert frame.select(write_set_hash("PRIMARY", "test", "t1", "a")).collect()[1][0] is None


def test_a_trace_of_a_log_has_conflicts(spark: SparkSession, demo_log: Path) -> None:
    trace = spark.read.format("binlog").load(str(demo_log))
    by_table = {row.table: row.pairs for row in conflicts(trace, by_table=True).collect()}
    assert by_table["shop.product"] > 0
    whole = parallelism(trace, window=1000).agg({"transactions": "sum"}).first()
    assert whole is not None
    assert whole[0] == 6856
