"""No conflict control at all: the last writer of a row wins by a timestamp column (C0 of WL#4648)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.applier.schedule.policy.base import LastBarrier, Needs, runs_statement

if TYPE_CHECKING:
    from paraply._native import Block

__all__ = ["UnorderedPolicy"]


class UnorderedPolicy:
    """Blocks start at once and commit when they are ready; only statements wait, and are waited for.

    Rows are written by key under the condition that the target's row is not newer. What meets on a key that is not the primary one is
    tried again when everything older is through, as an optimistic block is.
    """

    name = "unordered"
    merges = True
    optimistic = True
    splits = False
    in_waves = False

    def __init__(self) -> None:
        self._barrier = LastBarrier()

    def needs(self, block: Block, committed: int) -> Needs:
        """Nothing but the last statement."""
        return self._barrier.needs(block, committed, barrier=runs_statement(block))
