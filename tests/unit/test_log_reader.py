"""The reader of logs as Python sees it: where an error stands, and what is passed over."""

from __future__ import annotations

from pathlib import Path

import pytest
from server.native_blocks import read_blocks

from paraply._native import Catalog, GtidSet, LogReader, Transaction
from paraply.bench.kernels import read_all
from paraply.errors import LogDamaged, LogTruncated

LOG = Path(__file__).parents[2] / "rust" / "binlog" / "tests" / "data" / "mysql-9.7.000001"


def transactions(reader: LogReader) -> list[Transaction]:
    found: list[Transaction] = []
    while (batch := reader.next_batch()) is not None:
        found += batch
    return found


def test_r27_damage_inside_a_transaction_names_its_gtid(tmp_path: Path) -> None:
    content = bytearray(LOG.read_bytes())
    last = transactions(LogReader([str(LOG)]))[-1]
    damaged = tmp_path / "damaged"
    content[last.end_offset - 10] ^= 1
    damaged.write_bytes(content)
    with pytest.raises(LogDamaged) as raised:
        transactions(LogReader([str(damaged)]))
    assert (raised.value.gtid, raised.value.file) == (last.gtid, str(damaged))
    assert last.offset < (raised.value.position or 0) < last.end_offset
    damaged.write_bytes(content[: last.end_offset - 10])
    with pytest.raises(LogTruncated) as raised:
        transactions(LogReader([str(damaged)]))
    assert raised.value.gtid == last.gtid


def test_damage_between_transactions_names_none(tmp_path: Path) -> None:
    content = bytearray(LOG.read_bytes())
    last = transactions(LogReader([str(LOG)]))[-1]
    content[last.offset + 25] ^= 1
    damaged = tmp_path / "damaged"
    damaged.write_bytes(content)
    with pytest.raises(LogDamaged) as raised:
        transactions(LogReader([str(damaged)]))
    assert (raised.value.gtid, raised.value.position) == (None, last.offset)


def test_r25_rows_of_what_was_applied_before_are_not_looked_at(demo_log: Path) -> None:
    whole = transactions(LogReader([str(demo_log)]))
    executed = GtidSet("")
    for transaction in whole[: len(whole) // 2]:
        executed.add(transaction.gtid or "")
    reader, seen = LogReader([str(demo_log)], executed=executed), 0
    while (batch := reader.next_batch()) is not None:
        sets = batch.write_sets(Catalog())
        for index, transaction in enumerate(batch):
            expected = whole[seen]
            assert (transaction.gtid, transaction.kind, transaction.tables) == (expected.gtid, expected.kind, expected.tables)
            if transaction.gtid in executed:
                keys = sets.items(index)
                assert (transaction.rows, keys.exclusive, keys.shared, keys.barrier) == (0, [], [], False)
            else:
                assert (transaction.rows, sets.items(index)) == (expected.rows, expected.write_set(Catalog()))
            seen += 1
    assert seen == len(whole)


def test_r21a_the_parts_of_a_transaction_hold_its_rows_once(demo_log: Path) -> None:
    split = 0
    for batch, catalog in zip(*read_all(demo_log), strict=True):
        for index, transaction in enumerate(batch):
            parts = batch.split_rows(index, catalog, 3) if transaction.kind == "dml" else []
            if parts:
                split += 1
                assert 2 <= len(parts) <= 3
                assert sum(part.rows for part in parts) == transaction.rows
                assert {part.first_gtid for part in parts} == {transaction.gtid}
                assert {(part.file, part.offset) for part in parts} == {(transaction.file, transaction.offset)}
        with pytest.raises(IndexError):
            batch.split_rows(len(batch), catalog, 3)
    assert split > 10


@pytest.mark.parametrize("log", ["mysql-9.7.000001", "mysql-9.7-anonymous.binlog", "mariadb-10.11.000001"])
@pytest.mark.parametrize("merge", [1, 50])
def test_a_block_tells_the_sessions_and_the_numbers_of_its_transactions(log: str, merge: int) -> None:
    for block in read_blocks(LOG.with_name(log), merge):
        members = block.transactions
        sessions = block.sessions
        assert len(set(sessions)) == len(sessions)
        assert set(sessions) == {(transaction.server_id, transaction.session) for transaction in members}
        gtids = [transaction.gtid for transaction in members if transaction.gtid and ":" not in transaction.gtid]
        assert [f"{domain}-{server}-{number}" for domain, number, server in block.numbers] == gtids
        assert bool(gtids) == log.startswith("mariadb")
