"""Parallel until the first conflict (C2 of WL#4648)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.applier.schedule.policy.base import NOTHING, Needs, runs_statement

if TYPE_CHECKING:
    from paraply._native import Block

__all__ = ["BarrierPolicy"]


class BarrierPolicy:
    """A block that conflicts with one under way waits for all older ones, and no younger one starts before that.

    From there on blocks start at the same time again, up to the next conflict.
    """

    name = "barrier"
    merges = True
    optimistic = False
    splits = False
    in_waves = False

    def __init__(self) -> None:
        self._through = 0

    def needs(self, block: Block, committed: int) -> Needs:
        """Everything older where the block conflicts, else whatever the last conflict had to wait for."""
        number = block.id
        if block.depends_on_all or runs_statement(block):
            self._through = number
            return Needs(number - 1)
        # Those up to the last conflict are through before this one starts in any case.
        if any(n > max(self._through, committed) for n in block.depends_on):
            self._through = number - 1
        return Needs(self._through) if self._through > committed else NOTHING
