"""Tables of the logs of real servers: every version of every row, and the source's own tables at the end.

``history`` is compared with a plain pass over the row changes in Python. ``current`` is put into a server of the source's kind, whose
``CHECKSUM TABLE`` must be the one that the source gave.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import paraply
from tests.own_mysql import running_mysql
from tests.servers import running_mariadb

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Log
    from pyspark.sql import DataFrame, SparkSession

pytest.importorskip("pyspark")

from paraply.spark import current, history
from paraply.spark.table.state import VALIDITY

pytestmark = [pytest.mark.spark, pytest.mark.truth]
TABLES = ("customer", "product", "orders", "order_line", "counter", "tag")
WITH_CHECKSUMS = (
    "mysql-binlog/compressed",
    "mysql-binlog/eight-sessions",
    "mysql-binlog/minimal-image",
    "mysql-binlog/partial-json",
    "mysql-binlog/single-session",
    "mariadb-binlog/plain",
    "mariadb-binlog/compressed",
)
LOGS = (*(f"{name}.binlog" for name in WITH_CHECKSUMS), "group-multi-primary/member3.relay", "group-single-primary/member3.relay")
PARTIAL = "mysql-binlog/minimal-image.binlog"
QUICK = (("mariadb-binlog/compressed.binlog", "counter"), (PARTIAL, "tag"), ("group-multi-primary/member3.relay", "tag"))
"""Small tables of logs of each kind; the others run by turns."""
EACH = [
    (log, table) if (log, table) in QUICK else pytest.param(log, table, marks=pytest.mark.slow)
    for log in LOGS
    for table in TABLES
]  # fmt: skip
SETTINGS = ("SET sql_mode=''", "SET foreign_key_checks=0", "SET time_zone='+00:00'", "SET character_set_server=utf8mb4")


def images(name: str) -> dict[str, str]:
    """Return the arguments for a log with partial images."""
    return {"images": "partial"} if name == PARTIAL else {}


@pytest.mark.parametrize(("name", "table"), EACH)
def test_all_versions_of_a_real_table_are_those_of_its_changes(spark: SparkSession, truth: Log, name: str, table: str) -> None:
    log = truth(name)
    expected = versions_of(log, f"shop.{table}")
    found = history(spark, str(log), f"shop.{table}", **images(name))
    columns = [column for column in found.columns if column not in VALIDITY]
    assert counted(found, [*columns, *VALIDITY]) == Counter(expected)
    now = Counter(version[: len(columns)] for version in expected if version[-1])
    assert counted(current(spark, str(log), f"shop.{table}", **images(name)), columns) == now
    assert len(expected) > sum(now.values()) > 5


def counted(frame: DataFrame, columns: list[str]) -> Counter[tuple[Any, ...]]:
    """Return the rows of a frame, and how often each is there."""
    rows = frame.toArrow().select(columns)
    return Counter(zip(*(column.to_pylist() for column in rows.columns), strict=True))


def versions_of(log: Path, table: str) -> list[tuple[Any, ...]]:
    """Return the versions of a table's rows as ``history`` has them, from one pass over the changes of a log in order."""
    versions: list[tuple[Any, ...]] = []
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    began: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    changes = paraply.rows(log, tables=[table], values="typed")
    names = [field.name for field in changes.schema.field("after").type]
    key = key_of(log, table)

    def end(one: tuple[Any, ...], at: tuple[Any, ...]) -> None:
        if one in began and began[one][0] != at[0]:
            position, since, gtid = began[one]
            versions.append((*(rows[one][name] for name in names), since, at[1], gtid, at[2], position is None))

    for batch in changes:
        for change in batch.to_pylist():
            at = (change["position"], change["committed_at"], change["gtid"])
            before, after = change["before"], change["after"]
            old = rows[tuple(before[name] for name in key)] if before is not None else {}
            if before is not None:
                one = tuple(old[name] for name in key)
                end(one, at)
                del rows[one], began[one]
            if after is not None:
                row = {**old, **{name: value for name, value in after.items() if name not in change["absent"]}}
                one = tuple(row[name] for name in key)
                rows[one], began[one] = row, at
    now = [(*(rows[one][name] for name in names), since, None, gtid, None, True) for one, (_, since, gtid) in began.items()]
    return versions + now


def key_of(log: Path, table: str) -> list[str]:
    """Return the columns of a table's primary key, from the keys of its rows in the log."""
    batch = next(batch for batch in paraply.rows(log, tables=[table], columns=["key"]) if batch.num_rows)
    return [name for name, _ in batch.column("key")[0].as_py()]


@pytest.mark.slow
@pytest.mark.mariadb
@pytest.mark.parametrize("name", WITH_CHECKSUMS)
def test_the_current_tables_have_the_checksums_of_the_source(spark: SparkSession, truth: Log, name: str) -> None:
    log = truth(f"{name}.binlog")
    trace = spark.read.format("binlog").options(columns="position,kind,statement").load(str(log))
    statements = [row.statement for row in trace.where("kind = 'ddl'").orderBy("position").collect()]
    with (
        running_mysql() if name.startswith("mysql") else running_mariadb() as server,
        server.connect() as connection,
        connection.cursor() as cursor,
    ):
        for statement in (*SETTINGS, *statements):
            if statement.startswith("CREATE TABLE"):
                cursor.execute("USE shop")
            cursor.execute(statement)
        for table in TABLES:
            rows = current(spark, str(log), f"shop.{table}", **images(f"{name}.binlog")).toArrow()
            columns, places = ", ".join(rows.column_names), ", ".join(["%s"] * rows.num_columns)
            cursor.executemany(
                f"INSERT INTO shop.{table} ({columns}) VALUES ({places})",
                list(zip(*(column.to_pylist() for column in rows.columns), strict=True)),
            )
        cursor.execute("CHECKSUM TABLE " + ", ".join(f"shop.{table}" for table in TABLES))
        found = {str(table): str(checksum) for table, checksum in cursor.fetchall()}
    assert found == dict(line.split() for line in truth(f"{name}.checksums").read_text().splitlines())
