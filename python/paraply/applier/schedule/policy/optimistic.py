"""Start everything, commit in order, and let conflicts show themselves (C1 of WL#4648)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.applier.schedule.policy.base import LastBarrier, Needs, runs_statement

if TYPE_CHECKING:
    from paraply._native import Block

__all__ = ["OptimisticPolicy"]


class OptimisticPolicy:
    """Blocks start at once and commit in order; where two conflict, the younger rolls back and is applied again.

    Why that is right: both blocks change a row, or one changes a row that the other one's foreign key needs. Whichever comes
    first holds its lock until it has committed, and the younger commits last. So either the older was first, or it waits for a
    lock of the younger, which then gives way (R24), or the younger failed on what it did not find, and is applied again in its
    turn. Barriers stay barriers: DDL commits by itself, and what a transaction without known keys conflicts with no lock shows.
    """

    name = "optimistic"
    merges = True
    optimistic = True
    splits = False
    in_waves = False

    def __init__(self) -> None:
        self._barrier = LastBarrier()

    def needs(self, block: Block, committed: int) -> Needs:
        """Nothing but the last barrier."""
        return self._barrier.needs(block, committed, barrier=block.depends_on_all or runs_statement(block))
