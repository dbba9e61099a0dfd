"""CPU time by stage: what a run counts, and that nothing is counted twice."""

from __future__ import annotations

import time

import pytest

from paraply._native import spend_cpu
from paraply.cpu_time import ThreadKind, thread_counted, thread_seconds
from paraply.errors import UsageError
from paraply.observe.cpu_cost import STAGES, CpuCost, CpuMeter


def work(seconds: float) -> None:
    """Use CPU time of this thread: the process may have others that work meanwhile."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def test_a_run_counts_only_what_came_after_its_start():
    spend_cpu("hash", 5.0)
    meter = CpuMeter()
    spend_cpu("hash", 0.25)
    spend_cpu("send", 0.5)
    cost = meter.cost(500_000)
    assert tuple(cost.stages) == STAGES
    assert cost.stages["hash"] == pytest.approx(0.25)
    assert cost.as_json()["per_million_rows"] == {
        "read": 0.0, "decode": 0.0, "hash": 0.5, "plan": 0.0, "render": 0.0, "send": 1.0, "wait": 0.0, "watch": 0.0, "all": 1.5,
    }  # fmt: skip


def test_the_time_of_threads_between_stages_is_their_wait_and_that_of_watchers_is_apart():
    meter = CpuMeter()
    kinds: tuple[ThreadKind, ...] = ("reader", "worker", "watcher")
    for kind in kinds:
        with thread_counted(kind):
            work(0.01)
    spend_cpu("render", 0.004)
    cost = meter.cost(1)
    assert min(cost.threads[kind] for kind in kinds) >= 0.009
    assert cost.stages["wait"] == pytest.approx(cost.threads["reader"] + cost.threads["worker"] - 0.004)
    assert cost.stages["watch"] == cost.threads["watcher"]
    assert cost.other < 0.01


def test_the_parts_of_a_process_are_its_cpu_time():
    cost = CpuCost(process=2.0, start=0.5, stages={"hash": 1.0, "wait": 0.25}, rows=0)
    assert cost.other == 0.25
    assert cost.per_million(1.0) == 0.0


def test_the_time_of_a_thread_is_counted_even_if_it_fails():
    def fail() -> None:
        with thread_counted("worker"):
            work(0.01)
            raise KeyError

    before = thread_seconds()["worker"]
    with pytest.raises(KeyError):
        fail()
    assert thread_seconds()["worker"] - before >= 0.009


def test_a_stage_that_does_not_exist_is_refused():
    with pytest.raises(UsageError, match="there is no stage `think`"):
        spend_cpu("think", 1.0)
    with pytest.raises(UsageError, match="positive"):
        spend_cpu("hash", -1.0)
