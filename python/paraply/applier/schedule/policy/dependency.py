"""The default policy: a block waits for exactly those that it conflicts with (C3 and C4 of WL#4648)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.applier.schedule.policy.base import NOTHING, Needs, runs_statement

if TYPE_CHECKING:
    from paraply._native import Block

__all__ = ["DependencyPolicy"]


class DependencyPolicy:
    """Waits for exactly the blocks that the block conflicts with, with merging.

    A barrier waits for all older blocks and holds all younger ones. Of a block that goes in by waves only the first one is asked for
    here: its worker waits for what the others need.
    """

    name = "dependency"
    merges = True
    optimistic = False
    splits = False
    in_waves = True

    def __init__(self) -> None:
        self._barrier = 0

    def needs(self, block: Block, committed: int) -> Needs:
        """The blocks that this one depends on, and the last barrier."""
        number = block.id
        if block.depends_on_all or runs_statement(block):
            self._barrier = number
            return Needs(number - 1)
        barrier = self._barrier if self._barrier > committed else 0
        if waves := block.waves:
            return Needs(max(barrier, waves[0]))
        older = block.depends_on
        if not older:
            return Needs(barrier) if barrier else NOTHING
        return Needs(barrier, tuple(n for n in older if committed < n < number))
