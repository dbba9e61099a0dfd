"""Schedules in a form that a page can hold: shares of time by worker, and the exact times of the first transactions."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from paraply._native import Setup
from paraply.analysis.analyze.capacity import settle
from paraply.analysis.analyze.words import scheduler_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from paraply._native import Costs, Recording, ScheduleSlot
    from paraply.analysis.analyze.costs import CostModel

__all__ = ["STATES", "Scheduler", "Sweep", "slots_of", "sweep", "transactions_of"]

STATES = ("apply", "waiting to commit", "commit")
"""States of a worker that has a transaction."""

MOST_BINS = 2048
MOST_CELLS = 32_768
"""Spans of a schedule, and spans of all workers together."""

_CHUNK = 250_000


@dataclass(frozen=True, slots=True)
class Scheduler:
    """Simulated applier whose schedule is shown.

    Attributes:
        applier: The applier.
        numbers: Numbers by which it schedules.
        workers: Number of its workers.
    """

    applier: str
    numbers: str
    workers: int

    def __str__(self) -> str:
        """Return its name.

        >>> str(Scheduler("mysql", "fine", 64))
        "MySQL with keys' numbers, 64 workers"
        """
        return f"{scheduler_name(self.applier, self.numbers)}, {self.workers} workers"

    def setup(self, costs: Costs) -> Setup:
        """Return its simulation, with commits in order."""
        return Setup(self.applier, self.workers, costs, numbers=self.numbers)


@dataclass(frozen=True, slots=True)
class Sweep:
    """Schedule in equal spans of time.

    Attributes:
        name: Name of the applier.
        total_ns: Time until everything is committed.
        cells: Nanoseconds of each worker in each span, by state.
        ends: Time at which the transactions below each bound are committed.
        first: The first transactions or blocks.
        later_ns: Time at which the first of the other ones begins; the total if there are none.
    """

    name: str
    total_ns: int
    cells: list[list[list[float]]]
    ends: list[int]
    first: list[ScheduleSlot]
    later_ns: int

    @property
    def width(self) -> float:
        """Nanoseconds of a span."""
        return self.total_ns / len(self.cells[0][0])

    def busy_workers(self) -> list[float]:
        """Return the mean number of workers that apply or commit between each two bounds."""
        busy = [state for applying, _, committing in self.cells for state in (applying, committing)]
        until = [0.0, *accumulate(map(sum, zip(*busy, strict=True)))]
        times = [0, *self.ends]
        totals = [between(until, time / (self.width or 1.0)) for time in times]
        return [
            (totals[place + 1] - totals[place]) / (times[place + 1] - times[place]) if times[place + 1] > times[place] else 0.0
            for place in range(len(self.ends))
        ]

    def shares(self) -> list[tuple[float, float, float]]:
        """Return for each worker the shares of the time in which it has each state."""
        total = max(1, self.total_ns)
        return [(sum(lane[0]) / total, sum(lane[1]) / total, sum(lane[2]) / total) for lane in self.cells]

    def as_json(self, most: int) -> dict[str, Any]:
        """Return the schedule for the page: microseconds, and shares of each span in hundredths.

        Args:
            most: Most transactions with exact times.
        """
        width = self.width or 1.0
        until = min((slot.start for slot in self.first if slot.first >= most), default=self.later_ns)
        return {
            "name": self.name,
            "workers": len(self.cells),
            "total": max(1, self.total_ns // 1000),
            "cells": [[[round(100 * part / width) for part in state] for state in lane] for lane in self.cells],
            "slots": slots_of(self.first, most),
            "exact_until": max(1, min(until, self.later_ns) // 1000),
        }


def between(until: Sequence[float], place: float) -> float:
    """Return a running sum at a place between two of its numbers.

    >>> between([0, 10, 30], 1.5)
    20.0
    """
    whole = min(int(place), len(until) - 2)
    return until[whole] + (until[whole + 1] - until[whole]) * min(1.0, place - whole)


def sweep(recording: Recording, model: CostModel, scheduler: Scheduler, bounds: Sequence[int], most: int) -> Sweep:
    """Run through a schedule once.

    Args:
        recording: The recorded log.
        model: The cost model.
        scheduler: The applier.
        bounds: Numbers of transactions, increasing, whose end is wanted.
        most: Number of transactions or blocks that are kept.
    """
    outcome, costs = settle(recording, model.native(), model.capacity, scheduler.setup)
    setup, total = scheduler.setup(costs), outcome.total_ns
    bins = max(16, min(MOST_BINS, MOST_CELLS // scheduler.workers))
    cells = [[[0.0] * bins for _ in STATES] for _ in range(scheduler.workers)]
    width = max(1, total) / bins
    ends: list[int] = []
    first: list[ScheduleSlot] = []
    latest = place = 0
    later = total
    for slot in every_slot(recording, setup):
        while place < len(bounds) and slot.first >= bounds[place]:
            ends.append(latest)
            place += 1
        start, applied, commit, end = slot.start, slot.applied, slot.commit, slot.end
        latest = max(latest, end)
        applying, waiting, committing = cells[slot.worker]
        cell = min(int(start / width), bins - 1)
        if end < (cell + 1) * width:  # as most of a long log do
            applying[cell] += applied - start
            waiting[cell] += commit - applied
            committing[cell] += end - commit
        else:
            spread(applying, start, applied, width)
            spread(waiting, applied, commit, width)
            spread(committing, commit, end, width)
        if len(first) < most:
            first.append(slot)
        elif start < later:
            later = start
    ends += [latest] * (len(bounds) - len(ends))
    return Sweep(str(scheduler), total, cells, ends, first, later)


def every_slot(recording: Recording, setup: Setup) -> Iterator[ScheduleSlot]:
    """Return all transactions or blocks of a schedule; the simulation runs once for each part of it."""
    done, size = 0, _CHUNK
    while size == _CHUNK:
        part = recording.schedule(setup, done, _CHUNK)
        yield from part
        size = len(part)
        done = part[-1].first + part[-1].count if part else done


def spread(spans: list[float], begin: int, end: int, width: float) -> None:
    """Add a period to the spans that it covers.

    >>> spans = [0.0, 0.0, 0.0]
    >>> spread(spans, 5, 25, 10)
    >>> spans
    [5.0, 10.0, 5.0]
    """
    if end <= begin:
        return
    last = len(spans) - 1
    first, final = min(int(begin / width), last), min(int(end / width), last)
    if first == final:
        spans[first] += end - begin
        return
    spans[first] += (first + 1) * width - begin
    for place in range(first + 1, final):
        spans[place] += width
    spans[final] += end - final * width


def slots_of(slots: Sequence[ScheduleSlot], most: int) -> list[list[int]]:
    """Return columns: worker, start, and the microseconds of each state; then the first transaction and their number."""
    kept = [slot for slot in slots if slot.first < most]
    return [
        [slot.worker for slot in kept],
        [slot.start // 1000 for slot in kept],
        [(slot.applied - slot.start) // 1000 for slot in kept],
        [(slot.commit - slot.applied) // 1000 for slot in kept],
        [(slot.end - slot.commit) // 1000 for slot in kept],
        [slot.first for slot in kept],
        [slot.count for slot in kept],
    ]


def transactions_of(recording: Recording, most: int) -> dict[str, Any]:
    """Return columns of the first transactions: GTID in two parts, rows, bytes, file and position."""
    sources: dict[str, int] = {}
    files: dict[str, int] = {}
    columns: list[list[Any]] = [[], [], [], [], [], []]
    for index in range(min(most, len(recording))):
        found = recording.transaction(index)
        source, _, number = (found.gtid or "").rpartition(":" if ":" in (found.gtid or "") else "-")
        file = found.file.replace("\\", "/").rpartition("/")[2]
        values = (
            sources.setdefault(source, len(sources)),
            number,
            found.rows,
            found.bytes,
            files.setdefault(file, len(files)),
            found.position,
        )
        for column, value in zip(columns, values, strict=True):
            column.append(value)
    return {"sources": list(sources), "files": list(files), "columns": columns}
