"""How many workers are at work at once, where the target is on this machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from paraply.target.base import Target

__all__ = ["Hands", "IdleShare", "hands_of"]

_FEWEST = 2
"""While one commits, another one applies."""
_IDLE = 0.3
_BUSY = 0.1


class IdleShare:
    """Which share of the machine's time was idle since the last look, by Linux's ``/proc/stat``; waiting for a disk is idle.

    Args:
        stat: The file.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     stat = Path(folder) / "stat"
    ...     _ = stat.write_text("cpu  10 0 0 80 10 0 0 0 0 0")
    ...     share = IdleShare(stat)
    ...     _ = stat.write_text("cpu  70 0 0 100 30 0 0 0 0 0")
    ...     share()
    0.4
    """

    def __init__(self, stat: Path = Path("/proc/stat")) -> None:
        self._stat = stat
        self._last = self._read()

    def __call__(self) -> float | None:
        """The share, from 0 to 1; None where it is not told, or nothing has passed."""
        before, self._last = self._last, self._read()
        if before is None or self._last is None:
            return None
        idle, total = self._last[0] - before[0], self._last[1] - before[1]
        return min(1.0, max(0.0, idle / total)) if total > 0 else None

    def _read(self) -> tuple[int, int] | None:
        """Idle and all time, in the system's ticks."""
        try:
            words = self._stat.read_text().split(None, 9)
            times = [int(word) for word in words[1:9]]
        except (OSError, ValueError):
            return None
        return (times[3] + times[4], sum(times)) if len(times) > 4 else None


class Hands:
    """The most workers that are at work at once: as many as keep the machine busy.

    A merged block keeps a core of the target busy for milliseconds. More of them at once than there are cores wait for each other's
    latches and take time from each other, and the server needs up to a fifth more time for the same rows. Where the machine has time
    left, because the target waits for its disk or is further away than it seems, more workers are let in, up to all of them.

    Args:
        workers: Number of workers.
        cores: Cores of the machine that target and workers share; None for no limit.
        idle: Which share of the machine's time was idle since it was last asked; None where that is not known.

    >>> shares = iter([0.05, 0.5, 0.5, 0.2, 0.0])
    >>> hands = Hands(8, cores=2, idle=lambda: next(shares))
    >>> hands.most, [hands.look(held_back=True) for _ in range(5)]
    (2, [2, 4, 8, 8, 7])
    >>> Hands(8).most
    8
    """

    def __init__(self, workers: int, cores: int | None = None, idle: Callable[[], float | None] | None = None) -> None:
        self._workers = workers
        self._fewest = workers if cores is None or idle is None else min(workers, max(_FEWEST, cores))
        self._idle = idle
        self.most = self._fewest

    @property
    def is_limited(self) -> bool:
        """Whether fewer than all workers may be the most."""
        return self._fewest < self._workers

    def look(self, *, held_back: bool) -> int:
        """Finds the number anew; a few times a second.

        Args:
            held_back: Whether a job that might have started had to wait for a hand since the last look.
        """
        idle = self._idle() if self.is_limited and self._idle is not None else None
        if idle is None:
            self.most = self._workers if self.is_limited else self.most
        elif idle > _IDLE and held_back:
            self.most = min(self._workers, 2 * self.most)
        elif idle < _BUSY:
            self.most = max(self._fewest, self.most - 1)
        return self.most


def hands_of(target: Target, workers: int) -> Hands:
    """The hands of a run that merges."""
    share = IdleShare() if target.is_local else None
    if share is None or not hasattr(os, "sched_getaffinity"):
        return Hands(workers)
    return Hands(workers, len(os.sched_getaffinity(0)), share)
