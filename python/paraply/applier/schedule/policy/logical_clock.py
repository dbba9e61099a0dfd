"""Policy by the numbers that the source stamped (MySQL's own rule)."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from paraply.applier.schedule.policy.base import Needs, runs_statement
from paraply.errors import UsageError

if TYPE_CHECKING:
    from paraply._native import Block

__all__ = ["LogicalClockPolicy"]


class LogicalClockPolicy:
    """Policy with MySQL's rule: a block starts when every transaction numbered up to ``last_committed`` is committed.

    After a new file, (0,0) or a number that does not grow, all workers finish and a new count starts; (0,0) and statements run alone.
    """

    name = "logical-clock"
    merges = False
    optimistic = False
    splits = False
    early_rows = False

    def __init__(self) -> None:
        self._barrier = 0
        self._file: str | None = None
        self._numbers: list[int] = []
        self._ids: list[int] = []

    def needs(self, block: Block, committed: int) -> Needs:
        """Return the newest block of the same count whose number is at most the block's ``last_committed``."""
        last_committed, number = block.last_committed, block.sequence_number
        if last_committed is None or number is None:
            raise UsageError(
                "policy logical-clock needs a log whose transactions carry last_committed and sequence_number; use --policy dependency",
                file=block.file,
                position=block.offset,
                gtid=block.first_gtid,
            )
        unstamped = number <= 0
        if unstamped or block.file != self._file or (self._numbers and number <= self._numbers[-1]):
            self._start_over(block)
        else:
            self._forget(committed)
        if unstamped or block.depends_on_all or runs_statement(block):
            self._barrier = block.id
        if self._barrier == block.id:
            needed = block.id - 1
        else:
            place = bisect_right(self._numbers, last_committed)
            needed = max(self._barrier, self._ids[place - 1] if place else 0)
        if not unstamped:
            self._numbers.append(number)
            self._ids.append(block.id)
        return Needs(needed)

    def _start_over(self, block: Block) -> None:
        """Start a new count: everything before this block must be committed before this block and all later ones."""
        self._file = block.file
        self._numbers.clear()
        self._ids.clear()
        self._barrier = block.id - 1

    def _forget(self, committed: int) -> None:
        """Drop the numbers of committed blocks, except the newest one, which shows that numbers grow."""
        gone = min(bisect_right(self._ids, committed), len(self._ids) - 1)
        if gone > 256:
            del self._numbers[:gone], self._ids[:gone]
