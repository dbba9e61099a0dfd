"""Policy ``table``: a stream for each table (P2 of WL#4648)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.applier.schedule.policy.base import NOTHING, Needs, runs_statement

if TYPE_CHECKING:
    from paraply._native import Block

__all__ = ["TablePolicy"]

_KEPT = 4096


class TablePolicy:
    """Policy in which blocks of one table run one after the other, and blocks of different tables at the same time.

    A transaction of several tables stays whole and is part of each of their streams. Foreign keys between tables are respected by
    the write sets, as in every policy.
    """

    name = "table"
    merges = False
    optimistic = False
    splits = False
    early_rows = False

    def __init__(self) -> None:
        self._barrier = 0
        self._last: dict[str, int] = {}

    def needs(self, block: Block, committed: int) -> Needs:
        """Return the last block of each of the block's tables."""
        number = block.id
        if block.depends_on_all or runs_statement(block):
            self._barrier = number
            self._last.clear()
            return Needs(number - 1)
        tables = {table for transaction in block.transactions for table in transaction.tables}
        older = {self._last.get(table, 0) for table in tables}.union(block.depends_on)
        self._remember(tables, number, committed)
        barrier = self._barrier if self._barrier > committed else 0
        blocks = tuple(sorted(n for n in older if committed < n < number))
        return Needs(barrier, blocks) if barrier or blocks else NOTHING

    def _remember(self, tables: set[str], number: int, committed: int) -> None:
        if len(self._last) > _KEPT:
            self._last = {table: last for table, last in self._last.items() if last > committed}
        self._last.update(dict.fromkeys(tables, number))
