from __future__ import annotations

import os
import signal
import threading
import time
from dataclasses import replace
from typing import ClassVar

import pytest
from unit.applier.fake_database import Database, Target
from unit.applier.fakes import LogReader, independent, make
from unit.applier.harness import QUICK, apply, check_serial, make_applier, run_within
from unit.steps import until

from paraply.errors import (
    AlreadyRunning,
    ApplyFailed,
    ConnectionFailed,
    LogDamaged,
    PrecedingFailed,
    Stopped,
    TemporaryFailure,
    UsageError,
)

WORKERS = (0, 1, 2, 8)


def stop_after(applier, target, count: int) -> None:
    while len(target.database.applied) < count:
        time.sleep(0.001)
    applier.stop()


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("merge", ["off", "auto", 7])
def test_r22_every_worker_count_ends_as_serial_apply(workers, merge):
    log = [make(n, f"k{n % 5}", f"x{n % 3}") for n in range(1, 200)]
    target = Target()
    report = apply(log, target, workers=workers, merge=merge)
    check_serial(target, log)
    assert report.transactions == 199
    assert report.executed == ",".join(t.gtid for t in log)
    assert str(target.finished) == report.executed
    assert report.commits == 199 if merge == "off" or (workers == 0 and merge == "auto") else report.commits < 199


def test_r21_independent_transactions_overlap():
    database = Database()
    database.waits_for = dict.fromkeys(range(1, 7), lambda: database.most_in_flight >= 6)
    target = Target(database)
    apply(independent(64), target, workers=8, merge="off")
    assert target.database.most_in_flight >= 6


def test_r22_zero_workers_use_one_connection_in_one_thread():
    target = Target()
    applier = make_applier(independent(20), target, workers=0)
    before = threading.active_count()
    applier.run()
    assert threading.active_count() == before
    assert len(target.sessions) == 1
    assert target.sessions[0].thread != threading.get_ident(), "the caller's thread is there for signals"


@pytest.mark.parametrize("workers", WORKERS)
def test_r25_what_progress_holds_is_skipped(workers):
    log = independent(30)
    target = Target()
    apply(log[:10], target, workers=workers)
    report = apply(log, target, workers=workers)
    check_serial(target, log)
    assert (report.skipped, report.transactions) == (10, 20)


@pytest.mark.parametrize("workers", WORKERS)
def test_r19_a_trailing_run_of_skipped_ones_is_counted_behind_the_rest(workers):
    log = independent(30)
    target = Target()
    report = apply(log, target, workers=workers, start_after=",".join(t.gtid for t in log[20:]))
    assert target.database.applied == list(range(1, 21))
    assert (report.transactions, report.skipped) == (20, 10)


@pytest.mark.parametrize("workers", WORKERS)
def test_r25_a_log_without_gtids_goes_on_behind_its_place(workers):
    log = [make(n, f"k{n}", gtid=False) for n in range(1, 21)]
    target = Target()
    from unit.applier.fakes import GtidSet

    from paraply.targets.protocol import Progress

    target.progress = Progress(GtidSet(), file="/elsewhere/binlog.000001", offset=log[9].end_offset, resumed=True)
    report = apply(log, target, workers=workers)
    assert target.database.applied == list(range(11, 21))
    assert report.skipped == 10
    assert report.executed == ""
    target.progress = Progress(GtidSet(), file="binlog.000009", offset=4, resumed=True)
    with pytest.raises(UsageError, match=r"binlog\.000009"):
        apply(log, target, workers=workers)


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("merge", ["off", 8])
def test_r18_everything_before_the_culprit_commits_and_nothing_after(workers, merge):
    log = [make(n, f"k{n % 7}") for n in range(1, 61)]
    target = Target()
    target.database.always[23] = ApplyFailed("the row is not there", table="d.t", key="id=23")
    applier = make_applier(log, target, workers=workers, merge=merge)
    error = run_within(applier)
    assert isinstance(error, ApplyFailed)
    assert not isinstance(error, PrecedingFailed)
    assert (error.gtid, error.position) == ("u:00023", 2300)
    check_serial(target, log[:22])
    assert applier.report is not None
    assert applier.report.transactions == 22
    assert target.finished is None


@pytest.mark.parametrize("merge", ["off", 8])
def test_r18_the_oldest_of_several_failures_is_the_root_cause(merge):
    log = independent(60)
    target = Target(Database(latency=0.001))
    for n in (50, 31, 29, 30):
        target.database.always[n] = ApplyFailed(f"wrong {n}")
    error = run_within(make_applier(log, target, workers=8, merge=merge))
    assert isinstance(error, ApplyFailed)
    assert error.gtid == "u:00029"
    check_serial(target, log[:28])


def test_r24_a_merged_block_that_fails_only_as_a_whole_is_replayed_singly():
    log = independent(16)
    target = Target()
    target.database.faults[5] = ["permanent"]
    report = apply(log, target, workers=2, merge=8)
    check_serial(target, log)
    assert (report.replays, report.retries) == (1, 1)


@pytest.mark.parametrize("workers", WORKERS)
def test_r24_temporary_errors_are_retried_up_to_the_limit(workers):
    log = independent(30)
    target = Target()
    target.database.faults[3] = ["temporary"] * 10
    target.database.faults[9] = ["commit-temporary"] * 2
    report = apply(log, target, workers=workers, merge="off")
    check_serial(target, log)
    assert 12 <= report.retries <= 12 + report.rollbacks, "every try again is counted, whatever its reason"
    target = Target()
    target.database.faults[3] = ["temporary"] * 11
    error = run_within(make_applier(log, target, workers=workers, merge="off"))
    assert isinstance(error, ApplyFailed)
    assert "given up after 10 retries" in str(error)
    check_serial(target, log[:2])


def test_r24_permanent_errors_are_never_retried():
    target = Target()
    target.database.faults[3] = ["permanent", None]
    error = run_within(make_applier(independent(5), target, merge="off"))
    assert isinstance(error, ApplyFailed)
    assert target.database.applied == [1, 2]


def test_r24_storms_degrade_to_serial_and_recover():
    log = independent(400)
    target = Target()
    for n in range(1, 60):
        target.database.faults[n] = ["temporary"] * 2
    report = apply(log, target, workers=8, merge="off")
    check_serial(target, log)
    assert report.storms >= 1
    assert any("one block at a time" in note for note in report.notes)


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("fault", ["lost", "lost-before", "lost-after"])
def test_r25_a_lost_connection_applies_exactly_once(workers, fault, caplog):
    caplog.set_level("INFO", logger="paraply.applier")
    log = [make(n, f"k{n % 4}") for n in range(1, 41)]
    target = Target()
    for n in (5, 6, 17, 40):
        target.database.faults[n] = [fault, fault]
    report = apply(log, target, workers=workers, merge="off")
    check_serial(target, log)
    assert report.reconnects >= 4
    events = [record.event for record in caplog.records if hasattr(record, "event")]
    assert events == ["target-lost", "connected"], "reported once"


@pytest.mark.parametrize("workers", WORKERS)
def test_r24_a_new_session_that_is_interrupted_at_its_first_question_is_opened_again(workers):
    class Interrupting(Target):
        interruptions = 0

        def session(self):
            if any(s.broken for s in self.sessions) and self.interruptions < 3:
                self.interruptions += 1
                raise TemporaryFailure("Query execution was interrupted")
            return super().session()

    log = independent(20)
    target = Interrupting()
    target.database.faults[5] = ["lost"]
    apply(log, target, workers=workers, merge="off")
    check_serial(target, log)
    assert target.interruptions == 3


def test_a_server_that_does_not_come_back_is_the_error():
    target = Target()
    target.database.faults[5] = ["lost"]

    class Gone(Target):
        connected: ClassVar[set[int]] = set()

        def session(self):
            if threading.get_ident() in self.connected:
                raise ConnectionFailed("refused")
            self.connected.add(threading.get_ident())
            return super().session()

    target = Gone(target.database)
    error = run_within(make_applier(independent(20), target, merge="off"))
    assert isinstance(error, ConnectionFailed)
    assert target.database.applied == [1, 2, 3, 4]


def test_r24_a_workers_first_connection_is_tried_as_long_as_one_in_place_of_a_lost_one():
    patient = replace(QUICK, reconnects=9)

    class Late(Target):
        refusals = patient.reconnects - 1

        def session(self):
            if self.sessions and self.refusals:
                with self.database.mutex:
                    self.refusals -= 1
                    self.database.mutex.notify_all()
                raise ConnectionFailed("refused")
            return super().session()

    log = independent(20)
    target = Late()
    target.database.waits_for[1] = lambda: target.refusals == 0
    report = apply(log, target, workers=2, merge="off", retries=patient)
    check_serial(target, log)
    assert (target.refusals, report.reconnects) == (0, 0)


def test_a_target_that_lets_no_worker_in_is_the_error():
    target = Target()
    target.database.refused = 100
    error = run_within(make_applier(independent(200), target, workers=8))
    assert isinstance(error, ConnectionFailed)
    assert target.database.applied == []


def test_a_defect_in_a_worker_ends_the_run():
    target = Target()
    target.database.always[9] = RuntimeError("a defect")
    error = run_within(make_applier(independent(100), target, workers=4, merge="off"))
    assert isinstance(error, RuntimeError)
    assert target.database.applied == list(range(1, len(target.database.applied) + 1))
    assert len(target.database.applied) <= 8


def test_r25a_another_apply_that_took_over_ends_the_run_at_once():
    target = Target()
    target.database.always[9] = AlreadyRunning("another apply took the channel")
    error = run_within(make_applier(independent(100), target, workers=4, merge="off"))
    assert isinstance(error, AlreadyRunning)


@pytest.mark.parametrize("workers", WORKERS)
def test_r27_an_error_of_the_log_comes_behind_the_transactions_before_it(workers):
    log = [*independent(40), LogDamaged("checksum", file="binlog.000001", position=4100)]
    target = Target()
    error = run_within(make_applier(log, target, workers=workers))
    assert isinstance(error, LogDamaged)
    check_serial(target, log[:40])
    assert target.finished is None


def test_r27_a_failed_apply_before_a_damaged_log_is_the_root_cause():
    log = [*independent(40), LogDamaged("checksum")]
    target = Target()
    target.database.always[39] = ApplyFailed("no row")
    assert isinstance(run_within(make_applier(log, target)), ApplyFailed)


@pytest.mark.parametrize("workers", WORKERS)
def test_a_stop_ends_at_a_transaction_boundary_and_the_next_run_completes(workers):
    log = [make(n, f"k{n % 9}") for n in range(1, 301)]
    target = Target(Database(latency=0.001))
    applier = make_applier(log, target, workers=workers, merge="off")
    stopper = threading.Thread(target=stop_after, args=(applier, target, 20))
    stopper.start()
    error = run_within(applier)
    stopper.join()
    assert isinstance(error, Stopped)
    assert error.exit_code == 4
    done = len(target.database.applied)
    assert 0 < done < 300
    check_serial(target, log[:done])
    apply(log, target, workers=workers)
    check_serial(target, log)


def test_a_stop_before_the_run_applies_nothing():
    for workers in WORKERS:
        target = Target()
        applier = make_applier(independent(5000), target, workers=workers, merge="off")
        applier.stop()
        assert isinstance(run_within(applier), Stopped)
        assert target.database.applied == list(range(1, len(target.database.applied) + 1))
        assert len(target.database.applied) < 5000


@pytest.mark.parametrize("workers", WORKERS)
def test_a_second_stop_rolls_back_what_is_in_flight(workers):
    database = Database(lock_timeout=60.0)
    target = Target(database)
    foreign = Target(database).session()
    foreign._lock("row k3")
    applier = make_applier(independent(50), target, workers=workers, merge="off")

    def stop_twice():
        while len(database.applied) < 2:
            time.sleep(0.01)
        for _ in range(2):
            applier.stop()
            time.sleep(0.2)

    threading.Thread(target=stop_twice, daemon=True).start()
    assert isinstance(run_within(applier), Stopped)
    assert database.applied == [1, 2]
    foreign.close()


def test_counters_can_be_read_while_it_runs():
    seen = []
    log = independent(300)
    target = Target(Database(latency=0.006))
    applier = make_applier(log, target, workers=4, merge="off", on_progress=seen.append)
    assert applier.counters().transactions == 0
    report = run_within(applier)
    assert not isinstance(report, BaseException)
    assert seen[-1].transactions == 300
    assert any(c.running > 0 and 0 < c.transactions < 300 for c in seen)
    assert [c.transactions for c in seen] == sorted(c.transactions for c in seen)
    assert len(seen[-1].workers) == 4
    assert sum(w.transactions for w in report.workers) == 300


def test_a_progress_callback_that_fails_does_not_harm_the_run():
    def fail(_):
        raise RuntimeError("no terminal")

    target = Target()
    apply(independent(50), target, on_progress=fail)
    assert len(target.database.applied) == 50


def test_an_empty_log_opens_no_target():
    target = Target()
    assert apply([], target).transactions == 0
    assert target.plan is None


def test_fallbacks_are_reported():
    report = apply([make(1, "fallback"), make(2, "b")], Target())
    assert report.fallbacks == [("reason", "d.t", 1)]


def test_a_slow_reader_does_not_stop_the_workers():
    LogReader.delay = 0.005
    try:
        target = Target()
        report = apply(independent(200), target, workers=8)
    finally:
        LogReader.delay = 0.0
    assert report.waits["input"] > 0
    assert len(target.database.applied) == 200


def test_an_applier_runs_once_and_closes_its_target():
    target = Target()
    with make_applier(independent(3), target) as applier:
        applier.run()
        with pytest.raises(UsageError, match="once"):
            applier.run()
    assert target.closed


def test_keyboard_interrupt_in_the_coordinator_leaves_no_thread_behind():
    target = Target()

    def interrupt(*_):
        raise KeyboardInterrupt

    target.schema_changed = interrupt
    from unit.applier.fakes import Statement

    log = [*independent(5), make(6, kind="ddl", statements=[Statement(b"create table t (a int primary key)")]), *[make(7, "z")]]
    before = threading.active_count()
    error = run_within(make_applier(log, target))
    assert isinstance(error, KeyboardInterrupt)
    until(lambda: threading.active_count() <= before, "the end of all threads")


@pytest.mark.parametrize("workers", WORKERS)
def test_ctrl_c_calls_stop_from_a_signal_handler_in_the_thread_that_runs(workers):
    log = independent(400)
    target = Target(Database(latency=0.002))
    applier = make_applier(log, target, workers=workers, merge="off")
    before = signal.signal(signal.SIGUSR1, lambda *_: applier.stop())
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1))
    timer.start()
    try:
        with pytest.raises(Stopped):
            applier.run()
    finally:
        timer.join()
        signal.signal(signal.SIGUSR1, before)
    check_serial(target, log[: len(target.database.applied)])


def test_a_slow_progress_callback_does_not_hold_up_the_watchdog():
    database = Database(lock_timeout=10.0)
    log = [make(n, f"k{n}", gaps=("g",), gaps_first=n % 2 == 0) for n in range(1, 41)]
    target = Target(database)
    applier = make_applier(log, target, workers=8, merge="off", on_progress=lambda _: time.sleep(0.5))
    assert not isinstance(run_within(applier), BaseException)
    check_serial(target, log)
