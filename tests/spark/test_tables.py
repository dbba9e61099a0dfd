"""Tables from their changes: the source's own rows at the end, at a point in between, and the history of each row."""

from __future__ import annotations

import os
import shutil
import tarfile
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from altered_table import AlteredTable

import paraply
from paraply.errors import UsageError
from tests.servers import running_mariadb

if TYPE_CHECKING:
    from conftest import Log
    from pyspark.sql import DataFrame, SparkSession

pytest.importorskip("pyspark")

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

from paraply.spark import current, history, unwrap

pytestmark = pytest.mark.spark
ROUNDS = int(os.environ.get("PARAPLY_ALTERS", "30"))


@dataclass(frozen=True)
class Altered:
    """Logs of a MariaDB with random ALTERs, and the rows of its tables at some points.

    Attributes:
        logs: Pattern of the logs.
        points: GTID and number of rows of ``d.t`` after some statements.
        keyless: The rows of ``d.bag``, which has no key.
    """

    logs: str
    points: dict[str, int]
    keyless: list[tuple[Any, ...]]


@pytest.fixture(scope="module")
def altered(tmp_path_factory: pytest.TempPathFactory) -> Altered:
    folder = tmp_path_factory.mktemp("altered")
    with (
        running_mariadb(["--log-bin=binlog", "--binlog-format=ROW", "--server-id=1"]) as server,
        server.connect() as connection,
        connection.cursor() as cursor,
    ):
        points: dict[str, int] = {}

        def sql(statement: str) -> None:
            cursor.execute(statement)
            if statement.startswith("DELETE FROM d.t "):
                cursor.execute("SELECT @@gtid_binlog_pos, (SELECT COUNT(*) FROM d.t)")
                gtid, count = cursor.fetchone() or ("", 0)
                points[str(gtid)] = int(str(count))

        AlteredTable(sql, 5).run(ROUNDS)
        for statement in KEYLESS:
            cursor.execute(statement)
        for statement in ODD_DATES:
            cursor.execute(statement)
        cursor.execute("SELECT b, a, c FROM d.bag")
        bag = [tuple(row) for row in cursor.fetchall()]
        cursor.execute("FLUSH BINARY LOGS")
        for path in sorted(server.data.glob("binlog.0*")):
            if path.suffix != ".idx":
                shutil.copy(path, folder)
    return Altered(f"{folder}/binlog.0*", points, bag)


KEYLESS = (
    "CREATE TABLE d.bag (a INT, b VARCHAR(9))",
    "INSERT INTO d.bag VALUES (1,'x'),(1,'x'),(2,'y'),(3,NULL)",
    "DELETE FROM d.bag WHERE a=1 LIMIT 1",
    "ALTER TABLE d.bag ADD c INT DEFAULT 7, MODIFY a BIGINT AFTER b",
    "UPDATE d.bag SET a=a+10 WHERE b='y'",
    "INSERT INTO d.bag VALUES ('x',1,7)",
)

ODD_DATES = (
    "SET sql_mode='ALLOW_INVALID_DATES'",
    "CREATE TABLE d.days (id INT PRIMARY KEY, day DATE, moment DATETIME(6))",
    "INSERT INTO d.days VALUES (1,'2024-02-31','2023-02-29 10:00:00'),(2,'0000-01-01','0000-12-31 23:59:59.999999')",
    "INSERT INTO d.days VALUES (3,'0000-00-00','2024-00-01'),(4,'2024-02-29','9999-12-31 23:59:59.999999')",
)


def copy_of(spark: SparkSession, logs: str) -> DataFrame:
    """The rows that the source copied at the end."""
    rows = spark.read.format("binlog").options(mode="rows", values="typed", tables="d.copy", statements="false").load(logs)
    return rows.select("after.*")


def test_the_current_table_is_the_source_own(spark: SparkSession, altered: Altered) -> None:
    found, expected = current(spark, altered.logs, "d.t").cache(), copy_of(spark, altered.logs).cache()
    assert found.dtypes == expected.dtypes
    assert found.count() == expected.count() > 5
    assert found.exceptAll(expected).count() == 0


def test_the_table_at_a_gtid_has_the_rows_of_then(spark: SparkSession, altered: Altered) -> None:
    gtid, count = list(altered.points.items())[len(altered.points) // 2]
    assert current(spark, altered.logs, "d.t", at=gtid).count() == count
    with pytest.raises(UsageError, match="is not in these logs"):
        current(spark, altered.logs, "d.t", at="9-9-9")


def test_a_history_has_each_version_once(spark: SparkSession, altered: Altered) -> None:
    versions = history(spark, altered.logs, "d.t").cache()
    now = versions.where("is_current").drop("valid_from", "valid_to", "from_gtid", "to_gtid", "is_current")
    assert now.exceptAll(copy_of(spark, altered.logs)).count() == 0
    # Each version of a key ends before the next one begins, and at a point there are as many versions as the source had rows.
    by_key = Window.partitionBy("k").orderBy("valid_from", "valid_to")
    follows = versions.where("is_current or to_gtid is not null").withColumn("next", F.lead("valid_from").over(by_key))
    assert follows.where("next < valid_to").count() == 0
    assert versions.where("valid_to < valid_from or from_gtid = to_gtid").count() == 0
    for gtid, count in list(altered.points.items())[-2:]:
        number = int(gtid.rpartition("-")[2])
        since, until = (F.substring_index(name, "-", -1).cast("bigint") for name in ("from_gtid", "to_gtid"))
        assert versions.where((since <= number) & (until.isNull() | (until > number))).count() == count


VERSIONS = """
with emptied as (
    select position, gtid, committed_at, row_number() over (order by position) as epoch from change where operation = 'truncate'),
ends as (
    select position, row, 0 as part, key_before.k as k, if(true, null, after) as image, gtid, committed_at from change
    where operation = 'delete' or operation = 'update' and key_before.k <> key_after.k),
begins as (
    select position, row, 1 as part, key_after.k as k, after as image, gtid, committed_at from change
    where operation in ('insert', 'update')),
steps as (
    select step.*, 1 + size(filter(emptied_at, at -> at < step.position)) as epoch
    from (select * from ends union all select * from begins) as step
    cross join (select collect_list(position) as emptied_at from emptied)),
followed as (
    select *, lead(struct(position, gtid, committed_at)) over (partition by epoch, k order by position, row, part) as next from steps)
select image.*, followed.committed_at as valid_from, coalesce(next.committed_at, emptied.committed_at) as valid_to,
    followed.gtid as from_gtid, coalesce(next.gtid, emptied.gtid) as to_gtid, coalesce(next.gtid, emptied.gtid) is null as is_current
from followed left join emptied using (epoch)
where image is not null and (next is null or next.position <> followed.position)"""


@pytest.mark.slow
def test_a_history_is_that_of_sql_on_parquet(spark: SparkSession, altered: Altered, tmp_path: Path) -> None:
    options = {"mode": "rows", "values": "typed", "tables": "d.t", "earlier_tables": "false"}
    rows = spark.read.format("binlog").options(**options).load(altered.logs)
    rows.drop("ordering").write.parquet(f"{tmp_path}/change")
    spark.read.parquet(f"{tmp_path}/change").createOrReplaceTempView("change")
    expected, found = spark.sql(VERSIONS).cache(), history(spark, altered.logs, "d.t").cache()
    assert found.dtypes == expected.dtypes
    assert found.count() == expected.count() > 50
    assert found.exceptAll(expected).count() == 0


def test_a_table_without_a_key_is_counted(spark: SparkSession, altered: Altered) -> None:
    found = current(spark, altered.logs, "d.bag")
    assert sorted(map(tuple, found.collect()), key=str) == sorted(altered.keyless, key=str)
    with pytest.raises(UsageError, match="no primary key"):
        history(spark, altered.logs, "d.bag")


def test_dates_that_only_the_server_can_hold_are_null(spark: SparkSession, altered: Altered) -> None:
    rows = sorted(map(tuple, current(spark, altered.logs, "d.days").collect()))
    assert [row[1:] for row in rows[:3]] == [(None, None)] * 3
    assert rows[3] == (4, date(2024, 2, 29), datetime(9999, 12, 31, 23, 59, 59, 999_999))


def test_rows_at_the_start_must_be_known(spark: SparkSession, demo_log: Path, tmp_path: Path) -> None:
    content = demo_log.read_bytes()
    begins = [transaction.offset for transaction in paraply.open_log(demo_log)]
    first, second = tmp_path / "relay.000001", tmp_path / "relay.000002"
    first.write_bytes(content[: begins[3000]])
    second.write_bytes(content[: begins[0]] + content[begins[3000] :])
    with pytest.raises(UsageError, match="give them as base"):
        current(spark, str(second), "shop.customer")
    base = current(spark, str(first), "shop.customer")
    later = current(spark, str(second), "shop.customer", base=base)
    whole = current(spark, [str(first), str(second)], "shop.customer")
    assert later.exceptAll(whole).count() == whole.exceptAll(later).count() == 0
    assert whole.count() > 100


@pytest.mark.truth
@pytest.mark.parametrize("table", ["customer", "tag", *(pytest.param(name, marks=pytest.mark.slow) for name in ("product", "counter"))])
def test_a_table_of_a_real_log_is_the_source_own(spark: SparkSession, truth: Log, table: str) -> None:
    import json

    final = truth("mysql-binlog/eight-sessions.final.tar")
    with tarfile.open(final) as archive:
        file = archive.extractfile(next(member for member in archive.getmembers() if Path(member.name).stem == table))
        assert file is not None
        expected = [json.loads(line) for line in file.read().decode().splitlines()]
    log = str(truth("mysql-binlog/eight-sessions.binlog"))
    found = current(spark, log, f"shop.{table}")
    assert sorted(plain(row) for row in found.collect()) == sorted(plain(row) for row in expected)
    if table != "customer":
        versions = history(spark, log, f"shop.{table}").where("is_current").select(*found.columns)
        assert sorted(plain(row) for row in versions.collect()) == sorted(plain(row) for row in expected)


def plain(row: Any) -> list[str]:
    """The values of a row as text, as the dump has them."""
    return [str(float(value)) if isinstance(value, float) else str(value) for value in row]


@pytest.mark.truth
def test_partial_images_are_completed(spark: SparkSession, truth: Log) -> None:
    log = str(truth("mysql-binlog/minimal-image.binlog"))
    with pytest.raises(Exception, match="the log has no value for the column") as failed:
        current(spark, log, "shop.customer").collect()
    assert isinstance(unwrap(failed.value), UsageError)
    found = current(spark, log, "shop.customer", images="partial")
    assert found.count() == found.select("id").distinct().count() > 50
    assert found.where("email is null").count() == 0


@pytest.mark.truth
def test_documents_are_not_taken_from_before_a_partial_update(truth: Log) -> None:
    on_the_driver: Any = None
    with pytest.raises(UsageError, match=r"the JSON column doc cannot be taken .* partial JSON updates; leave it out"):
        current(on_the_driver, str(truth("mysql-binlog/partial-json.binlog")), "shop.orders", images="partial")
