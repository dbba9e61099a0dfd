"""R24: a transaction that waits for a lock of a younger one, of a chain of them, or of a foreign connection."""

from __future__ import annotations

import threading

import pytest
from unit.applier.fake_database import Database, Target
from unit.applier.fakes import independent, make
from unit.applier.harness import apply, check_serial, make_applier, run_within

from paraply.applier.execute.lock_watchdog import Patience
from paraply.applier.execute.retry import RetryPolicy
from paraply.errors import ApplyFailed
from paraply.observe.counters import Counters


@pytest.mark.parametrize("shows_blockers", [True, False])
def test_r24_a_younger_one_that_waits_for_its_turn_gives_its_locks_back(shows_blockers):
    """Every transaction takes the same gap lock last: the older one meets it in the hands of a younger one all the time."""
    database = Database(shows_blockers=shows_blockers, lock_timeout=5.0, latency=0.001)
    log = [make(n, f"k{n}", gaps=("g",), gaps_first=n % 2 == 0) for n in range(1, 41)]
    database.waits_for[1] = lambda: "gap g" in database.owners
    target = Target(database)
    report = apply(log, target, workers=8, merge="off")
    check_serial(target, log)
    assert report.rollbacks > 0


def test_r24_a_chain_of_younger_ones_is_followed():
    """1 waits for 2, which still applies and waits for 3, which waits for its turn."""
    database = Database(lock_timeout=30.0)
    first, second, third = make(1, "a", gaps=("x",)), make(2, "b", gaps=("x", "y")), make(3, "c", gaps=("y",))
    first_locks, second_locks = threading.Event(), threading.Event()

    class Slow(Target):
        def session(self):
            session = super().session()
            lock = session._lock

            def ordered(name: str) -> None:
                if session.locks == ["row a"] and name == "gap x":
                    first_locks.wait(5)
                if session.locks == ["row b", "gap x"] and name == "gap y":
                    first_locks.set()
                    second_locks.wait(5)
                lock(name)
                if session.locks == ["row c", "gap y"]:
                    second_locks.set()

            session._lock = ordered
            return session

    target = Slow(database)
    apply([first, second, third], target, workers=3, merge="off")
    check_serial(target, [first, second, third])


def test_r24_a_foreign_blocker_is_reported_although_each_attempt_ends_before():
    """A target ends a lock wait after a while, and the next attempt begins: they count together."""
    reported = threading.Event()

    class Telling(Target):
        def describe_wait(self, connection_id, blockers):
            text = super().describe_wait(connection_id, blockers)
            if "of other connections: 1001" in text:
                reported.set()
            return text

    def leave(counters: Counters) -> None:
        if reported.is_set() and counters.retries > 3:
            foreign.close()

    target = Telling(Database(lock_timeout=0.03))
    foreign = target.session()
    foreign._lock("row k2")
    retries, patience = RetryPolicy(limit=100_000, base=0.001, cap=0.01), Patience(shortest=0.003, longest=0.01, foreign=0.3)
    report = apply(independent(8), target, workers=4, merge="off", retries=retries, patience=patience, on_progress=leave)
    check_serial(target, independent(8))
    assert report.retries > 3
    assert [note for note in report.notes if "of other connections: 1001" in note]


def test_r24_a_foreign_blocker_is_reported_and_ends_in_an_error_not_a_hang():
    database = Database(lock_timeout=0.15)
    target = Target(database)
    foreign = target.session()
    foreign._lock("row k2")
    seen = []
    applier = make_applier(independent(8), target, workers=4, merge="off", on_progress=lambda c: seen.append(c.foreign_blockers))
    error = run_within(applier)
    assert isinstance(error, ApplyFailed)
    assert database.applied == [1]
    assert any("of other connections: 1001" in note for note in applier.report.notes)
    foreign.close()
