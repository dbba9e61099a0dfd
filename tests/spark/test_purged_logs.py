"""A stream's logs may go once they were read to their ends, as servers purge them; without a JVM, by what Spark calls."""

from __future__ import annotations

import gzip
import shutil
from typing import TYPE_CHECKING, Any

import pytest

import paraply
from paraply.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("pyspark")

from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes
from pyspark.sql.types import LongType, StringType, StructField, StructType

from paraply.spark.failures import TaskFailed, unwrap
from paraply.spark.stream import BinlogStreamReader

pytestmark = pytest.mark.spark
SCHEMA = StructType([StructField("position", LongType()), StructField("gtid", StringType()), StructField("key", StringType())])


class Server:
    """A folder into which the logs of a server come one after the other, and from which they go."""

    def __init__(self, log: Path, folder: Path, count: int = 4) -> None:
        content = log.read_bytes()
        begins = [transaction.offset for transaction in paraply.open_log(log)][:801]
        step = (len(begins) - 1) // count
        self._logs = [content[: begins[0]] + content[begins[n * step] : begins[(n + 1) * step]] for n in range(count)]
        self.folder = folder
        folder.mkdir()

    def path(self, number: int) -> Path:
        return self.folder / f"relay.{number:06d}"

    def write(self, *numbers: int) -> None:
        for number in numbers:
            self.path(number).write_bytes(self._logs[number - 1])

    def purge(self, *numbers: int) -> None:
        for number in numbers:
            self.path(number).unlink()


class Query:
    """A streaming query; its checkpoint outlives its process."""

    def __init__(self, folder: Path, **options: str) -> None:
        self._options = {"path": str(folder), "mode": "rows", "columns": "position,gtid,key"} | options
        self.checkpoint: dict[str, Any] = {}
        self.rows: list[tuple[int, str, bool]] = []
        self.restart()

    def restart(self) -> None:
        schema = StructType([*SCHEMA.fields[:2]])
        self._options["columns"] = "position,gtid"
        self._reader = BinlogStreamReader(self._options, schema)

    def step(self, most: int | None = None) -> None:
        limit = ReadAllAvailable() if most is None else ReadMaxBytes(most)
        end = self._reader.latestOffset(self.checkpoint, limit)
        for part in self._reader.partitions(self.checkpoint, end):
            for batch in self._reader.read(part):
                self.rows += zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), [True] * batch.num_rows, strict=True)
        self.checkpoint = end


@pytest.fixture
def server(demo_log: Path, tmp_path: Path) -> Server:
    return Server(demo_log, tmp_path / "logs")


def expected(server: Server, tmp_path: Path) -> list[tuple[int, str]]:
    """Position and GTID of each row, of all logs at once."""
    whole = tmp_path / "whole"
    whole.mkdir()
    for number, content in enumerate(server._logs, start=1):
        (whole / f"relay.{number:06d}").write_bytes(content)
    rows = paraply.rows(sorted(whole.iterdir()), columns=["position", "gtid"]).read_all()
    return list(zip(rows["position"].to_pylist(), rows["gtid"].to_pylist(), strict=True))


@pytest.mark.parametrize("restarts", [False, True])
def test_a_log_that_was_read_to_its_end_may_go(server: Server, tmp_path: Path, restarts: bool) -> None:
    query = Query(server.folder, statements="false")
    for written, purged in (((1, 2), ()), ((3,), (1,)), ((), (2,)), ((4,), ())):
        server.write(*written)
        server.purge(*purged)
        if restarts:
            query.restart()
        query.step()
    assert [(position, gtid) for position, gtid, _ in query.rows] == expected(server, tmp_path)
    assert [name.rpartition("/")[2] for name in query.checkpoint if not name.startswith(":")] == ["relay.000004"]


def test_batches_of_few_bytes_leave_logs_behind_too(server: Server, tmp_path: Path) -> None:
    query = Query(server.folder, statements="false", max_bytes="40k")
    server.write(1, 2, 3, 4)
    while True:
        before = query.checkpoint
        query.step(40_000)
        if query.checkpoint == before:
            break
        for number in (1, 2, 3):
            if str(server.path(number)) not in query.checkpoint and server.path(number).exists() and query.rows:
                gone = [int(name[-6:]) for name in query.checkpoint if not name.startswith(":")]
                if number < min(gone):
                    server.purge(number)
                    query.restart()
    assert [(position, gtid) for position, gtid, _ in query.rows] == expected(server, tmp_path)


def test_a_log_may_be_packed_after_it_was_read(server: Server, tmp_path: Path) -> None:
    query = Query(server.folder, statements="false")
    server.write(1, 2)
    query.step()
    for number in (1, 2):
        with server.path(number).open("rb") as plain, gzip.open(f"{server.path(number)}.gz", "wb") as packed:
            shutil.copyfileobj(plain, packed)
    server.purge(1, 2)
    server.write(3, 4)
    query.restart()
    query.step()
    assert [(position, gtid) for position, gtid, _ in query.rows] == expected(server, tmp_path)


def test_a_log_that_went_before_its_end_is_named(server: Server) -> None:
    query = Query(server.folder)
    server.write(1)
    query.step()
    server.write(2)
    server.purge(1)
    query.restart()
    with pytest.raises(TaskFailed) as failed:
        query.step()
    error = unwrap(failed.value)
    assert isinstance(error, UsageError)
    assert "relay.000001 is not there, and was read up to offset" in error.message
    assert error.position is not None


@pytest.mark.parametrize("restarts", [False, True])
def test_events_after_a_batch_that_ends_inside_a_transaction_have_its_gtid(demo_log: Path, tmp_path: Path, restarts: bool) -> None:
    schema = StructType([StructField("offset", LongType()), StructField("gtid", StringType())])
    options = {"path": str(tmp_path / "relay.*"), "mode": "events", "columns": "offset,gtid"}
    content = demo_log.read_bytes()[: next(each.offset for each in paraply.open_log(demo_log) if each.offset > 20_000)]
    expected = [(row["offset"], row["gtid"]) for batch in paraply.events(demo_log) for row in batch.select(["offset", "gtid"]).to_pylist()]
    expected = [row for row in expected if row[0] < len(content)]
    found: list[tuple[int, str | None]] = []
    reader, before = BinlogStreamReader(options, schema), {}
    for size in range(300, len(content) + 1_100, 1_100):
        (tmp_path / "relay.000001").write_bytes(content[:size])
        if restarts:
            reader = BinlogStreamReader(options, schema)
        end = reader.latestOffset(before, ReadAllAvailable())
        for part in reader.partitions(before, end):
            for batch in reader.read(part):
                found += zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True)
        before = end
    assert found == expected
