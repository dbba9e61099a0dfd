"""Sessions that apply and commit several blocks one after the other, with nothing asked of anybody in between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from paraply.targets.protocol import Session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paraply._native import Block
    from paraply.errors import ParaplyError

__all__ = ["SMALL_BLOCK", "SeriesOutcome", "SeriesSession"]

SMALL_BLOCK = 8 * 1024
"""Bytes of the log up to which a block is worth a place in a series: others take longer than what is between two of them."""


@dataclass(frozen=True, slots=True)
class SeriesOutcome:
    """How far a series came.

    Attributes:
        done: Blocks that are committed, from the first one on.
        error: Why the next one is not; None where it was not tried.
        committing: Whether its commit was sent, as opposed to its rows.
    """

    done: int
    error: ParaplyError | None = None
    committing: bool = False


class SeriesSession(Session, Protocol):
    """A session that may be handed several blocks at once. Its target says so by ``Capabilities.takes_batches``."""

    @property
    def commits_at_once(self) -> bool:
        """Whether a block that fits a series takes one statement, so that even one alone is worth a series."""

    def apply_and_commit(self, blocks: Sequence[Block]) -> SeriesOutcome:
        """Applies and commits blocks as ``apply`` and ``commit`` do, each by itself; ends at the first one that fails or does not fit.

        What fails is left as ``apply`` or ``commit`` would leave it.
        """
