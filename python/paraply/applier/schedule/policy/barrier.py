"""Policy ``barrier``: parallel until the first conflict (C2 of WL#4648)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.applier.schedule.policy.base import NOTHING, Needs, runs_statement

if TYPE_CHECKING:
    from paraply._native import Block

__all__ = ["BarrierPolicy"]


class BarrierPolicy:
    """Policy in which a block that conflicts with an uncommitted one waits for all older blocks.

    Younger blocks wait for the conflicting block; after it, blocks run at the same time again, up to the next conflict.
    """

    name = "barrier"
    merges = True
    optimistic = False
    splits = False
    early_rows = False

    def __init__(self) -> None:
        self._through = 0

    def needs(self, block: Block, committed: int) -> Needs:
        """Return all older blocks if the block conflicts, else the blocks that the last conflict had to wait for."""
        number = block.id
        if block.depends_on_all or runs_statement(block):
            self._through = number
            return Needs(number - 1)
        # Blocks up to the last conflict are committed before this one starts in any case.
        if any(n > max(self._through, committed) for n in block.depends_on):
            self._through = number - 1
        return Needs(self._through) if self._through > committed else NOTHING
