"""Row changes and events on Spark, cut into parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F  # noqa: N812

import paraply
from paraply.errors import UsageError
from paraply.spark import unwrap
from paraply.spark.options import Options

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Log
    from pyspark.sql import DataFrame, SparkSession

pytest.importorskip("pyspark")

pytestmark = pytest.mark.spark
ALL = [
    "mysql-binlog/compressed.binlog",
    "mysql-binlog/partial-json.binlog",
    "mariadb-binlog/compressed.binlog",
    "group-multi-primary/member3.relay",
    *(
        pytest.param(name, marks=pytest.mark.slow)
        for name in (
            "mysql-binlog/eight-sessions.binlog",
            "mysql-binlog/minimal-image.binlog",
            "mysql-binlog/single-session.binlog",
            "mariadb-binlog/plain.binlog",
            "group-multi-primary/member1.relay",
            "group-multi-primary/member2.relay",
            "group-single-primary/member3.relay",
        )
    ),
]


def load(spark: SparkSession, path: Path | str, **options: Any) -> DataFrame:
    return spark.read.format("binlog").options(**options).load(str(path))


@pytest.mark.truth
@pytest.mark.parametrize("name", ALL)
def test_parts_of_a_log_are_its_trace(spark: SparkSession, truth: Log, name: str) -> None:
    log = truth(name)
    trace = paraply.trace(log).read_all()
    rows = load(spark, log, split="1m")
    assert rows.rdd.getNumPartitions() > 2
    columns = ["position", "gtid", "write_set", "reads", "barrier", "rows", "committed_at", "offset"]
    got = {row.position: row for row in rows.select(columns).collect()}
    assert sorted(got) == trace["position"].to_pylist()
    for row in trace.select(["position", "gtid", "write_set", "reads", "barrier", "rows", "offset"]).to_pylist():
        assert {key: got[row["position"]][key] for key in row} == row


@pytest.mark.truth
@pytest.mark.parametrize("name", ALL)
def test_every_transaction_has_as_many_row_changes_as_its_trace_says(spark: SparkSession, truth: Log, name: str) -> None:
    log = truth(name)
    trace = paraply.trace(log).read_all()
    counted = load(spark, log, mode="rows", split="1m", columns="position", statements="false").groupBy("position").count()
    got = {row["position"]: row["count"] for row in counted.collect()}
    assert got == {row["position"]: row["rows"] for row in trace.select(["position", "rows"]).to_pylist() if row["rows"]}


@pytest.mark.truth
@pytest.mark.parametrize("name", ["mysql-binlog/partial-json.binlog", "mariadb-binlog/compressed.binlog"])
def test_row_changes_are_those_of_one_process(spark: SparkSession, truth: Log, name: str) -> None:
    log = truth(name)
    expected = paraply.rows(log, columns=["position", "row", "key", "before", "after"]).read_all().to_pylist()
    given = {"mode": "rows", "split": "2m", "columns": "position,row,key,before,after", "statements": "false"}
    got = load(spark, log, **given).orderBy("position", "row").collect()
    assert len(got) == len(expected)
    for row, wanted in zip(got, expected, strict=True):
        assert (row.position, row.row) == (wanted["position"], wanted["row"])
        for name in ("key", "before", "after"):
            assert row[name] == (None if wanted[name] is None else dict(wanted[name]))


def test_events_are_those_of_one_process(spark: SparkSession, demo_log: Path) -> None:
    frame = load(spark, demo_log, mode="events", split="1m")
    assert frame.rdd.getNumPartitions() > 3
    expected = paraply.events(demo_log).read_all()
    assert frame.count() == expected.num_rows
    assert frame.agg(F.sum("offset")).first()[0] == sum(expected["offset"].to_pylist())
    assert frame.where("type = 'Gtid'").count() == 6856


def test_typed_values_of_one_table(spark: SparkSession, demo_log: Path) -> None:
    frame = load(spark, demo_log, mode="rows", tables="shop.customer", values="typed", split="1m")
    kinds = dict(frame.select("after.*").dtypes)
    assert kinds["id"] == "bigint"
    assert kinds["balance"].startswith("decimal(")
    text = load(spark, demo_log, mode="rows", tables="shop.customer").selectExpr("sum(cast(after['balance'] as decimal(20,4)))").first()[0]
    assert frame.agg(F.sum("after.balance")).first()[0] == text


def test_filters_choose_the_same_rows_as_without_the_source(spark: SparkSession, demo_log: Path) -> None:
    frame = load(spark, demo_log, split="1m")
    plain = paraply.trace(demo_log).read_all().to_pylist()
    middle = sorted(row["committed_at"] for row in plain)[3000]
    late = frame.where(F.col("committed_at") > F.lit(middle)).where("kind = 'dml' and position between 1000 and 5000")
    wanted = [r for r in plain if r["committed_at"] > middle and r["kind"] == "dml" and 1000 <= r["position"] <= 5000]
    assert sorted(row.position for row in late.collect()) == [row["position"] for row in wanted]
    assert frame.where(F.col("gtid") == plain[77]["gtid"]).select("position").collect()[0][0] == 78
    assert frame.where("gtid in ('x', '')").count() == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mode": "lines"}, "lines"),
        ({"columns": "nothing"}, "nothing"),
        ({"mode": "events", "tables": "shop"}, "tables"),
        ({"split": "many"}, "split"),
        ({"splitt": "1"}, "splitt"),
        ({"values": "typed"}, "rows"),
        ({"scheme": "x"}, "scheme"),
        ({"mode": "rows", "values": "typed"}, "typed values need one table"),
        ({"split": "²"}, "split"),
        ({"tables": "shop."}, "tables: shop.: write DATABASE.TABLE"),
        ({"tables": ","}, "names none"),
        ({"columns": "gtid,file,gtid"}, "twice"),
        ({"since": "2030-01-01T00:00:00Z", "until": "2020-01-01T00:00:00Z"}, "nothing lies between"),
        ({"statements": "false"}, "an option of mode rows"),
        ({"mode": "rows", "scheme": "group"}, "an option of mode transactions"),
    ],
)
def test_a_wrong_option_is_told_as_what_it_is(spark: SparkSession, demo_log: Path, options: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Options.of(options)
    with pytest.raises(Exception, match=words) as caught:
        load(spark, demo_log, **options).count()
    error = unwrap(caught.value)
    assert isinstance(error, UsageError)
    assert words in error.message


def test_a_log_that_is_not_there_is_told_as_that(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="no log file") as caught:
        load(spark, tmp_path / "binlog.*").count()
    assert isinstance(unwrap(caught.value), UsageError)
