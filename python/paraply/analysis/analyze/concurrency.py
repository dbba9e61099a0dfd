"""Measurement of a server's slow-down under several connections."""

from __future__ import annotations

import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from threading import Barrier
from typing import TYPE_CHECKING, Protocol

from paraply.analysis.analyze.capacity import Capacity, SlowDown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["measure_capacity"]

CONNECTIONS = (1, 2, 4, 8)
"""Numbers of busy connections that are measured."""
SECONDS = 0.25
"""Duration of one measurement."""
ROUNDS = 3
"""Measurements of each number of connections; the median counts."""


class Runner(Protocol):
    """Connection that runs statements."""

    def run(self, sql: str) -> None:
        """Run one or several statements."""

    def close(self) -> None:
        """Close the connection."""


def measure_capacity(connect: Callable[[], Runner], table: str) -> Capacity:
    """Measure transactions of one row, with and without their commit, on 1, 2, 4 and 8 connections.

    Args:
        connect: Opens a connection.
        table: Name of a table that is made for it; the caller drops it.
    """
    with ExitStack() as stack:
        runners = [stack.enter_context(closing(connect())) for _ in range(max(CONNECTIONS))]
        runners[0].run(f"CREATE TABLE {table} (id BIGINT PRIMARY KEY, n BIGINT)")
        for number in range(len(runners)):
            runners[0].run(f"INSERT INTO {table} VALUES ({number}, 0)")
        pool = stack.enter_context(ThreadPoolExecutor(len(runners)))

        def measured(count: int, end: str) -> float:
            texts = [f"BEGIN;UPDATE {table} SET n=n+1 WHERE id={number};{end}" for number in range(count)]
            return statistics.median(seconds_each(pool, runners[:count], texts) for _ in range(ROUNDS))

        times = [(count, measured(count, "ROLLBACK"), measured(count, "COMMIT")) for count in CONNECTIONS]
    return capacity_of(times)


def seconds_each(pool: ThreadPoolExecutor, runners: Sequence[Runner], texts: Sequence[str]) -> float:
    """Return the mean seconds of a transaction while every connection runs its text again and again."""
    together = Barrier(len(runners))

    def repeat(runner: Runner, text: str) -> int:
        runner.run(text)  # the first one fills caches
        together.wait()
        until, count = time.perf_counter() + SECONDS, 0
        while time.perf_counter() < until:
            runner.run(text)
            count += 1
        return count

    return len(runners) * SECONDS / max(1, sum(pool.map(repeat, runners, texts)))


def capacity_of(times: Sequence[tuple[int, float, float]]) -> Capacity:
    """Return the slow-down from the seconds of a transaction that is rolled back, and of one that is committed, by connections.

    >>> capacity_of([(1, 0.001, 0.003), (2, 0.0015, 0.0035)]).measured[1]
    SlowDown(connections=2, rows=1.5, commit=1.0)
    """
    (_, rows_alone, committed_alone), *_ = times
    commit_alone = max(rows_alone * 0.01, committed_alone - rows_alone)
    found: list[SlowDown] = []
    for count, rows, committed in times:
        most = found[-1] if found else SlowDown(1, 1.0, 1.0)
        commit = max(most.commit, (committed - rows) / commit_alone)
        found.append(SlowDown(count, round(max(most.rows, rows / rows_alone), 3), round(commit, 3)))
    return Capacity(tuple(found))
