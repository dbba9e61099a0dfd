"""Use of this machine's CPUs by all processes."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from paraply.observe.cpu_ticks import STAT, cpu_ticks

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

__all__ = ["CpuTicks"]

_SECONDS = 0.05


class CpuTicks:
    """Sampling of the CPU ticks, twenty times a second, until the ``with`` block ends.

    A process needs a while to start. So its work is the last part of the block, and only that part is evaluated.
    """

    def __init__(self, stat: Path = STAT) -> None:
        self._stat = stat
        self._seen: list[tuple[float, int, int]] = []
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="paraply-bench-cpu", daemon=True)

    def __enter__(self) -> CpuTicks:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end.set()
        self._thread.join()
        self._note()

    def busy(self, seconds: float) -> float:
        """Return the share of all CPUs that was not idle in the last seconds of the block; 0 where the system does not report it."""
        if not self._seen:
            return 0.0
        ended, total, idle = self._seen[-1]
        _, total_before, idle_before = next(seen for seen in reversed(self._seen) if ended - seen[0] >= seconds or seen is self._seen[0])
        passed = total - total_before
        return 1 - (idle - idle_before) / passed if passed else 0.0

    def _watch(self) -> None:
        self._note()
        while not self._end.wait(_SECONDS):
            self._note()

    def _note(self) -> None:
        ticks = cpu_ticks(self._stat)
        if ticks is not None:
            self._seen.append((time.monotonic(), *ticks))
