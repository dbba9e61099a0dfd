"""What every scheduling policy answers (R21)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from paraply._native import Block

__all__ = ["NOTHING", "LastBarrier", "Needs", "Policy", "runs_statement"]


class Needs(NamedTuple):
    """What must be committed before a block may start.

    Attributes:
        up_to: Every block up to this id; 0 for none.
        blocks: And these blocks, whatever else is under way.
    """

    up_to: int = 0
    blocks: tuple[int, ...] = ()


NOTHING = Needs()
"""The block may start at once."""


class LastBarrier:
    """Blocks that start at once, but for barriers, which wait for everything older and which everything younger waits for."""

    def __init__(self) -> None:
        self._block = 0

    def needs(self, block: Block, committed: int, *, barrier: bool) -> Needs:
        """What the next block needs.

        Args:
            block: The block.
            committed: The low-water mark now.
            barrier: Whether it is one.
        """
        if barrier:
            self._block = block.id
            return Needs(block.id - 1)
        return Needs(self._block) if self._block > committed else NOTHING


class Policy(Protocol):
    """Decides when a block may start; asked once for each block, in the source's order."""

    @property
    def name(self) -> str:
        """As ``--policy`` names it."""

    @property
    def merges(self) -> bool:
        """Whether blocks may hold several transactions."""

    @property
    def optimistic(self) -> bool:
        """Whether blocks start although they may conflict with older ones, so that an error may be such a conflict."""

    @property
    def in_waves(self) -> bool:
        """Whether the rows of a block may go in before others of it, each as soon as what it needs is committed."""

    @property
    def splits(self) -> bool:
        """Whether large transactions are applied on several connections and committed in two phases."""

    def needs(self, block: Block, committed: int) -> Needs:
        """What must be committed before this block starts.

        Args:
            block: The next block of the source's order.
            committed: The low-water mark now.

        Raises:
            UsageError: The policy cannot decide about this log.
        """


def runs_statement(block: Block) -> bool:
    """Whether the block commits by itself: DDL and XA take their turn before they execute (R19, R35)."""
    return block.kind in ("ddl", "xa_prepare", "xa_end")
