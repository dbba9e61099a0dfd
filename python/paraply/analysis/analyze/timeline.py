"""The simulated schedule as a timeline for Perfetto."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply._native import Setup
from paraply.errors import ParaplyError
from paraply.observe.timeline import Timeline

if TYPE_CHECKING:
    from pathlib import Path

    from paraply._native import Costs, Recording
    from paraply.analysis.analyze.result import Explanation

__all__ = ["write_timeline"]

MOST_TRANSACTIONS = 100_000
"""Transactions that a timeline shows, from the first one on."""


def write_timeline(recording: Recording, costs: Costs, explanation: Explanation, path: Path) -> None:
    """Write the schedule whose lost time is divided: a track for each worker.

    Raises:
        UsageError: The file cannot be made, or exists and is not a timeline.
        ParaplyError: The file cannot be written to its end; it is removed.
    """
    setup = Setup(explanation.applier, explanation.workers, costs, numbers=explanation.numbers, ordered=explanation.ordered)
    with Timeline(path, f"paraply analyze: {explanation.applier}") as timeline:
        zero = timeline.zero
        for worker in range(explanation.workers):
            timeline.name_track(worker, f"worker {worker + 1}")
        for slot in recording.schedule(setup, 0, MOST_TRANSACTIONS):
            start, applied, commit, end = (zero + time / 1e9 for time in (slot.start, slot.applied, slot.commit, slot.end))
            found = recording.transaction(slot.first)
            details = {"gtid": found.gtid, "rows": found.rows, "bytes": found.bytes, "position": f"{found.file}:{found.position}"}
            timeline.slice(slot.worker, "apply", start, applied, details)
            if commit > applied:
                timeline.slice(slot.worker, "waiting to commit", applied, commit)
            timeline.slice(slot.worker, "commit", commit, end)
    if timeline.problem is not None:
        path.unlink(missing_ok=True)
        advice = "no partial file is left: free some space, or name a file elsewhere"
        raise ParaplyError(f"--trace {timeline.problem}; {advice}", file=str(path))
