"""Policy ``unordered``: no conflict control; the last writer of a row wins by a timestamp column (C0 of WL#4648)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.applier.schedule.policy.base import LastBarrier, Needs, runs_statement

if TYPE_CHECKING:
    from paraply._native import Block

__all__ = ["UnorderedPolicy"]


class UnorderedPolicy:
    """Policy in which blocks start at once and commit when ready; only statements wait for older blocks, and younger ones for them.

    Rows are written by primary key, on the condition that the target's row is not newer. A conflict on another key is tried again
    after all older blocks are committed, as in policy ``optimistic``.
    """

    name = "unordered"
    merges = True
    optimistic = True
    splits = False
    early_rows = False

    def __init__(self) -> None:
        self._barrier = LastBarrier()

    def needs(self, block: Block, committed: int) -> Needs:
        """Return the last statement only."""
        return self._barrier.needs(block, committed, barrier=runs_statement(block))
