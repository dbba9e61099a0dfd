"""Number of transactions that become one commit (C4 of WL#4648)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from paraply.applier.schedule.concurrency_limit import ConcurrencyLimit

__all__ = ["MAX_BLOCK_BYTES", "MergeSize", "may_merge"]

MAX_BLOCK_BYTES = 256 * 1024
"""Bytes of log after which a block is full."""

_BLOCKS_PER_WORKER = 2


def may_merge(merge: Literal["auto", "off"] | int, workers: int) -> bool:
    """Return True if transactions may become one commit; inline (0 workers) only if a number is given (R22).

    >>> may_merge("auto", 8), may_merge("auto", 0), may_merge(7, 0), may_merge("off", 8)
    (True, False, True, False)
    """
    return merge > 1 if isinstance(merge, int) else merge == "auto" and workers > 0


class MergeSize:
    """Number K of consecutive transactions that may become one commit.

    Automatic merging leaves at least two blocks of the backlog for every worker that may be busy. So a deep backlog is merged up to
    the limit that pays at the target (``Target.most_merged``), and a stream without a backlog is not merged at all.

    Args:
        merge: ``auto``, ``off`` or a fixed number.
        workers: Number of workers.
        most: Most transactions that automatic merging makes one commit.
        allowed: True if policy and target merge at all.
        concurrency: Concurrency limit; by default all workers may be busy.

    >>> size = MergeSize("auto", workers=8, most=128)
    >>> size.next(backlog=10), size.next(backlog=100), size.next(backlog=100_000)
    (1, 6, 128)
    """

    def __init__(
        self,
        merge: Literal["auto", "off"] | int,
        workers: int,
        *,
        most: int,
        allowed: bool = True,
        concurrency: ConcurrencyLimit | None = None,
    ) -> None:
        self._workers = workers
        self._most = most
        self._concurrency = concurrency
        merges = allowed and may_merge(merge, workers)
        self._automatic = merges and merge == "auto"
        self.current = merge if merges and isinstance(merge, int) else 1

    def next(self, backlog: int) -> int:
        """Return K for the next batch.

        Args:
            backlog: Transactions that are read and not handed out yet, including those of the batch.
        """
        if self._automatic:
            at_work = self._workers if self._concurrency is None else self._concurrency.most
            self.current = max(1, min(self._most, backlog // (_BLOCKS_PER_WORKER * at_work)))
        return self.current
