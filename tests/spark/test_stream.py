"""A folder of logs that grows, followed by a query that is stopped and started anew; and applied while it is followed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import paraply
from paraply.errors import UsageError
from paraply.spark.options import Options

if TYPE_CHECKING:
    from pathlib import Path

    from pg_databases import Database
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

pytest.importorskip("pyspark")

from paraply.spark import apply_batch
from paraply.spark.stream.followed import Followed

pytestmark = pytest.mark.spark


def follow(spark: SparkSession, folder: Path, checkpoint: Path, into: Any, **options: str) -> None:
    """Reads what is there, and ends."""
    stream = spark.readStream.format("binlog").options(**options).load(str(folder))
    writer = stream.writeStream.foreachBatch(into).option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    query: StreamingQuery = writer.start()
    query.awaitTermination()
    assert query.exception() is None


class Grown:
    """A log that is written bit by bit into two files."""

    def __init__(self, log: Path, folder: Path) -> None:
        self._content = log.read_bytes()
        self._folder = folder
        folder.mkdir()
        gtids = [(t.offset, t.end_offset) for t in paraply.open_log(log)]
        self._half = gtids[len(gtids) // 2][0]
        self._head = self._content[: gtids[0][0]]

    def write(self, share: float) -> None:
        """Writes the log up to a share of it, wherever that is."""
        end = int(len(self._content) * share)
        (self._folder / "relay.000001").write_bytes(self._content[: min(end, self._half)])
        if end > self._half:
            (self._folder / "relay.000002").write_bytes(self._head + self._content[self._half : end])


def test_every_transaction_comes_once_however_often_the_query_is_started(spark: SparkSession, demo_log: Path, tmp_path: Path) -> None:
    seen: list[tuple[int, str]] = []

    def take(batch: DataFrame, number: int) -> None:
        seen.extend((row.position, row.gtid) for row in batch.select("position", "gtid").collect())

    log = Grown(demo_log, tmp_path / "logs")
    for share in (0.13, 0.31, 0.62, 0.9, 1.0):
        log.write(share)
        follow(spark, tmp_path / "logs", tmp_path / "checkpoint", take, split="300k")
    expected = paraply.trace(demo_log).read_all().select(["position", "gtid"]).to_pylist()
    assert Counter(seen) == Counter((row["position"], row["gtid"]) for row in expected)


def test_batches_are_bounded(spark: SparkSession, demo_log: Path, tmp_path: Path) -> None:
    rows: list[int] = []
    log = Grown(demo_log, tmp_path / "logs")
    log.write(1.0)
    options = {"mode": "rows", "max_bytes": "1m", "statements": "false"}
    follow(spark, tmp_path / "logs", tmp_path / "checkpoint", lambda batch, _: rows.append(batch.count()), **options)
    assert sum(rows) == sum(t.rows for t in paraply.open_log(demo_log))
    assert len([count for count in rows if count]) >= 5


def test_write_sets_know_tables_that_earlier_batches_made(spark: SparkSession, demo_log: Path, tmp_path: Path) -> None:
    barriers: list[int] = []
    log = Grown(demo_log, tmp_path / "logs")
    for share in (0.4, 1.0):
        log.write(share)
        follow(spark, tmp_path / "logs", tmp_path / "checkpoint", lambda batch, _: barriers.append(batch.where("barrier").count()))
    assert sum(barriers) == sum(paraply.trace(demo_log).read_all()["barrier"].to_pylist())


def test_a_log_that_shrinks_is_refused(demo_log: Path, tmp_path: Path) -> None:
    log = Grown(demo_log, tmp_path / "logs")
    log.write(0.4)
    followed = Followed(Options(paths=(str(tmp_path / "logs"),)))
    followed.look({})
    log.write(0.2)
    with pytest.raises(UsageError, match="smaller"):
        followed.look({})


def test_r25_a_query_applies_each_transaction_once(spark: SparkSession, demo_log: Path, tmp_path: Path, database: Database) -> None:
    reports: list[tuple[int, int]] = []
    log = Grown(demo_log, tmp_path / "logs")
    apply = apply_batch(database.url, workers=2, on_report=lambda number, report: reports.append((report.transactions, report.skipped)))
    for share, checkpoint in ((0.15, "one"), (0.3, "one"), (0.35, "two")):  # the second one begins anew: its first batch was applied before
        log.write(share)
        follow(spark, tmp_path / "logs", tmp_path / checkpoint, apply, columns="position,gtid,file")
    applied = len([None for _ in upto(tmp_path / "logs" / "relay.000001")])
    assert sum(transactions for transactions, _ in reports) == applied
    assert reports[-1][1] > 0


def upto(log: Path) -> list[str | None]:
    found = []
    try:
        for transaction in paraply.open_log(log):
            found.append(transaction.gtid)
    except paraply.errors.LogTruncated:
        pass
    return found
