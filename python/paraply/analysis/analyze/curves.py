"""Parallelism by scheme, and simulated apply times by applier and number of workers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

from paraply._native import Setup
from paraply.analysis.analyze.capacity import settle
from paraply.analysis.analyze.result import Curve, Point, Scheme

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paraply._native import ChainLength, Costs, Outcome, Recording
    from paraply.analysis.analyze.capacity import Capacity
    from paraply.analysis.analyze.result import ApplierName

__all__ = ["curves", "curves_of", "schemes"]

MERGED = 256
"""Most transactions of a commit for the scheme ``fine-merged``: the limit of automatic merging on MySQL."""

_THREADS = 2


def schemes(recording: Recording, costs: Costs, serial_ns: int) -> tuple[Scheme, ...]:
    """Return the parallelism of every scheme that the log allows to compute."""
    found = []
    if recording.has_stamps:
        found.append(scheme("stamped", recording.span(costs, "stamped"), serial_ns))
    if recording.has_recomputed:
        found.append(scheme("writeset", recording.span(costs, "writeset"), serial_ns))
        found.append(scheme("group", recording.span(costs, "group"), serial_ns))
    found.append(scheme("fine", recording.span(costs, "fine"), serial_ns))
    found.append(scheme("fine-merged", recording.span(costs, "fine", MERGED), serial_ns))
    return tuple(found)


def scheme(name: str, span: ChainLength, serial_ns: int) -> Scheme:
    """Return one scheme."""
    gain = round(serial_ns / span.total_ns, 2) if span.total_ns else 1.0
    return Scheme(name, gain, span.total_ns / 1e9, span.steps)


def curves_of(recording: Recording) -> list[tuple[ApplierName, str, bool]]:
    """Return appliers, their numbers, and whether their commits are in order; the first two are MySQL's with and without order.

    MariaDB's optimistic mode always commits in order. MySQL's coordinator needs numbers; without those of the log it has the keys'.
    """
    all_numbers = ("stamped", "fine") if recording.has_stamps else ("fine",)
    both = (True, False)
    found: list[tuple[ApplierName, str, bool]] = [("mysql", numbers, ordered) for numbers in all_numbers for ordered in both]
    found.append(("change_stream", all_numbers[0], True))
    found.append(("mariadb", "fine", True))
    found += [("paraply", "fine", ordered) for ordered in both]
    return found


def curves(recording: Recording, costs: Costs, capacity: Capacity, workers: Sequence[int], serial_ns: int) -> tuple[Curve, ...]:
    """Simulate every applier with every number of workers; native code runs on two threads."""
    wanted = curves_of(recording)

    def simulated(applier: ApplierName, numbers: str, ordered: bool, number: int) -> Outcome:
        def setup(times: Costs) -> Setup:
            return Setup(applier, number, times, numbers=numbers, ordered=ordered)

        return settle(recording, costs, capacity, setup)[0]

    with ThreadPoolExecutor(_THREADS) as pool:
        outcomes = iter(list(pool.map(lambda one: simulated(*one), [(*kind, number) for kind in wanted for number in workers])))
    found = [
        Curve(applier, numbers, ordered, applier != "change_stream", tuple(point(next(outcomes), number, serial_ns) for number in workers))
        for applier, numbers, ordered in wanted
    ]
    # Without order no worker of the Change Stream Applier waits for its turn: it is the same as MySQL's.
    place = next(index for index, curve in enumerate(found) if curve.applier == "change_stream")
    found.insert(place + 1, replace(found[1], applier="change_stream", validated=False))
    return tuple(found)


def point(outcome: Outcome, workers: int, serial_ns: int) -> Point:
    """Return one simulated time."""
    total = outcome.total_ns
    speed_up = serial_ns / total if total else 1.0
    busy = min(1.0, outcome.busy_ns / (workers * total)) if total else 0.0
    return Point(workers, total / 1e9, round(speed_up, 3), round(busy, 4), outcome.commits, outcome.retries)
