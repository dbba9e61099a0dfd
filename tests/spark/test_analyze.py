"""Analysis of traces on Spark beside that of one process."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from paraply.analysis.analyze import AnalyzeOptions, analyze
from paraply.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Log
    from pyspark.sql import SparkSession

    from paraply.analysis.analyze import Analysis

pytest.importorskip("pyspark")

from paraply import spark as paraply_spark
from paraply.analysis.trace_files import write_trace

pytestmark = pytest.mark.spark

COLUMNS = "position bigint, write_set array<bigint>, rows bigint, bytes bigint"


def without_seconds(analysis: Analysis) -> Analysis:
    return replace(analysis, seconds=0.0)


@pytest.mark.truth
@pytest.mark.parametrize("name", ["mysql-binlog/eight-sessions.binlog", "group-multi-primary/member3.relay", "mariadb-binlog/plain.binlog"])
def test_the_result_is_that_of_one_process(spark: SparkSession, truth: Log, tmp_path: Path, name: str) -> None:
    files = write_trace([truth(name)], tmp_path / "trace.parquet", row_group_rows=1_000).files
    options = AnalyzeOptions(primaries=3)
    alone = analyze(files, options)
    mixed = spark.read.parquet(*map(str, files)).repartition(3, "write_set")  # rows in any order
    assert without_seconds(paraply_spark.analyze(mixed, options)) == without_seconds(alone)


def test_a_trace_without_rows_is_analyzed(spark: SparkSession) -> None:
    analysis = paraply_spark.analyze(spark.createDataFrame([], COLUMNS))
    assert (analysis.totals.transactions, analysis.totals.first_time) == (0, None)


def test_a_trace_needs_only_positions_keys_and_sizes(spark: SparkSession) -> None:
    trace = spark.createDataFrame([(2, [5], 1, 9), (1, [5, 6], 2, 9), (3, [7], 1, 9)], COLUMNS)
    analysis = paraply_spark.analyze(trace)
    assert analysis.totals.transactions == 3
    assert [scheme.steps for scheme in analysis.schemes if scheme.name == "fine"] == [2]


def test_errors_name_what_is_wrong(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no column `write_set`"):
        paraply_spark.analyze(spark.range(3).withColumnRenamed("id", "position"))
    texts = spark.createDataFrame([(1, "a", 1, 9)], COLUMNS.replace("array<bigint>", "string"))
    with pytest.raises(UsageError, match="not array<bigint>"):
        paraply_spark.analyze(texts)
    with pytest.raises(UsageError, match="no timeline"):
        paraply_spark.analyze(texts, AnalyzeOptions(timeline=tmp_path / "schedule.json"))
