"""Large transactions, which are read from temporary files: the same as small ones in every respect but memory."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from conventions.repository import script
from large import FEW_BYTES, few_bytes_in_memory
from server.native_blocks import read_log

from paraply._native import Block, Catalog, LogReader, Planner, PostgresRenderer, TableFilter
from paraply.logs.feed import Feed, FeedItem, FeedRules
from paraply.schema.catalog import SchemaCatalog
from paraply.targets.postgres.types import map_table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from paraply._native import Transaction

    Truth = Callable[[str], Path]

LOGS = (
    "mysql-binlog/eight-sessions.binlog",
    "mysql-binlog/compressed.binlog",
    "mysql-binlog/partial-json.binlog",
    "mariadb-binlog/compressed.binlog",
)
ROWS = 300


@pytest.fixture
def one_large(tmp_path: Path) -> Path:
    """A log with one transaction of many rows in two tables, and a small one after it."""
    with script("benches/made_binlog.py").MadeBinlog(tmp_path, "d") as log:
        for table in ("t", "u"):
            log.statement(f"CREATE TABLE {table} (id INT PRIMARY KEY, note VARCHAR(40) NOT NULL)")
        log.portions([(table, None, {"id": n, "note": f"row {n}"}) for table in ("t", "u")] for n in range(ROWS))
        log.rows([("t", {"id": 1, "note": "row 1"}, {"id": 1, "note": "changed"})])
    return next(tmp_path.iterdir())


def content(transaction: Transaction) -> tuple[Any, ...]:
    sql = [statement.sql for statement in transaction.statements]
    return transaction.gtid, transaction.kind, transaction.rows, transaction.offset, sql, transaction.row_events()


def items(log: Path, *, bounded: bool) -> list[FeedItem]:
    return list(Feed(LogReader([str(log)]), SchemaCatalog(), Catalog(), FeedRules(bounded=bounded), threaded=False))


def blocks(log: Path) -> list[Block]:
    planner = Planner()
    found = (planner.plan(item.batch, item.write_sets, merge=4, max_bytes=1 << 20, committed=0) for item in items(log, bounded=True))
    return [block for some in found for block in some]


@pytest.mark.truth
@pytest.mark.parametrize("name", LOGS)
def test_r27_a_log_is_read_the_same_from_files(truth: Truth, name: str) -> None:
    log = truth(name)
    expected = [content(transaction) for transaction in read_log(log)]
    with few_bytes_in_memory(4 * FEW_BYTES):
        assert [content(transaction) for transaction in read_log(log)] == expected


def test_filters_and_renames_change_rows_in_files_as_in_memory(one_large: Path) -> None:
    def read() -> list[tuple[Any, ...]]:
        tables = TableFilter(exclude_tables=[("d", "u")], rename_tables=[(("d", "t"), ("other", "longer_name"))])
        found: list[tuple[Any, ...]] = []
        reader = LogReader([str(one_large)], tables=tables)
        while (batch := reader.next_batch()) is not None:
            found += [(*content(transaction), transaction.tables) for transaction in batch]
        return found

    expected = read()
    assert ["other.longer_name"] in [row[-1] for row in expected]
    with few_bytes_in_memory():
        assert read() == expected


def test_r13_a_transaction_with_too_many_keys_is_a_barrier_and_its_reason_is_counted(one_large: Path) -> None:
    *_, large, small = [index for item in items(one_large, bounded=True) for index in zip(item.batch, range(len(item.batch)), strict=True)]
    assert (large[0].rows, small[0].rows) == (2 * ROWS, 1)
    with few_bytes_in_memory():
        last = items(one_large, bounded=True)[-1]
        unbounded = items(one_large, bounded=False)[-1]
    sets = [last.write_sets.items(index) for index in range(len(last.batch))]
    assert [(len(keys.exclusive), keys.barrier) for keys in sets] == [(0, True), (1, False)]
    assert [reason for reason, *_ in last.write_sets.fallbacks] == ["too many keys"]
    assert unbounded.write_sets.key_count == 2 * ROWS + 1
    assert not unbounded.write_sets.fallbacks


def rendered(log: Path, parts: list[Block]) -> list[tuple[str, bytes]]:
    """Return the table and the values of each row that the parts insert, in order."""
    renderer = PostgresRenderer()
    for table in next(item.schema for item in reversed(items(log, bounded=True)) if item.schema is not None):
        renderer.define(table, map_table(table))
    statements = [statement for part in parts for statement in renderer.render(part, sets=False)]
    return [(one.table, row) for one in statements for row in re.findall(rb"\([^()]*\)", one.sql.partition(b" VALUES ")[2])]


def test_pieces_hold_every_row_once_and_in_order(one_large: Path) -> None:
    whole = max(blocks(one_large), key=lambda block: block.rows)
    assert whole.pieces() == []
    with few_bytes_in_memory():
        pieces = max(blocks(one_large), key=lambda block: block.rows).pieces()
    assert len(pieces) > ROWS * 20 // FEW_BYTES
    rows = rendered(one_large, [whole])
    assert len(rows) == 2 * ROWS
    assert rendered(one_large, pieces) == rows
    assert all(len(rendered(one_large, [piece])) < 2 * ROWS for piece in pieces)
