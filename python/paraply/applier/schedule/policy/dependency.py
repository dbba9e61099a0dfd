"""The default policy: a block waits for exactly the blocks that it conflicts with (C3 and C4 of WL#4648)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.applier.schedule.policy.base import NOTHING, Needs, runs_statement

if TYPE_CHECKING:
    from paraply._native import Block

__all__ = ["DependencyPolicy"]


class DependencyPolicy:
    """Policy in which a block waits for exactly the blocks that it conflicts with; it merges.

    A barrier waits for all older blocks, and all younger blocks wait for it. For a block with early rows only their needs count
    here; its worker waits for the needs of the other rows.
    """

    name = "dependency"
    merges = True
    optimistic = False
    splits = False
    early_rows = True

    def __init__(self) -> None:
        self._barrier = 0

    def needs(self, block: Block, committed: int) -> Needs:
        """Return the blocks that this one depends on, and the last barrier."""
        number = block.id
        if block.depends_on_all or runs_statement(block):
            self._barrier = number
            return Needs(number - 1)
        barrier = self._barrier if self._barrier > committed else 0
        if steps := block.steps:
            return Needs(max(barrier, steps[0]))
        older = block.depends_on
        if not older:
            return Needs(barrier) if barrier else NOTHING
        return Needs(barrier, tuple(n for n in older if committed < n < number))
