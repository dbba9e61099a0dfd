"""Sums over several blocks agree with the blocks' own values."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

import pytest
from server.native_blocks import read_blocks

from paraply._native import Block, GtidSet, KnownTables, Ledger, whole_statement

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Truth = Callable[[str], Path]

LOGS = ("mysql-binlog/minimal-image.binlog", "mariadb-binlog/plain.binlog", "mariadb-binlog/compressed.binlog")


@pytest.fixture(params=[(log, merge) for log in LOGS for merge in (1, 8)])
def blocks(request: pytest.FixtureRequest, truth: Truth) -> list[Block]:
    """Return the blocks of a log, single transactions or merged."""
    log, merge = request.param
    return [*read_blocks(truth(log), merge)][:400]


def test_sums(blocks: list[Block]) -> None:
    sums = Block.sums(blocks)
    assert sums.transactions == sum(block.transaction_count for block in blocks)
    assert (sums.rows, sums.skipped) == (sum(block.rows for block in blocks), sum(block.skipped for block in blocks))
    assert sums.filtered == 0
    assert sums.merged == sum(block.transaction_count for block in blocks if block.transaction_count > 1)
    assert sums.gtids == reduce(or_, (block.gtids for block in blocks))
    assert Block.sums([]).transactions == 0


def test_tables_are_known_when_a_block_with_them_was_added(blocks: list[Block]) -> None:
    known, first = KnownTables(), next(place for place, block in enumerate(blocks) if block.kind == "dml")
    rows = blocks[first:]
    assert known.leading(rows) == 0
    known.add(rows[0])
    assert known.leading(rows[:1]) == 1
    for block in rows:
        known.add(block)
    assert known.leading(rows) == next((place for place, block in enumerate(rows) if block.kind != "dml"), len(rows))
    assert known.leading(blocks[:1]) == (blocks[0].kind == "dml")
    known.clear()
    assert known.leading(rows) == 0


def test_r25_a_ledger_takes_many_as_one_after_the_other(blocks: list[Block]) -> None:
    together, single = Ledger(GtidSet("")), Ledger(GtidSet(""))
    texts = []
    for block in blocks:
        texts += single.texts([block])
        single.acknowledge([block])
    assert together.texts(blocks) == texts
    together.acknowledge(blocks)
    assert str(together.executed()) == str(single.executed()) == texts[-1]


def test_r25a_a_merged_block_and_a_statement_are_no_single_statement_of_rows(blocks: list[Block]) -> None:
    for block in blocks:
        made = whole_statement(block, "", "c", 1, 1, 1 << 24)
        assert (made is not None) == (block.kind == "dml" and block.transaction_count == 1), block
        assert whole_statement(block, "", "c", 1, 1, 100) is None
