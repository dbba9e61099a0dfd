"""The interface of a scheduling policy (R21)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from paraply._native import Block

__all__ = ["NOTHING", "LastBarrier", "Needs", "Policy", "runs_statement"]


class Needs(NamedTuple):
    """Blocks that must be committed before a block may start.

    Attributes:
        up_to: Every block up to this id; 0 for none.
        blocks: Further blocks, by id.
    """

    up_to: int = 0
    blocks: tuple[int, ...] = ()


NOTHING = Needs()
"""No needs: the block may start at once."""


class LastBarrier:
    """Rule in which only barriers wait: each waits for all older blocks, and all younger blocks wait for it."""

    def __init__(self) -> None:
        self._block = 0

    def needs(self, block: Block, committed: int, *, barrier: bool) -> Needs:
        """Return the needs of the next block.

        Args:
            block: The block.
            committed: The low-water mark now.
            barrier: True if the block is a barrier.
        """
        if barrier:
            self._block = block.id
            return Needs(block.id - 1)
        return Needs(self._block) if self._block > committed else NOTHING


class Policy(Protocol):
    """Policy that decides when a block may start; called once for each block, in the source's order."""

    @property
    def name(self) -> str:
        """Name in ``--policy``."""

    @property
    def merges(self) -> bool:
        """True if blocks may contain several transactions."""

    @property
    def optimistic(self) -> bool:
        """True if blocks start although they may conflict with older ones, so that an error may be such a conflict."""

    @property
    def early_rows(self) -> bool:
        """True if the rows of a block may be applied at different times, each as soon as its needs are committed."""

    @property
    def splits(self) -> bool:
        """True if large transactions are applied on several connections and committed in two phases."""

    def needs(self, block: Block, committed: int) -> Needs:
        """Return the blocks that must be committed before this block starts.

        Args:
            block: The next block of the source's order.
            committed: The low-water mark now.

        Raises:
            UsageError: The policy cannot decide about this log.
        """


def runs_statement(block: Block) -> bool:
    """Return True if the block commits by itself: DDL and XA take their turn before they execute (R19, R35)."""
    return block.kind in ("ddl", "xa_prepare", "xa_end")
