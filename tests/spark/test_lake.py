"""A lake from Spark: up to each batch, exactly once, and the same as the table that Spark makes of the rows itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import paraply
from paraply.errors import UsageError
from paraply.lake import LakeReport, publications, read
from tests.required import required_module

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytest.importorskip("pyspark")

from paraply.spark import current, lake, lake_batch, read_lake, update_current
from paraply.spark.batch.series import logs_up_to

pytestmark = pytest.mark.spark
required_module("deltalake")
required_module("pyiceberg")
TABLES = ("shop.customer", "shop.tag")


class Logs:
    """The demonstration's log in files, with empty ones between them."""

    def __init__(self, log: Path, folder: Path) -> None:
        folder.mkdir()
        content = log.read_bytes()
        transactions = list(paraply.open_log(log))
        first, second = transactions[2000].offset, transactions[4000].offset
        head = content[: transactions[0].offset]
        self.folder = folder
        self.gtids = [transactions[1999].gtid, transactions[3999].gtid, transactions[-1].gtid]
        self.parts = [content[:first], head, head + content[first:second], head, head + content[second:]]

    def write(self, files: int) -> str:
        """Write the first files, and return the pattern of all."""
        for number, part in enumerate(self.parts[:files], 1):
            (self.folder / f"relay.{number:06}").write_bytes(part)
        return f"{self.folder}/relay.*"


@pytest.fixture
def logs(demo_log: Path, tmp_path: Path) -> Logs:
    return Logs(demo_log, tmp_path / "logs")


def texts(frame: DataFrame) -> list[str]:
    """Return the rows of a frame as text, in order."""
    return sorted(str(row.asDict()) for row in frame.collect())


def same(one: DataFrame, other: DataFrame) -> bool:
    """Return True if two frames have the same rows, and some."""
    rows = texts(one)
    return rows == texts(other) and len(rows) > 5


def test_a_stream_is_written_exactly_once(spark: SparkSession, logs: Logs, tmp_path: Path) -> None:
    into, reports = tmp_path / "lake", list[LakeReport]()

    def follow(checkpoint: str, **options: str) -> None:
        stream = spark.readStream.format("binlog").options(columns="position,gtid,file", gaps="true", **options).load(str(logs.folder))
        more: dict[str, Any] = {"checkpoint": str(tmp_path / checkpoint), "trigger": {"availableNow": True}}
        query: Any = lake(stream, into, tables=TABLES, batch_rows=500, on_report=lambda _, report: reports.append(report), **more)
        query.awaitTermination()
        assert query.exception() is None

    logs.write(3)
    follow("one", max_bytes="700k")
    assert len(reports) > 1
    assert logs.gtids[1] in paraply.GtidSet(read(str(into)).gtids)
    pattern = logs.write(5)
    follow("one")
    added = sum(report.transactions for report in reports)
    follow("another")
    assert sum(report.transactions for report in reports) == added
    numbers = publications(str(into))
    assert numbers == list(range(1, len(numbers) + 1))
    assert read_lake(spark, into, "shop.customer").count() == 500
    assert same(read_lake(spark, into, "shop.tag"), current(spark, pattern, "shop.tag"))


@pytest.mark.parametrize("form", ["delta", pytest.param("iceberg", marks=pytest.mark.slow)])
def test_a_load_is_written_up_to_its_last_transaction(spark: SparkSession, logs: Logs, tmp_path: Path, form: str) -> None:
    pattern, into = logs.write(5), str(tmp_path / "lake")
    source = spark.read.format("binlog").option("gaps", "true")
    written: Any = lake(source.option("at", logs.gtids[0]).load(pattern), into, format=form, tables="shop.tag")
    assert written.published == 1
    assert logs.gtids[0] in paraply.GtidSet(written.executed)
    assert logs.gtids[1] not in paraply.GtidSet(written.executed)
    assert same(read_lake(spark, into, "shop.tag", format=form), current(spark, pattern, "shop.tag", at=logs.gtids[0]))
    rows = spark.read.format("binlog").options(mode="rows", gaps="true").load(pattern)
    assert lake(rows.where("operation = 'none'"), into, format=form, tables="shop.tag") == LakeReport(into, form, 1, written.executed, 1)
    lake(rows, into, format=form, tables="shop.tag")
    assert same(read_lake(spark, into, "shop.tag", format=form), current(spark, pattern, "shop.tag"))
    assert same(read_lake(spark, into, "shop.tag", format=form, publication=1), current(spark, pattern, "shop.tag", at=logs.gtids[0]))


def test_a_stored_table_is_updated_by_what_is_new(spark: SparkSession, logs: Logs, tmp_path: Path) -> None:
    into, pattern = tmp_path / "tags", logs.write(5)
    at, whole = current(spark, pattern, "shop.tag", at=logs.gtids[1]), texts(current(spark, pattern, "shop.tag"))
    assert texts(update_current(spark, pattern, "shop.tag", into, at=logs.gtids[1])) == texts(at) != whole
    for number in (1, 2):  # what is stored needs no logs
        (logs.folder / f"relay.{number:06}").unlink()
    assert texts(update_current(spark, pattern, "shop.tag", into)) == whole
    (logs.folder / "relay.000003").unlink()
    assert texts(update_current(spark, pattern, "`shop`.`tag`", into)) == whole
    assert texts(read_lake(spark, into, "`shop`.tag")) == whole
    with pytest.raises(UsageError, match="filters"):
        update_current(spark, pattern, "shop.customer", into)


def test_wrong_arguments_are_told_before_anything_is_read(spark: SparkSession, logs: Logs, tmp_path: Path) -> None:
    frame = spark.read.format("binlog").load(logs.write(1))
    for wrong, message in (
        ({"format": "parquet"}, "delta or iceberg"),
        ({"colour": "red"}, "no argument `colour`"),
        ({"checkpoint": "x"}, "are for a stream"),
        ({"batch_rows": 0}, "at least one row"),
        ({"tables": "shop.tag", "exclude": "shop.tag"}, "shop.tag"),
    ):
        arguments: dict[str, Any] = wrong
        with pytest.raises(UsageError, match=message):
            lake(frame, tmp_path / "lake", **arguments)
    with pytest.raises(UsageError, match="no column `file`"):
        lake(frame.select("position", "gtid"), tmp_path / "lake")
    with pytest.raises(UsageError, match="no argument"):
        lake_batch(tmp_path / "lake", table="shop.tag")
    assert not (tmp_path / "lake").exists()


def test_logs_without_rows_of_a_batch_are_found_beside_it(tmp_path: Path) -> None:
    for number in range(1, 7):
        (tmp_path / f"binlog.{number:06}{'.gz' if number < 3 else ''}").write_bytes(b"")
    (tmp_path / "binlog.index").write_text("")
    names = [f"{tmp_path}/binlog.000002.gz", f"{tmp_path}/binlog.000005"]
    found = [name.rpartition(".0")[2] for name in logs_up_to(names, "")]
    assert found == ["00001.gz", "00002.gz", "00003", "00004", "00005"]
    assert len(logs_up_to(names, "/copies/binlog.000004")) == 2
    assert logs_up_to([f"{tmp_path}/a.000001", f"{tmp_path}/binlog.000005"], "")[0].endswith("a.000001")
