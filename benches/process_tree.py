"""Memory and CPU time of this process and all of its children."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import defaultdict
from collections.abc import Collection
from pathlib import Path

__all__ = ["PeakMemory", "processor_seconds"]


class PeakMemory:
    """Sampler of the memory of the process tree: the sum of proportional set sizes, in which shared pages count once.

    Args:
        interval: Seconds between two samples.
        without: Processes that are left out.
    """

    def __init__(self, interval: float = 0.25, without: Collection[int] = ()) -> None:
        self._interval = interval
        self._without = without
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.peak = 0
        """Highest sum so far, in bytes."""

    def __enter__(self) -> PeakMemory:
        self._thread.start()
        return self

    def restart(self) -> None:
        """Forget the peak so far."""
        self.peak = 0

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(self._interval):
            self.peak = max(self.peak, sum(proportional(process) for process in tree(os.getpid()) if process not in self._without))


def tree(root: int) -> list[int]:
    """Return a process and its descendants."""
    children: dict[int, list[int]] = defaultdict(list)
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
        children[parent].append(int(folder.name))
    found, waiting = [], [root]
    while waiting:
        process = waiting.pop()
        found.append(process)
        waiting += children[process]
    return found


def proportional(process: int) -> int:
    """Return the bytes of one process; 0 if it has ended."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


def processor_seconds() -> float:
    """Return the CPU time of this process and its descendants so far, with those that have ended and were waited for."""
    ticks = 0
    for process in tree(os.getpid()):
        with contextlib.suppress(OSError):
            ticks += sum(map(int, Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")
