"""The gate: the rate of rows is kept on average, and a large transaction is paid for by those after it."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from simulation.threads import Simulation
from unit.applier.fake_database import Database, Target
from unit.applier.fakes import make
from unit.applier.harness import check_serial, make_applier

from paraply.applier.schedule.gate import Gate
from paraply.errors import UsageError
from paraply.runtime import runtime
from paraply.targets.channel_status import Pause

PAUSE = Pause("dba@db1", "2026-03-01T14:07:00Z")


def passed(gate: Gate, rows: int) -> bool:
    blocks: Any = [SimpleNamespace(rows=rows)]
    return gate.let_pass(blocks)


def seconds(body: Callable[[], object]) -> float:
    """Seconds of a simulated clock that the body takes."""

    def timed() -> float:
        begin = runtime.monotonic()
        body()
        return runtime.monotonic() - begin

    taken: float = Simulation(1).run(timed)
    return taken


def test_the_rate_is_kept_after_the_rows_of_one_second() -> None:
    def body() -> None:
        gate = Gate(100, lambda: False)
        assert all(passed(gate, 10) for _ in range(60))

    assert seconds(body) == pytest.approx(4.9, abs=0.2)


def test_those_after_a_large_transaction_wait_for_its_rows() -> None:
    def body() -> None:
        gate = Gate(100, lambda: False)
        assert passed(gate, 1000), "it is never refused"
        assert passed(gate, 1)

    assert seconds(body) == pytest.approx(9.0, abs=0.2)


def test_a_run_that_ends_does_not_wait() -> None:
    gate = Gate(1, lambda: True)
    assert not passed(gate, 1)
    gate = Gate(None, lambda: True)
    gate.set_pause(PAUSE)
    assert not passed(gate, 1)
    assert gate.pause == PAUSE


def test_without_rate_and_pause_everything_passes() -> None:
    assert Gate(None, lambda: True).most_at_once is None
    assert passed(Gate(None, lambda: True), 1_000_000)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    "options",
    [
        {"workers": 0},
        {"merge": "off"},
        {"merge": "auto"},
        {"consistency": "eventual", "merge": "off"},
        {"policy": "table", "consistency": "eventual", "merge": "off"},
        {"policy": "barrier"},
        {"policy": "optimistic"},
    ],
)
def test_a_run_with_a_rate_is_serial_apply_and_takes_its_time(seed: int, options: dict[str, Any]) -> None:
    log = [make(number, "ab"[number % 2], f"k{number}") for number in range(1, 61)]

    def body() -> tuple[Target, float]:
        target = Target(Database(latency=0.001))
        begin = runtime.monotonic()
        make_applier(log, target, **{"workers": 4, "max_rate": 10} | options).run()
        return target, runtime.monotonic() - begin

    target, taken = Simulation(seed).run(body)
    if options.get("consistency") != "eventual":
        check_serial(target, log)
    assert sorted(target.database.applied) == [transaction.ordinal for transaction in log]
    rows = sum(transaction.rows for transaction in log)
    if options.get("merge") == "off":
        assert taken >= (rows - 10 - max(transaction.rows for transaction in log)) / 10


@pytest.mark.parametrize("rate", [0, -1])
def test_a_rate_is_at_least_one_row(rate: int) -> None:
    with pytest.raises(UsageError, match="at least 1 row"):
        make_applier([make(1, "k")], Target(), max_rate=rate)
