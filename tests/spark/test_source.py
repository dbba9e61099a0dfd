"""Logs and functions on Spark."""

from __future__ import annotations

import datetime
import re
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import paraply
from paraply.analysis.trace_files import write_trace
from paraply.errors import LogTruncated, UsageError

if TYPE_CHECKING:
    from conftest import Log
    from pyspark.sql import SparkSession

pytest.importorskip("pyspark")

from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812

from paraply.spark import dependencies, gtid_subset, gtid_subtract, unwrap, write_set_hash
from paraply.spark.dependencies import Limits, Options, number

pytestmark = pytest.mark.spark
ID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"


@pytest.fixture(scope="module")
def logs(demo_log: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log in two files of one folder; the second one lacks the tables, which the first one makes."""
    folder = tmp_path_factory.mktemp("logs")
    content = demo_log.read_bytes()
    events = list(events_of(content))
    half = next(offset for offset, kind in events if offset > len(content) // 2 and kind == GTID)
    header = content[: events[first_transaction(events)][0]]
    (folder / "relay.000001").write_bytes(content[:half])
    (folder / "relay.000002").write_bytes(header + content[half:])
    (folder / "relay.index").write_text("./relay.000001\n")
    return folder


GTID = 33


def events_of(content: bytes) -> list[tuple[int, int]]:
    """Offset and type of every event."""
    found, offset = [], 4
    while offset + 19 <= len(content):
        found.append((offset, content[offset + 4]))
        offset += int.from_bytes(content[offset + 9 : offset + 13], "little")
    return found


def first_transaction(events: list[tuple[int, int]]) -> int:
    return next(index for index, (_, kind) in enumerate(events) if kind == GTID)


def test_r3_a_groups_numbers_come_out_of_its_log(spark: SparkSession, demo_log: Path, tmp_path: Path) -> None:
    write_trace(demo_log, tmp_path / "trace.parquet", scheme="group", row_group_rows=500)
    trace = spark.read.parquet(str(tmp_path / "trace.parquet"))
    for limits in (Limits(), Limits(alone=0, chunk=700, part=2000)):
        numbers = number(trace, Options("group"), limits)
        wrong = trace.join(numbers, "position").where(
            "not (last_committed <=> computed_last_committed and sequence_number <=> computed_sequence_number)"
        )
        assert numbers.count() == 6856
        assert wrong.count() == 0


@pytest.mark.truth
def test_r7_collections_of_a_real_group(spark: SparkSession, truth: Log, tmp_path: Path) -> None:
    log = truth("group-single-primary/member3.relay")
    write_trace(log, tmp_path / "trace.parquet", scheme="group")
    trace = spark.read.parquet(str(tmp_path / "trace.parquet")).repartition(5)
    numbers = number(trace, Options("group", (7607, 15545)), Limits(alone=0, chunk=3000, part=9000))
    assert numbers.count() == 22578
    same = "last_committed = computed_last_committed and sequence_number = computed_sequence_number"
    assert trace.join(numbers, "position").where(same).count() == 22578


def test_logs_are_read_as_their_trace(spark: SparkSession, logs: Path, demo_log: Path) -> None:
    rows = spark.read.format("binlog").load(str(logs))
    assert rows.rdd.getNumPartitions() == 2
    expected = paraply.trace(demo_log).read_all()
    got = {row.position: row for row in rows.collect()}
    assert sorted(got) == expected["position"].to_pylist()
    for row in expected.select(["position", "gtid", "kind", "write_set", "reads", "barrier", "session", "rows"]).to_pylist():
        found = got[row["position"]]
        assert {name: found[name] for name in row} == row


def test_several_paths_are_read_in_their_order(spark: SparkSession, logs: Path) -> None:
    paths = [str(logs / "relay.000001"), f"{logs}/relay.0*2"]
    frame = spark.read.format("binlog").load(paths).groupBy("file").agg({"position": "min", "*": "count"}).orderBy("file")
    assert [row["min(position)"] for row in frame.collect()] == [1, frame.first()["count(1)"] + 1]


def test_a_load_of_nothing_is_told_as_that(spark: SparkSession) -> None:
    with pytest.raises(Exception, match="name a log"):
        spark.read.format("binlog").load().count()


def test_only_the_wanted_columns_are_made(spark: SparkSession, logs: Path) -> None:
    rows = spark.read.format("binlog").load(f"{logs}/relay.0*")
    assert rows.groupBy("kind").count().where("kind = 'dml'").first()[1] > 6000


def test_a_log_that_is_damaged_is_told_with_its_place(spark: SparkSession, demo_log: Path, tmp_path: Path) -> None:
    content = demo_log.read_bytes()
    (tmp_path / "damaged").write_bytes(content[: len(content) // 2])
    with pytest.raises(Exception, match="LogTruncated") as caught:
        spark.read.format("binlog").load(str(tmp_path / "damaged")).count()
    error = unwrap(caught.value)
    assert isinstance(error, LogTruncated)
    assert error.file == str(tmp_path / "damaged")
    assert error.position is not None
    assert 0 < error.position <= len(content) // 2


def grown(spark: SparkSession, demo_log: Path, folder: Path, **options: str) -> tuple[list[int], list[int]]:
    """Counts of one DataFrame before and after its log has grown twice and another file has come; and of a new one then."""
    content = demo_log.read_bytes()
    begins = [transaction.offset for transaction in paraply.open_log(demo_log)]
    (folder / "relay.000001").write_bytes(content[: begins[100]])
    frame = spark.read.format("binlog").options(**options).load(str(folder))
    counts = [frame.count()]
    (folder / "relay.000001").write_bytes(content[: begins[200]])
    counts.append(frame.where("offset >= 0").count())
    counts.append(frame.alias("one").join(frame.alias("other"), "offset").count())
    (folder / "relay.000002").write_bytes(content[: begins[0]] + content[begins[200] : begins[300]])
    counts.append(frame.count())
    return counts, [spark.read.format("binlog").options(**options).load(str(folder)).count()]


@pytest.mark.parametrize("split", ["1g", "20k"])
def test_a_frame_is_of_its_logs_as_they_were_at_its_first_query(spark: SparkSession, demo_log: Path, tmp_path: Path, split: str) -> None:
    assert grown(spark, demo_log, tmp_path, split=split) == ([100] * 4, [300])


def test_events_of_a_frame_are_those_of_its_first_query(spark: SparkSession, demo_log: Path, tmp_path: Path) -> None:
    counts, (new,) = grown(spark, demo_log, tmp_path, mode="events")
    assert len(set(counts)) == 1
    assert new > counts[0] > 100


def test_a_log_that_another_one_has_replaced_is_told_as_that(spark: SparkSession, demo_log: Path, tmp_path: Path) -> None:
    content = demo_log.read_bytes()
    path = tmp_path / "relay.000001"
    path.write_bytes(content[: 1 << 20])
    frame = spark.read.format("binlog").options(mode="events").load(str(path))
    frame.columns  # noqa: B018  planned with the first query only
    path.write_bytes(content)
    assert frame.count() > 0
    path.write_bytes(content[:200])
    with pytest.raises(Exception, match="became smaller"):
        frame.count()
    path.write_bytes(content[:4] + b"\x01\x02\x03\x04" + content[8:])  # made at another time
    with pytest.raises(Exception, match="another file") as caught:
        frame.count()
    assert isinstance(unwrap(caught.value), UsageError)


def test_dependencies_of_logs(spark: SparkSession, logs: Path) -> None:
    assert dependencies(spark.read.format("binlog").load(str(logs))).count() == 6856


def test_r11_hashes_of_columns_are_those_of_the_library(spark: SparkSession) -> None:
    moment = datetime.datetime(2024, 2, 29, 12, 34, 56)
    frame = spark.createDataFrame(
        [(1, 2, "Résumé", Decimal("-1.50"), b"x", moment.date(), True), (1, None, "resume", Decimal("0.00"), b"", None, False)],
        "a int, b bigint, c string, d decimal(10,2), e binary, f date, g boolean",
    )
    row, other = frame.select(
        write_set_hash("PRIMARY", "test", "t1", "a"),
        write_set_hash("PRIMARY", "test", "t1", "a", "b"),
        write_set_hash("c", "shop", "tag", "c", collation="utf8mb4_0900_ai_ci"),
        write_set_hash("k", "shop", "t", "d", "e", "g"),
    ).collect()
    hashes = [value % (1 << 64) for value in row]
    assert hashes[:2] == [340395741608101502, 13655149628280894901]
    assert hashes[3] == paraply.write_set_hash("k", "shop", "t", Decimal("-1.50"), b"x", True)
    assert (other[1], other[2]) == (None, row[2])
    dated = frame.select(write_set_hash("k", "shop", "t", "f")).first()[0] % (1 << 64)
    assert dated == paraply.write_set_hash("k", "shop", "t", "2024-02-29")


def test_r11_times_and_intervals_are_hashed_as_time(spark: SparkSession) -> None:
    frame = spark.sql(
        "select time'08:09:10.5' as t, interval '-100:00:01' hour to second as i, interval '0' second as z, interval '900' hour as far,"
        " null as nothing"
    )
    hashes = frame.select(*(write_set_hash("k", "shop", "t", name) for name in ("t", "i", "z", "nothing"))).first()
    expected = [paraply.write_set_hash("k", "shop", "t", text) for text in ("08:09:10.500000", "-100:00:01", "00:00:00")]
    assert [value % (1 << 64) for value in hashes[:3]] == expected
    assert hashes[3] is None
    with pytest.raises(PySparkException) as failed:
        frame.select(write_set_hash("k", "shop", "t", "far")).collect()
    assert isinstance(unwrap(failed.value), UsageError)


def test_functions_work_in_sql(spark: SparkSession) -> None:
    query = f"select gtid_subset('{ID}:3', '{ID}:1-5'), gtid_subtract('{ID}:1-5', '{ID}:2-3'), gtid_subset(null, '{ID}:1')"
    assert tuple(spark.sql(query).first()) == (True, f"{ID}:1:4-5", None)
    hashed = spark.sql("select write_set_hash('PRIMARY', 'test', 't1', id) from range(1, 2)").first()[0]
    assert hashed == 340395741608101502


def test_functions_over_columns(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(f"{ID}:1-5", f"{ID}:2"), ("", f"{ID}:2")], "a string, b string")
    assert [tuple(row) for row in frame.select(gtid_subset("b", "a"), gtid_subtract("a", "b")).collect()] == [
        (True, f"{ID}:1:3-5"),
        (False, ""),
    ]


def test_a_bad_set_is_told_as_what_it_is(spark: SparkSession) -> None:
    with pytest.raises(Exception, match="UsageError") as caught:
        spark.sql("select gtid_subset('what', 'else')").collect()
    assert isinstance(unwrap(caught.value), UsageError)


def test_the_example_of_the_certifier_gives_the_numbers_of_the_log(spark: SparkSession, demo_log: Path) -> None:
    text = (Path(__file__).parents[2] / "docs/how-to/spark.md").read_text()
    example = next(block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "def certified" in block)
    names: dict[str, Any] = {}
    exec(example, names)
    trace = spark.read.format("binlog").option("scheme", "group").load(str(demo_log))
    found = {row.position: (row.last_committed, row.sequence_number) for row in names["certified"](trace).collect()}
    rows = paraply.trace(demo_log).read_all().to_pylist()
    assert found == {row["position"]: (row["last_committed"], row["sequence_number"]) for row in rows}


def test_statements_and_the_order_across_jobs(spark: SparkSession, logs: Path) -> None:
    made = spark.read.format("binlog").options(mode="rows", tables="shop.tag").load(str(logs)).where("statement is not null").collect()
    assert [(row.operation, row.table, row.before, row.after) for row in made] == [("create", "tag", None, None)]
    assert made[0].statement.lower().startswith("create table tag")
    trace = spark.read.format("binlog").load(str(logs)).cache()
    ddl = trace.where("kind = 'ddl' and array_contains(tables, 'shop.tag')").first()
    assert (ddl.statement, ddl.position) == (made[0].statement, made[0].position)
    # The second log alone: its positions begin at 1, and its order is the same.
    alone = spark.read.format("binlog").load(f"{logs}/relay.000002").select("gtid", "ordering", F.col("position").alias("own"))
    both = alone.join(trace.select("gtid", F.col("ordering").alias("whole"), "position"), "gtid")
    assert both.where("whole <> ordering or position = own").count() == 0
    assert trace.orderBy("ordering").select("position").take(7000) == trace.orderBy("position").select("position").take(7000)


def test_explain_prints_what_options_leave_out(spark: SparkSession, logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = {"mode": "rows", "tables": "shop.tag", "columns": "position,key", "gtids": f"{ID}:1-5"}
    frame = spark.read.format("binlog").options(**options).load(str(logs))
    frame.where("position > 3").explain()
    assert f"with mode=rows, columns=[position, key], tables=[shop.tag], gtids={ID}:1-5" in capsys.readouterr().out
    spark.range(3).explain()
    assert "binlog:" not in capsys.readouterr().out
