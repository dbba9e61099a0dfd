"""Concurrency limit: the number of busy workers, where the target is on this machine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from paraply.observe.cpu_ticks import cpu_ticks

if TYPE_CHECKING:
    from collections.abc import Callable

    from paraply.targets.protocol import Target

__all__ = ["ConcurrencyLimit", "IdleShare", "concurrency_limit_of"]

_FEWEST = 2
"""One worker commits while another one applies."""
_IDLE = 0.3
_BUSY = 0.1


class IdleShare:
    """Share of the machine's time that was idle since the last call; waiting for a disk counts as idle.

    Args:
        ticks: Returns all ticks so far and the idle ones; None where the system does not report them.

    >>> ticks = iter([(100, 90), (200, 130)])
    >>> IdleShare(lambda: next(ticks))()
    0.4
    """

    def __init__(self, ticks: Callable[[], tuple[int, int] | None] = cpu_ticks) -> None:
        self._ticks = ticks
        self._last = ticks()

    def __call__(self) -> float | None:
        """Return the share, from 0 to 1; None if it is unknown or no time has passed."""
        before, self._last = self._last, self._ticks()
        if before is None or self._last is None:
            return None
        passed, idle = self._last[0] - before[0], self._last[1] - before[1]
        return min(1.0, max(0.0, idle / passed)) if passed > 0 else None


class ConcurrencyLimit:
    """Concurrency limit: the number of workers that keeps the machine busy.

    A merged block keeps a core of the target busy for milliseconds. More such blocks than cores wait for each other's latches, and
    the server needs up to a fifth more time for the same rows. Where the machine has idle time, because the target waits for its disk
    or is really on another machine, the limit rises, up to all workers.

    Args:
        workers: Number of workers.
        cores: Cores of the machine that target and workers share.
        idle: Returns the idle share of the machine's time since the last call; None if unknown.

    >>> shares = iter([0.05, 0.5, 0.5, 0.2, 0.0])
    >>> concurrency = ConcurrencyLimit(8, cores=2, idle=lambda: next(shares))
    >>> concurrency.most, [concurrency.adjust(held_back=True) for _ in range(5)]
    (2, [2, 4, 8, 8, 7])
    """

    def __init__(self, workers: int, cores: int, idle: Callable[[], float | None]) -> None:
        self._workers = workers
        self._fewest = min(workers, max(_FEWEST, cores))
        self._idle = idle
        self.most = self._fewest

    def adjust(self, *, held_back: bool) -> int:
        """Compute the limit anew; called a few times a second.

        Args:
            held_back: True if the limit kept a job from starting since the last call.
        """
        idle = self._idle()
        if idle is None:
            self.most = self._workers
        elif idle > _IDLE and held_back:
            self.most = min(self._workers, 2 * self.most)
        elif idle < _BUSY:
            self.most = max(self._fewest, self.most - 1)
        return self.most


def concurrency_limit_of(target: Target, workers: int) -> ConcurrencyLimit | None:
    """Return the concurrency limit of a run that merges; None if all workers may be busy."""
    if not target.is_local or not hasattr(os, "sched_getaffinity"):
        return None
    return ConcurrencyLimit(workers, len(os.sched_getaffinity(0)), IdleShare())
