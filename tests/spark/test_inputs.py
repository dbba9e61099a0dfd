"""Places of logs on Spark: patterns, URLs, compressed files; without a JVM."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

import pytest

import paraply
from paraply.errors import UsageError
from tests.object_storage import bucket, storage_server

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("pyspark")

from pyspark.sql.types import ArrayType, DataType, IntegerType, LongType, StringType, StructField, StructType

from paraply.spark.inputs import found_logs
from paraply.spark.loading import schema_text
from paraply.spark.options import Options
from paraply.spark.source import BinlogReader

__all__ = ["bucket", "storage_server"]
pytestmark = pytest.mark.spark
KINDS: dict[str, DataType] = {"bigint": LongType(), "string": StringType(), "array<int>": ArrayType(IntegerType())}


@pytest.fixture
def folder(demo_log: Path, tmp_path: Path) -> Path:
    content = demo_log.read_bytes()[:100_000]
    for number in (1, 2, 3):
        (tmp_path / f"relay.00000{number}").write_bytes(content)
    (tmp_path / "relay.index").write_text("./relay.000001\n")
    with gzip.open(tmp_path / "packed.000001.gz", "wb") as packed:
        packed.write(content)
    return tmp_path


def names(*patterns: str) -> list[str]:
    return [place.rpartition("/")[2] for place in found_logs(patterns)]


def test_patterns_and_file_urls_are_paths(folder: Path) -> None:
    assert names(f"{folder}/relay.00000{{1,3}}") == ["relay.000001", "relay.000003"]
    assert names(f"file://{folder}/relay.0*") == names(f"file:{folder}/relay.0*") == ["relay.000001", "relay.000002", "relay.000003"]
    assert names(f"{folder}/*.gz") == ["packed.000001.gz"]
    assert names(f"{folder}/{{relay.00000[12],packed}}*") == ["relay.000001", "relay.000002", "packed.000001.gz"]


@pytest.mark.parametrize("place", ["hdfs://namenode:8020/logs/binlog.000001", "dbfs:/logs", "abfss://logs@account.dfs.core.windows.net/b"])
def test_a_file_system_of_hadoop_is_refused_with_what_to_do(place: str) -> None:
    with pytest.raises(UsageError, match=r"mount the file system.*or copy"):
        found_logs([place])


def schema(text: str) -> StructType:
    return StructType([StructField(*part.split()[:1], KINDS[part.split()[1]]) for part in text.split(", ")])


def rows_of(path: str, **options: str) -> list[dict[str, Any]]:
    given = {"path": path, "columns": "position,file", **options}
    reader = BinlogReader(given, schema("position bigint, file string"))
    return [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]


def test_a_packed_log_has_its_own_name(folder: Path, demo_log: Path) -> None:
    (folder / "whole.000001").write_bytes(demo_log.read_bytes())
    with gzip.open(folder / "whole.000001.gz", "wb") as packed:
        packed.write(demo_log.read_bytes())
    packed_rows = rows_of(f"{folder}/whole.000001.gz", split="1m")
    assert {row["file"] for row in packed_rows} == {f"{folder}/whole.000001.gz"}
    assert len(packed_rows) == len(rows_of(f"{folder}/whole.000001")) == 6856


def test_logs_of_a_storage_are_read(demo_log: Path, bucket: str) -> None:
    import boto3  # type: ignore[import-untyped]

    key = bucket.removeprefix("s3://backup/")
    for number in (1, 2):
        boto3.client("s3").upload_file(str(demo_log), "backup", f"{key}/relay.00000{number}")
    assert names(f"{bucket.replace('s3:', 's3a:')}/relay.0*") == ["relay.000001", "relay.000002"]
    rows = rows_of(f"{bucket.replace('s3:', 's3n:')}/relay.000002", split="1g")
    assert {row["file"] for row in rows} == {f"{bucket}/relay.000002"}
    assert len(rows) == 6856


def test_a_table_that_the_logs_lack_is_told(demo_log: Path) -> None:
    with pytest.raises(Exception, match=r"the logs have no table shop\.nothing"):
        rows_of(str(demo_log), mode="rows", tables="shop.nothing")
    assert rows_of(str(demo_log), mode="rows", tables="shop.nothing", unknown_tables="empty") == []
    assert rows_of(str(demo_log), mode="ROWS", tables="shop.tag")


def test_a_schema_of_the_user_is_checked(demo_log: Path) -> None:
    wrong = schema("colour string")
    with pytest.raises(UsageError, match=r"a column `colour`"):
        BinlogReader({"path": str(demo_log), "mode": "rows"}, wrong)
    other = schema("gtid array<int>")
    reader = BinlogReader({"path": str(demo_log)}, other)
    with pytest.raises(Exception, match="the column `gtid` is string in the logs"):
        list(reader.read(reader.partitions()[0]))


def test_full_metadata_define_a_typed_table(demo_log: Path, tmp_path: Path) -> None:
    content = demo_log.read_bytes()
    begins = [transaction.offset for transaction in paraply.open_log(demo_log)]
    log = tmp_path / "relay.000007"  # without the statements that make the tables
    log.write_bytes(content[: begins[0]] + content[begins[5000] :])
    given = {"path": str(log), "mode": "rows", "values": "typed", "tables": "shop.customer"}
    assert "`key_before` struct<`id`:" in schema_text(Options.of(given))
