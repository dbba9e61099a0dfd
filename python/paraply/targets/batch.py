"""Sessions that apply and commit several blocks in one call, without returning to the scheduler between two of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from paraply.targets.protocol import Session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paraply._native import Block
    from paraply.errors import ParaplyError

__all__ = ["SMALL_BLOCK", "BatchOutcome", "BatchSession"]

SMALL_BLOCK = 8 * 1024
"""Largest block, in bytes of the log, that may join a batch. For a larger block, the time between two blocks does not matter."""


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """The result of applying a batch.

    Attributes:
        done: Number of committed blocks, counted from the first one.
        error: Error of the next block; None if that block was not tried.
        committing: True if the failed block's commit was already sent.
    """

    done: int
    error: ParaplyError | None = None
    committing: bool = False


class BatchSession(Session, Protocol):
    """A session that accepts several blocks at once. Its target reports this with ``takes_batch``."""

    @property
    def commits_at_once(self) -> bool:
        """True if a block that fits a batch is one statement, so that a batch of a single block is worth it."""

    def apply_and_commit(self, blocks: Sequence[Block]) -> BatchOutcome:
        """Apply and commit the blocks one by one; stop at the first block that fails or does not fit.

        Each block is a transaction of its own. A failed block leaves the session as ``apply`` or ``commit`` would leave it.
        """
