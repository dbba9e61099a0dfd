"""Slow-down of a server under several connections, and simulated schedules that take it into account."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from paraply._native import Costs

if TYPE_CHECKING:
    from collections.abc import Callable

    from paraply._native import Outcome, Recording, Setup

__all__ = ["Capacity", "SlowDown", "settle"]

_TURNS = 6
_CLOSE = 0.02
"""Difference between two turns, as a part of the busy workers, below which they agree."""


@dataclass(frozen=True, slots=True)
class SlowDown:
    """Times with several busy connections, as multiples of those with one.

    Attributes:
        connections: Number of busy connections.
        rows: Multiple for the work before the commit: several connections share the processors.
        commit: Multiple for the commit: several connections share the disk, and a server writes several commits at once.
    """

    connections: float
    rows: float
    commit: float


@dataclass(frozen=True, slots=True)
class Capacity:
    """Slow-down of a server by the number of busy connections.

    Attributes:
        measured: Measurements by growing number of connections, the first with one; none: a server of any size.

    >>> two = Capacity((SlowDown(1, 1.0, 1.0), SlowDown(4, 2.0, 1.6)))
    >>> two.at(2.5), two.at(8)
    (SlowDown(connections=2.5, rows=1.5, commit=1.3), SlowDown(connections=8, rows=4.0, commit=3.2))
    """

    measured: tuple[SlowDown, ...] = ()

    def at(self, busy: float) -> SlowDown:
        """Return the slow-down of a number of busy connections; above the largest measured one nothing more is gained."""
        busy = max(1.0, busy)
        if not self.measured:
            return SlowDown(busy, 1.0, 1.0)
        last = self.measured[-1]
        if busy >= last.connections:
            more = busy / last.connections
            return SlowDown(busy, last.rows * more, last.commit * more)
        above = next(index for index, found in enumerate(self.measured) if found.connections > busy)
        low, high = self.measured[above - 1], self.measured[above]
        part = (busy - low.connections) / (high.connections - low.connections)
        return SlowDown(busy, low.rows + part * (high.rows - low.rows), low.commit + part * (high.commit - low.commit))

    def scaled(self, costs: Costs, busy: float) -> Costs:
        """Return the times of a worker beside others: on average so many connections are busy."""
        found = self.at(busy)
        return Costs(
            transaction_ns=round(costs.transaction_ns * found.rows),
            row_ns=round(costs.row_ns * found.rows),
            byte_ps=round(costs.byte_ps * found.rows),
            commit_ns=round(costs.commit_ns * found.commit),
            ddl_ns=costs.ddl_ns,  # it runs alone
        )


def settle(recording: Recording, costs: Costs, capacity: Capacity, setup_of: Callable[[Costs], Setup]) -> tuple[Outcome, Costs]:
    """Simulate a schedule whose workers slow each other down.

    The slow-down depends on the number of busy workers, which depends on the schedule: both are found in turns.

    Args:
        recording: The log.
        costs: Times of a worker that is alone.
        capacity: The slow-down of the server.
        setup_of: Returns the simulation with given times.

    Returns:
        The times of the schedule, and the times of its workers.
    """
    times = costs
    outcome = recording.simulate(setup_of(times))
    if not capacity.measured:
        return outcome, times
    busy = 1.0
    for _ in range(_TURNS):
        found = outcome.busy_ns / outcome.total_ns if outcome.total_ns else 1.0
        if abs(found - busy) <= _CLOSE * busy:
            break
        busy = (busy + found) / 2 if busy > 1.0 else found
        times = capacity.scaled(costs, busy)
        outcome = recording.simulate(setup_of(times))
    return outcome, times
