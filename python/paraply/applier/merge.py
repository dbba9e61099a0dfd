"""How many transactions become one commit (C4 of WL#4648)."""

from __future__ import annotations

from typing import Literal

__all__ = ["MAX_BLOCK_BYTES", "MAX_MERGE", "MergeSize"]

MAX_MERGE = 128
"""Most transactions that automatic merging puts into one block."""

MAX_BLOCK_BYTES = 256 * 1024
"""Bytes of log after which a block is full."""

_BLOCKS_FOR_EACH_WORKER = 2


class MergeSize:
    """K, the number of consecutive transactions that may become one commit.

    Automatic: as many as leave two blocks for every worker out of the backlog, so that a deep backlog is merged up to 128 and a
    stream that is kept up with is not merged at all.

    Args:
        merge: ``auto``, ``off`` or a fixed number.
        workers: Number of workers; inline (0) means one commit for each transaction unless a number is given (R22).
        allowed: Whether policy and target merge at all.

    >>> size = MergeSize("auto", workers=8)
    >>> size.next(backlog=10), size.next(backlog=100), size.next(backlog=100_000)
    (1, 6, 128)
    """

    def __init__(self, merge: Literal["auto", "off"] | int, workers: int, *, allowed: bool = True) -> None:
        self._workers = workers
        fixed = merge if isinstance(merge, int) else 1
        self._automatic = merge == "auto" and allowed and workers > 0
        self._fixed = fixed if allowed else 1
        self.current = self._fixed

    def next(self, backlog: int) -> int:
        """K for the next batch.

        Args:
            backlog: Transactions that are read and not handed out yet, those of the batch too.
        """
        if self._automatic:
            self.current = max(1, min(MAX_MERGE, backlog // (_BLOCKS_FOR_EACH_WORKER * self._workers)))
        return self.current
