"""Policy ``optimistic``: start everything, commit in order, and detect conflicts by locks and errors (C1 of WL#4648)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.applier.schedule.policy.base import LastBarrier, Needs, runs_statement

if TYPE_CHECKING:
    from paraply._native import Block

__all__ = ["OptimisticPolicy"]


class OptimisticPolicy:
    """Policy in which blocks start at once and commit in order; of two that conflict, the younger rolls back and is applied again.

    Correctness: both blocks change a row, or one changes a row that the other one's foreign key needs. The first one holds the lock
        until it has committed, and the younger commits last. So there are three cases: the older was first; or it waits for a lock of the
        younger, which then rolls back (R24); or the younger failed because a row was missing, and is applied again in its turn. Barriers
        stay barriers: DDL commits by itself, and for a transaction without known keys no lock shows its conflicts.
    """

    name = "optimistic"
    merges = True
    optimistic = True
    splits = False
    early_rows = False

    def __init__(self) -> None:
        self._barrier = LastBarrier()

    def needs(self, block: Block, committed: int) -> Needs:
        """Return the last barrier only."""
        return self._barrier.needs(block, committed, barrier=block.depends_on_all or runs_statement(block))
