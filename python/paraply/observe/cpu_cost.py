"""CPU time of a run by stage: what paraply itself spends for each row change."""

from __future__ import annotations

from dataclasses import dataclass, field

from paraply._native import stage_cpu
from paraply.cpu_time import ThreadKind, process_seconds, thread_seconds

__all__ = ["STAGES", "CpuCost", "CpuMeter"]

STAGES = ("read", "decode", "hash", "plan", "render", "send", "wait", "watch")
"""Stages in the order of a row's way. ``wait`` is the rest of the threads that read, hand out and apply: taking jobs and turns, and Python
between two stages. ``watch`` is the lock watchdog, the status row and the search for a stop, which take the same time every second."""
_NATIVE = STAGES[:6]


@dataclass(frozen=True, slots=True)
class CpuCost:
    """CPU seconds of a run.

    Attributes:
        process: CPU time of the process so far, of all its threads.
        start: CPU time before the run: the interpreter, the imports, and the preflight.
        stages: CPU time of each stage.
        threads: CPU time of each kind of thread, in all its stages.
        rows: Row changes.
    """

    process: float = 0.0
    start: float = 0.0
    stages: dict[str, float] = field(default_factory=dict)
    threads: dict[ThreadKind, float] = field(default_factory=dict)
    rows: int = 0

    @property
    def other(self) -> float:
        """CPU time that belongs to no stage, such as that of the progress bar and of the end of the run."""
        return max(0.0, self.process - self.start - sum(self.stages.values()))

    def per_million(self, seconds: float) -> float:
        """Return CPU seconds for a million row changes; 0 without rows.

        >>> CpuCost(rows=200_000).per_million(0.5)
        2.5
        """
        return seconds / self.rows * 1e6 if self.rows else 0.0

    def as_json(self) -> dict[str, object]:
        """Return the fields of a report: seconds, and seconds for a million row changes.

        >>> CpuCost(1.0, 0.4, {"hash": 0.5}, {}, 1_000_000).as_json()["per_million_rows"]
        {'hash': 0.5, 'all': 0.5}
        """
        per_million = {name: round(self.per_million(spent), 3) for name, spent in self.stages.items()}
        return {
            "process": round(self.process, 3),
            "start": round(self.start, 3),
            "other": round(self.other, 3),
            "stages": {name: round(spent, 4) for name, spent in self.stages.items()},
            "threads": {name: round(spent, 4) for name, spent in self.threads.items()},
            "per_million_rows": per_million | {"all": round(self.per_million(sum(self.stages.values())), 3)},
        }


class CpuMeter:
    """Meter of one run, from its making on. Two runs in one process at the same time count each other's stages too."""

    def __init__(self) -> None:
        self._start = process_seconds()
        self._stages = stage_cpu()
        self._threads = thread_seconds()

    def cost(self, rows: int) -> CpuCost:
        """Return the run's CPU time so far; the time of a thread counts once it has ended."""
        now = stage_cpu()
        stages = {name: now[name] - self._stages[name] for name in _NATIVE}
        threads = {kind: spent - self._threads[kind] for kind, spent in thread_seconds().items()}
        watch = threads["watcher"]
        stages["wait"] = max(0.0, sum(threads.values()) - watch - sum(stages.values()))
        return CpuCost(process_seconds(), self._start, stages | {"watch": watch}, threads, rows)
