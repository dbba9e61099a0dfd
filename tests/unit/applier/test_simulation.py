"""The applier in a simulation: a seed decides the log, the faults and which thread runs at each step."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from simulation.threads import Deadlock, Simulation
from unit.applier.fake_database import Database, Target
from unit.applier.fakes import Statement, Transaction, make
from unit.applier.harness import check_gaps, check_serial, make_applier

from paraply.applier.commit.commit_order import CommitOrder
from paraply.applier.schedule.policy import allowed_combinations
from paraply.errors import ApplyFailed
from paraply.runtime import runtime

SEEDS = range(50)
FAULTS = ("temporary", "lost", "lost-before", "lost-after", "commit-temporary")
NOT_HERE = ("logical-clock", "row", "unordered")
"""These need a log's numbers, a target that commits in two phases, and rows with times."""
COMBINATIONS = [combination for combination in allowed_combinations() if combination[0] not in NOT_HERE]


def history(chance: random.Random) -> list[Transaction]:
    """Return a random log in which transactions often meet."""
    log: list[Transaction] = []
    for number in range(1, chance.randint(20, 40)):
        if chance.random() < 0.05:
            log.append(make(number, kind="ddl", statements=[Statement(f"create table t{number} (a int primary key)".encode())]))
        else:
            gaps = chance.sample("xyz", chance.randint(0, 1))
            log.append(make(number, *chance.sample("abcdefgh", chance.randint(1, 3)), gaps=tuple(gaps), gaps_first=chance.random() < 0.5))
        log[-1].session = chance.choice([1, 2, 3, number + 3, number + 3])
        log[-1].tables = [f"d.{key}" for key in log[-1].keys]
    return log


def simulate(seed: int) -> list[str]:
    """Apply a random log under a random policy and level, check the outcome, and return the trace of the threads."""
    chance = random.Random(seed)
    log = history(chance)
    policy, consistency, merges = chance.choice(COMBINATIONS)
    options = {"policy": policy, "consistency": consistency, "merge": chance.choice(["auto", 5, "off"]) if merges else "off"}
    faults = {chance.randint(1, len(log)): [chance.choice(FAULTS)] for _ in range(chance.randint(0, 4))}
    culprit = chance.randint(1, len(log)) if chance.random() < 0.2 else None
    simulation = Simulation(seed)

    def body() -> tuple[Target, BaseException | None]:
        target = Target(Database(lock_timeout=0.2, latency=0.001, shows_blockers=chance.random() < 0.5), takes_batch=chance.random() < 0.5)
        target.database.faults.update(faults)
        if culprit is not None:
            target.database.always[culprit] = ApplyFailed("the culprit")
        try:
            make_applier(log, target, workers=chance.choice([0, 2, 4, 8]), **options).run()
        except ApplyFailed as error:
            return target, error
        return target, None

    target, error = simulation.run(body)
    check_gaps(target, log)
    if culprit is None:
        assert error is None
        assert sorted(target.database.applied) == [transaction.ordinal for transaction in log]
    else:
        assert error is not None
        assert culprit not in target.database.applied
    if consistency == "any-time":
        check_serial(target, log if culprit is None else log[: culprit - 1])
    return simulation.trace


@pytest.mark.parametrize("seed", SEEDS)
def test_r17_r18_r24_a_seed_decides_every_step(seed: int) -> None:
    assert simulate(seed) == simulate(seed)


def test_threads_take_turns_and_seeds_differ() -> None:
    traces = [simulate(seed) for seed in range(10)]
    assert len({tuple(trace) for trace in traces}) == len(traces)
    switches = Counter(step.partition(":")[0] for trace in traces for step in trace)
    assert {"first", "paraply-reader", "paraply-watchdog", "paraply-worker-0", "paraply-worker-1"} <= set(switches)


def test_an_order_that_lets_everyone_commit_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A simulation that never fails would prove nothing."""
    monkeypatch.setattr(CommitOrder, "_may_commit", lambda order, ticket: True)
    found = 0
    for seed in SEEDS:
        try:
            simulate(seed)
        except (AssertionError, IndexError):
            found += 1
    assert found


def test_a_deadlock_names_the_threads_that_wait() -> None:
    def body() -> None:
        first, second, begun = runtime.lock(), runtime.lock(), runtime.event()

        def other() -> None:
            with second:
                begun.set()
                first.acquire()

        with first:
            runtime.thread(other, name="other").start()
            begun.wait()
            second.acquire()

    with pytest.raises(Deadlock, match=r"first waits for lock \d+ in .*body.*; other waits for lock \d+ in .*other"):
        Simulation(1).run(body)


def test_time_passes_only_when_all_threads_wait() -> None:
    simulation = Simulation(1)

    def body() -> float:
        begun = runtime.monotonic()
        threads = [runtime.thread(runtime.sleep, name=f"sleeper-{seconds}", args=(seconds,)) for seconds in (3600.0, 60.0)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return runtime.monotonic() - begun

    assert 3600 <= simulation.run(body) < 3601
    assert [step for step in simulation.trace if ": end" in step] == [
        "sleeper-60.0: end sleeper-60.0",
        "sleeper-3600.0: end sleeper-3600.0",
    ]


def test_the_system_s_runtime_is_back_afterwards() -> None:
    with pytest.raises(ZeroDivisionError):
        Simulation(1).run(lambda: 1 // 0)
    assert runtime.monotonic() > 1
    assert type(runtime.lock()).__module__ == "_thread"
