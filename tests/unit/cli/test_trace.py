"""``paraply trace`` and ``paraply.trace``: the columnar trace of real logs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import run_json

import paraply
from paraply.analysis.trace_files import write_trace
from paraply.errors import LogTruncated, UsageError

if TYPE_CHECKING:
    from conftest import Log

LIST = pa.list_(pa.int64())
SCHEMA = pa.schema(
    [
        pa.field("position", pa.int64(), nullable=False),
        pa.field("gtid", pa.string(), nullable=False),
        pa.field("origin", pa.string(), nullable=False),
        pa.field("session", pa.int64()),
        pa.field("committed_at", pa.timestamp("us", "UTC")),
        pa.field("kind", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("tables", pa.list_(pa.string()), nullable=False),
        pa.field("write_set", LIST, nullable=False),
        pa.field("reads", LIST),
        pa.field("snapshot", pa.string()),
        pa.field("rows", pa.int32(), nullable=False),
        pa.field("bytes", pa.int64(), nullable=False),
        pa.field("last_committed", pa.int64()),
        pa.field("sequence_number", pa.int64()),
        pa.field("server_id", pa.int64(), nullable=False),
        pa.field("file", pa.string(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("barrier", pa.bool_(), nullable=False),
    ]
)

DDL = {481: "customer", 864: "product", 1153: "orders", 1553: "order_line", 2049: "counter", 2316: "tag", 2766883: "counter",
       5230411: "counter", 5848118: "counter"}  # fmt: skip
"""Tables of the log's DDL, by offset: it makes six and alters one three times."""


@pytest.fixture(scope="module")
def table(demo_log: Path) -> pa.Table:
    return paraply.trace(demo_log).read_all()


def test_the_schema_is_the_documented_one(table: pa.Table) -> None:
    assert table.schema == SCHEMA


def test_rows_are_the_transactions_of_the_log(table: pa.Table, demo_log: Path) -> None:
    columns = table.select(
        ["gtid", "session", "kind", "tables", "rows", "bytes", "last_committed", "sequence_number", "server_id", "file", "offset"]
    )
    transactions = [
        (
            log.gtid or "",
            log.session,
            log.kind,
            [f"shop.{DDL[log.offset]}"] if log.offset in DDL else log.tables,
            log.rows,
            log.bytes,
            log.last_committed,
            log.sequence_number,
            log.server_id,
            log.file,
            log.offset,
        )
        for log in paraply.open_log(demo_log)
    ]
    assert list(zip(*(column.to_pylist() for column in columns), strict=True)) == transactions
    assert table["position"].to_pylist() == list(range(1, len(transactions) + 1))
    assert all(gtid.startswith(origin + ":") for gtid, origin in zip(table["gtid"].to_pylist(), table["origin"].to_pylist(), strict=True))


def test_r5_what_has_no_keys_is_a_barrier(table: pa.Table) -> None:
    rows = table.select(["kind", "barrier", "write_set", "reads"]).to_pylist()
    assert {row["kind"] for row in rows} == {"dml", "ddl"}
    assert all(row["barrier"] for row in rows if row["kind"] == "ddl")
    assert not any(row["barrier"] for row in rows if row["kind"] == "dml")
    assert all(len(set(row["write_set"])) == len(row["write_set"]) for row in rows)
    assert any(row["reads"] for row in rows)


def test_r3_the_certifier_stamps_a_trace_as_the_group_did(demo_log: Path) -> None:
    table = paraply.trace(demo_log, scheme="group").read_all()
    assert table["reads"].null_count == table.num_rows
    stamped = paraply.Certifier().certify_batch(table.select(["write_set", "barrier"]))
    for name in ("last_committed", "sequence_number"):
        assert stamped[name].to_pylist() == table[name].to_pylist()


def test_the_size_of_batches_changes_nothing(table: pa.Table, demo_log: Path) -> None:
    batches = list(paraply.trace(demo_log, batch_transactions=100))
    assert max(batch.num_rows for batch in batches) == 100
    assert pa.Table.from_batches(batches).equals(table)


def test_the_command_writes_parquet_with_ranges_of_positions(table: pa.Table, demo_log: Path, tmp_path: Path) -> None:
    out = tmp_path / "trace.parquet"
    result = run_json("trace", demo_log, "-o", out).report
    assert (result["exit_code"], result["transactions"], result["files"]) == (0, table.num_rows, [str(out)])
    assert (result["fallbacks"], result["bytes"]) == (0, out.stat().st_size)
    assert pq.read_table(out).equals(table)
    column = pq.ParquetFile(out).metadata.row_group(0).column(0)
    assert (column.compression, column.statistics.min, column.statistics.max) == ("ZSTD", 1, table.num_rows)
    assert [path.name for path in tmp_path.iterdir()] == [out.name]


def test_row_groups_follow_one_another(table: pa.Table, demo_log: Path, tmp_path: Path) -> None:
    write_trace(demo_log, tmp_path / "trace.parquet", row_group_rows=1000)
    file = pq.ParquetFile(tmp_path / "trace.parquet")
    groups = [file.metadata.row_group(group) for group in range(file.metadata.num_row_groups)]
    assert [group.num_rows for group in groups] == [1000] * 6 + [table.num_rows - 6000]
    ranges = [(group.column(0).statistics.min, group.column(0).statistics.max) for group in groups]
    assert [first for first, _ in ranges] == [1, *(last + 1 for _, last in ranges[:-1])]


def test_one_file_for_each_log(demo_log: Path, tmp_path: Path) -> None:
    logs = []
    for name in ("a.log", "b.log"):
        logs.append(tmp_path / name)
        logs[-1].write_bytes(demo_log.read_bytes())
    report = write_trace(logs, tmp_path / "traces", by_file=True)
    assert [Path(file).name for file in report.files] == ["a.log.parquet", "b.log.parquet"]
    tables: list[Any] = [pq.read_table(file) for file in report.files]
    assert [set(table["file"].to_pylist()) for table in tables] == [{str(log)} for log in logs]
    assert pa.concat_tables(tables)["position"].to_pylist() == list(range(1, report.transactions + 1))


def test_nothing_stays_of_a_log_that_is_damaged(demo_log: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.log"
    content = demo_log.read_bytes()
    damaged.write_bytes(content[: len(content) // 2])
    out = tmp_path / "out" / "trace.parquet"
    with pytest.raises(LogTruncated):
        write_trace(damaged, out)
    assert list(out.parent.iterdir()) == []
    stream = paraply.trace(damaged)
    assert stream.read_next_batch().num_rows > 0


def test_what_cannot_be_written_is_told_before_anything_is_read(demo_log: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="scheme"):
        paraply.trace(demo_log, scheme="writeset")
    with pytest.raises(UsageError, match="is a folder"):
        write_trace(demo_log, tmp_path)
    with pytest.raises(UsageError, match="same name"):
        write_trace([demo_log, demo_log], tmp_path / "traces", by_file=True)
    with pytest.raises(UsageError, match="at least one"):
        paraply.trace(demo_log, batch_transactions=0)


@pytest.mark.truth
@pytest.mark.parametrize("name", ["mariadb-binlog/plain.binlog", "mysql-binlog/compressed.binlog", "mysql-binlog/minimal-image.binlog"])
def test_every_log_has_a_trace(truth: Log, name: str) -> None:
    log = truth(name)
    table = paraply.trace(log).read_all()
    assert table["gtid"].to_pylist() == [transaction.gtid for transaction in paraply.open_log(log)]
    assert table["session"].null_count < table.num_rows
