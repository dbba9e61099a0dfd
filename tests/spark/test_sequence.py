"""Logs of a load or a stream that do not follow each other; and the statements of one table among others of its names."""

from __future__ import annotations

import shutil
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from paraply.errors import UsageError
from tests.servers import running_mariadb

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

pytest.importorskip("pyspark")

from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import LongType, StringType, StructField, StructType

from paraply.spark import current, history, unwrap
from paraply.spark.source import BinlogReader
from paraply.spark.stream import BinlogStreamReader
from paraply.spark.table.changes import TableChanges

pytestmark = pytest.mark.spark
STATEMENTS = (
    "CREATE TABLE sp.product (id INT PRIMARY KEY, qty INT)",
    "INSERT INTO sp.product VALUES (1,1),(2,2)",
    "FLUSH BINARY LOGS",
    "UPDATE sp.product SET qty=20 WHERE id=2",
    "FLUSH BINARY LOGS",
    "UPDATE sp.product SET qty=10 WHERE id=1",
    "FLUSH BINARY LOGS",
    "RENAME TABLE sp.product TO sp.product_old",
    "CREATE TABLE sp.product (id INT PRIMARY KEY, name TEXT)",
    "ALTER TABLE sp.product_old ADD code VARCHAR(36) DEFAULT (uuid())",
    "SET SESSION binlog_row_image=MINIMAL",
    "ALTER TABLE sp.product ADD size INT",
    "INSERT INTO sp.product VALUES (7,'seven',1)",
    "UPDATE sp.product SET name='VII'",
    "FLUSH BINARY LOGS",
)


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("sequence")
    with (
        running_mariadb(["--log-bin=binlog", "--binlog-format=ROW", "--server-id=1"]) as server,
        server.connect() as connection,
        connection.cursor() as cursor,
    ):
        for statement in ("CREATE DATABASE sp", *STATEMENTS):
            cursor.execute(statement)
        found = sorted(path for path in server.data.glob("binlog.0*") if path.suffix != ".idx")[:4]
        return [str(shutil.copy(path, folder)) for path in found]


def folder_of(logs: Sequence[str], folder: Path, *numbers: int) -> str:
    for number in numbers:
        shutil.copy(logs[number - 1], folder)
    return str(folder)


NO_SPARK: Any = None
"""The logs are looked at on the driver, before Spark is used."""


@pytest.mark.parametrize("function", [current, history])
def test_a_table_needs_all_logs_once_and_in_order(logs: list[str], tmp_path: Path, function: Any) -> None:
    one, two, three, four = logs
    with pytest.raises(UsageError, match=r"add binlog\.000002 \(file"):
        function(NO_SPARK, folder_of(logs, tmp_path, 1, 3, 4), "sp.product_old")
    with pytest.raises(UsageError, match="not in the order in which they were written; give them as: " + " ".join(logs)):
        function(NO_SPARK, [one, three, two, four], "sp.product_old")
    (tmp_path / "link").symlink_to(three)
    with pytest.raises(UsageError, match="is named twice, also as"):
        function(NO_SPARK, [*logs, str(tmp_path / "link")], "sp.product_old")
    with pytest.raises(UsageError, match="gaps=true: a missing log may change the table's definition"):
        function(NO_SPARK, [one, three, four], "sp.product_old", gaps="true")


COLUMNS = StructType([StructField("position", LongType()), StructField("file", StringType())])


def files_read(*paths: str, **options: str) -> list[str]:
    given = {f"path{'s' if len(paths) > 1 else ''}": str(list(paths)).replace("'", '"') if len(paths) > 1 else paths[0]}
    reader = BinlogReader({"columns": "position,file", **given, **options}, COLUMNS)
    rows = [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]
    return list(dict.fromkeys(row["file"] for row in rows))


@pytest.mark.parametrize("mode", ["rows", "transactions"])
def test_a_gap_in_a_load_is_an_error_unless_it_is_allowed(logs: list[str], mode: str) -> None:
    one, two, three, four = logs
    with pytest.raises(Exception, match=r"add binlog\.000002; if these logs are to be read without the others.* set gaps=true") as failed:
        files_read(one, three, four, mode=mode)
    assert isinstance(unwrap(failed.value), UsageError)
    assert files_read(one, three, four, mode=mode, gaps="true") == [one, three, four]
    assert files_read(one, one, two, mode=mode) == [one, two]
    for options in ({}, {"gaps": "true"}):
        with pytest.raises(Exception, match=r"not in the order|is given after") as failed:
            files_read(three, two, mode=mode, **options)
        assert "set gaps=true" not in str(unwrap(failed.value))


def test_a_stream_ends_at_a_gap_and_goes_on_without_it(logs: list[str], tmp_path: Path) -> None:
    given = {"path": folder_of(logs, tmp_path, 1), "columns": "position,file"}
    offsets: list[dict[str, Any]] = [{}]
    reader = BinlogStreamReader(given, COLUMNS)
    offsets.append(reader.latestOffset(offsets[-1], ReadAllAvailable()))
    folder_of(logs, tmp_path, 3)
    for anew in (False, True):
        reader = BinlogStreamReader(given, COLUMNS) if anew else reader
        with pytest.raises(Exception, match=r"add binlog\.000002, and start the query again with the same checkpoint"):
            reader.latestOffset(offsets[-1], ReadAllAvailable())
    folder_of(logs, tmp_path, 2, 4)
    reader = BinlogStreamReader(given, COLUMNS)
    offsets.append(reader.latestOffset(offsets[-1], ReadAllAvailable()))
    parts = [part for start, end in pairwise(offsets) for part in reader.partitions(start, end)]
    positions = [position for part in parts for batch in reader.read(part) for position in batch.column(0).to_pylist()]
    assert positions == list(range(1, len(positions) + 1))
    assert len(positions) >= 11


def statements(logs: list[str], table: str, **options: str) -> list[str]:
    given = {"paths": str(logs).replace("'", '"'), "mode": "rows", "values": "typed", "tables": table, "columns": "statement", **options}
    reader = BinlogReader(given, StructType([StructField("statement", StringType())]))
    found = [text for part in reader.partitions() for batch in reader.read(part) for text in batch.column(0).to_pylist() if text]
    return [" ".join(text.split()[:3]) for text in found]


def test_statements_of_another_table_of_an_earlier_name_are_left_out(logs: list[str]) -> None:
    old = ["CREATE TABLE sp.product", "RENAME TABLE sp.product"]
    assert statements(logs, "sp.product_old") == [*old, "ALTER TABLE sp.product_old"]
    assert statements(logs, "sp.product", earlier_tables="false") == ["CREATE TABLE sp.product", "ALTER TABLE sp.product"]
    assert statements(logs, "sp.product") == [*old, "CREATE TABLE sp.product", "ALTER TABLE sp.product"]


@pytest.mark.parametrize(("table", "column", "partial"), [("sp.product_old", "code", False), ("sp.product", "size", True)])
def test_partial_images_are_named_only_where_images_lack_columns(
    spark: SparkSession, logs: list[str], table: str, column: str, partial: bool
) -> None:
    with pytest.raises(Exception, match=f"the log has no value for the column .*{column}") as failed:
        TableChanges.of(spark, logs, table, None, (), "full", None, {}).changes().collect()
    assert ("images='partial'" in str(unwrap(failed.value))) is partial
