"""Messages that a user sees: errors of a task or of Spark's planner, and the start of a session."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from paraply.errors import LogDamaged, ParaplyError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

pytest.importorskip("pyspark")

from paraply.spark import apply_batch, dependencies, unwrap

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def damaged(demo_log: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A log with three wrong bytes in its middle."""
    content = bytearray(demo_log.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 3] = bytes(byte ^ 0x55 for byte in content[middle : middle + 3])
    path = tmp_path_factory.mktemp("damaged") / "relay.000001"
    path.write_bytes(content)
    return str(path)


WAYS: dict[str, Callable[[SparkSession, str], object]] = {
    "count": lambda spark, log: spark.read.format("binlog").load(log).count(),
    "rows in parts": lambda spark, log: spark.read.format("binlog").options(mode="rows", split="1m").load(log).collect(),
    "write": lambda spark, log: spark.read.format("binlog").load(log).write.format("noop").mode("overwrite").save(),
    "rdd": lambda spark, log: spark.read.format("binlog").load(log).rdd.count(),
    "stream": lambda spark, log: (
        spark.readStream.format("binlog").load(log).writeStream.format("noop").trigger(availableNow=True).start().awaitTermination()
    ),
    "foreachBatch": lambda spark, log: (
        spark.readStream.format("binlog")
        .load(log)
        .writeStream.foreachBatch(apply_batch("mysql://127.0.0.1:1"))
        .trigger(availableNow=True)
        .start()
        .awaitTermination()
    ),
    "dependencies": lambda spark, log: dependencies(spark.read.format("binlog").load(log)).count(),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_first_line_names_class_file_and_position(spark: SparkSession, damaged: str, way: str) -> None:
    with pytest.raises(Exception, match="damaged") as caught:
        WAYS[way](spark, damaged)
    error = unwrap(caught.value)
    assert isinstance(error, LogDamaged)
    assert error.file == damaged
    assert error.position is not None
    first = f"{type(caught.value).__name__}: {caught.value}".splitlines()[0]
    assert "LogDamaged" in first
    assert damaged in first
    assert f"position {error.position}" in first


@pytest.mark.parametrize(
    ("options", "words"), [({"mode": "lines"}, "unknown mode `lines`"), ({}, "no log file"), ({"split": "many"}, "split=many")]
)
def test_the_first_line_of_what_the_planner_raises(spark: SparkSession, tmp_path: Path, options: dict[str, str], words: str) -> None:
    with pytest.raises(Exception, match=words) as caught:
        spark.read.format("binlog").options(**options).load(str(tmp_path / "binlog.*")).count()
    assert str(caught.value).startswith("UsageError: ")
    assert words in str(caught.value).splitlines()[0]
    assert isinstance(unwrap(caught.value), UsageError)


def test_the_first_line_of_what_a_function_raises(spark: SparkSession) -> None:
    with pytest.raises(Exception, match="malformed GTID") as caught:
        spark.sql("select gtid_subset('what', 'else')").collect()
    assert str(caught.value).startswith("UsageError: malformed GTID text")


def test_other_errors_stay_as_they_are(spark: SparkSession) -> None:
    with pytest.raises(Exception, match="nowhere") as caught:
        spark.sql("select * from nowhere").collect()
    assert str(caught.value).startswith("[TABLE_OR_VIEW_NOT_FOUND]")
    assert not isinstance(unwrap(caught.value), ParaplyError)


@pytest.mark.slow
def test_a_session_starts_and_stops_without_a_word(spark: SparkSession) -> None:
    lines = ["from paraply.spark import session", "s = session(where='local[1]')"]
    lines += ["print(s.sql('select gtid_subset(null, null)').first()[0])", "s.stop()"]
    ran = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    assert (ran.stdout, ran.stderr) == ("None\n", "")
