"""Generated traces: the same numbers on Spark, from the native certifier and from SQL alone, however the trace lies.

PARAPLY_SPARK_PROOFS is how many seeds are tried, 3 by default.
"""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING

import pytest
from spark.oracles import certified, history, in_sql, plainly
from spark.test_dependencies import COLUMNS, collected, written

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytest.importorskip("pyspark")

from paraply.spark.dependencies import Limits, Options, number

pytestmark = pytest.mark.spark
SEEDS = int(os.environ.get("PARAPLY_SPARK_PROOFS", "3"))
BATCHES = (1, 7, 100, 10_000, 1_000_000)
RECORDS = "spark.sql.execution.arrow.maxRecordsPerBatch"


@pytest.mark.parametrize("seed", range(1000, 1000 + SEEDS))
def test_r3_r5_three_ways_to_the_same_numbers(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    choose = random.Random(seed)
    rows = [row | {"kind": "dml"} for row in history(seed, choose.choice([1, 40, 150, 400]))]
    if choose.random() < 0.5:
        rows = [row | {"barrier": False} for row in rows]
    files, layout = choose.choice([1, 2, 5, 16]), choose.choice(["ordered", "dealt", "shuffled"])
    written(tmp_path / "trace", rows, files, layout, seed)
    trace = spark.read.schema(COLUMNS).parquet(str(tmp_path / "trace"))
    if choose.random() < 0.7:
        trace = trace.repartition(choose.choice([1, 2, 3, 8, 17, 64])).cache()
    limits = Limits(alone=choose.choice([0, 0, 50_000]), chunk=choose.choice([5, 37, 1_000_000]), part=choose.choice([20, 500_000]))
    before = spark.conf.get(RECORDS)
    spark.conf.set(RECORDS, str(choose.choice(BATCHES)))
    try:
        got = collected(number(trace, Options("group"), limits))
        fine = collected(number(trace, Options("fine", sessions=seed % 2 == 0), limits))
    finally:
        spark.conf.set(RECORDS, before)
    assert got == certified(rows)
    assert fine == plainly(rows, "fine", sessions=seed % 2 == 0)
    assert got == collected(in_sql(trace))
    trace.unpersist()
