"""The slow-down of a server under several workers, in simulated schedules."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from unit.analyze.planted import PLANTED

from paraply._native import Costs, Outcome, Setup
from paraply.analysis.analyze import AnalyzeOptions, CostModel, analyze
from paraply.analysis.analyze.capacity import Capacity, SlowDown
from paraply.analysis.analyze.concurrency import capacity_of

ONE_PROCESSOR = Capacity((SlowDown(1, 1.0, 1.0), SlowDown(8, 8.0, 8.0)))
TWO_PROCESSORS = Capacity((SlowDown(1, 1.0, 1.0), SlowDown(2, 1.0, 1.0), SlowDown(8, 4.0, 4.0)))


def speed_ups(log: Path, capacity: Capacity, applier: str) -> dict[int, float]:
    """Return the speed-up of an applier with unlimited order by number of workers."""
    found = analyze(log, AnalyzeOptions(workers=(1, 2, 8, 32), costs=CostModel(capacity=capacity)))
    curve = next(curve for curve in found.curves if curve.applier == applier and curve.numbers == "fine" and not curve.ordered)
    return {point.workers: point.speed_up for point in curve.points}


def test_a_server_with_one_processor_gains_nothing(tmp_path: Path) -> None:
    log = PLANTED["too_few_workers"](tmp_path / "log")
    assert speed_ups(log, Capacity(), "mysql")[32] > 10
    assert speed_ups(log, ONE_PROCESSOR, "mysql") == pytest.approx({1: 1.0, 2: 1.0, 8: 1.0, 32: 1.0}, rel=0.1)


def test_two_processors_gain_twice(tmp_path: Path) -> None:
    log = PLANTED["too_few_workers"](tmp_path / "log")
    assert speed_ups(log, TWO_PROCESSORS, "mysql") == pytest.approx({1: 1.0, 2: 2.0, 8: 2.0, 32: 2.0}, rel=0.1)


def test_the_lost_time_is_that_of_the_slower_schedule(tmp_path: Path) -> None:
    log = PLANTED["hot_row"](tmp_path / "log")
    free = AnalyzeOptions(workers=(1, 8), replica_workers=8)
    alone, together = analyze(log, free), analyze(log, replace(free, costs=CostModel(capacity=ONE_PROCESSOR)))
    assert together.explanation.seconds >= alone.explanation.seconds
    assert sum(cause.seconds for cause in together.explanation.causes) == pytest.approx(together.explanation.lost_seconds)
    first = together.explanation.causes[0]
    assert first.cause == "hot_row"
    assert first.gain_seconds is not None
    # With one processor nothing can be gained but what the hot row keeps it from doing.
    assert first.gain_seconds < together.explanation.seconds - together.serial_seconds * 0.9


def test_costs_grow_with_the_busy_workers() -> None:
    costs = CostModel(100.0, 10.0, 1.0, 400.0).native()
    scaled = Capacity((SlowDown(1, 1.0, 1.0), SlowDown(2, 1.5, 1.25))).scaled(costs, 2)
    assert isinstance(scaled, Costs)
    assert (scaled.transaction_ns, scaled.row_ns, scaled.byte_ps, scaled.commit_ns) == (150_000, 15_000, 1_500, 500_000)


def test_measurements_never_get_faster_with_more_connections() -> None:
    found = capacity_of([(1, 0.001, 0.002), (2, 0.0009, 0.0021), (4, 0.002, 0.0025), (8, 0.0019, 0.0090)]).measured
    assert [one.rows for one in found] == [1.0, 1.0, 2.0, 2.0]
    assert [one.commit for one in found] == pytest.approx([1.0, 1.2, 1.2, 7.1])


def test_a_schedule_without_transactions_settles(tmp_path: Path) -> None:
    from paraply.analysis.analyze.capacity import settle

    class Empty:
        def simulate(self, setup: Setup) -> Outcome:
            return self

        total_ns = busy_ns = 0

    outcome, costs = settle(Empty(), CostModel().native(), ONE_PROCESSOR, lambda times: Setup("mysql", 2, times))  # type: ignore[arg-type]
    assert outcome.total_ns == 0
    assert costs.commit_ns == 400_000
