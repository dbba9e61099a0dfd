"""Workers that take several jobs at once, each of which stays a commit of its own (R20, R21, R23, R24)."""

from __future__ import annotations

import threading

import pytest
from unit.applier.fake_database import Database, Target
from unit.applier.fakes import Block, GtidSet, independent, make
from unit.applier.harness import QUICK, apply, check_gaps, make_applier, run_within

from paraply.applier.commit.commit_order import CommitOrder, TicketState
from paraply.applier.commit.consistency import Consistency
from paraply.applier.execute.run_state import RunState
from paraply.applier.execute.worker import Worker
from paraply.applier.schedule.batch import fits
from paraply.applier.schedule.job_list import Job, JobList
from paraply.errors import ApplyFailed, Stopped

EVENTUAL = {"consistency": "eventual", "merge": "off"}


def fill(jobs: JobList, after: dict[int, tuple[int, ...]] | None = None, count: int = 16, **transaction: object) -> None:
    order = CommitOrder(Consistency.EVENTUAL)
    for number in range(1, count + 1):
        ticket = order.register(after=(after or {}).get(number, ()))
        jobs.put(Job(number, 0, Block(number, [make(number, **transaction)]), ticket))


def taken(jobs: JobList) -> list[int]:
    job = jobs.take(jobs.slot())
    assert job is not None
    return [job.number, *(more.number for more in jobs.take_more(job))]


def test_a_worker_takes_its_share_of_what_may_start():
    jobs = JobList(4, factor=8, ordered=False, batch_size=8, fits=fits)
    fill(jobs)
    assert taken(jobs) == [1, 2, 3, 4], "fifteen for four workers"


def test_no_more_than_a_batch():
    jobs = JobList(1, factor=16, ordered=False, batch_size=4, fits=fits)
    fill(jobs)
    assert taken(jobs) == [1, 2, 3, 4]
    assert taken(jobs) == [5, 6, 7, 8]


def test_none_where_somebody_is_idle():
    jobs = JobList(2, factor=8, ordered=False, batch_size=8, fits=fits)
    idle = threading.Thread(target=jobs.take, args=(jobs.slot(),), daemon=True)
    fill(jobs, count=1)
    first = jobs.take(jobs.slot())
    assert first is not None
    idle.start()
    while not jobs._idle:
        pass
    assert jobs.take_more(first) == []
    jobs.close()
    idle.join(5)


def test_none_in_serial_mode():
    jobs = JobList(1, factor=16, ordered=False, batch_size=8, fits=fits)
    fill(jobs)
    jobs.set_serial(True)
    assert taken(jobs) == [1]


def test_r23_none_behind_a_session_whose_last_one_is_under_way():
    jobs = JobList(1, factor=16, ordered=False, batch_size=8, fits=fits)
    fill(jobs, after={3: (1,), 4: (2,), 5: (99,), 6: (5,)}, count=12)
    assert taken(jobs) == [1, 2, 3, 4, 7, 8, 9, 10], "those of the batch's own sessions, in their order"


def test_large_ones_go_by_themselves():
    jobs = JobList(1, factor=16, ordered=False, batch_size=8, fits=fits)
    fill(jobs, bytes=100_000)
    assert taken(jobs) == [1]


def test_r22_the_list_has_room_for_a_batch_of_each_worker_but_not_of_large_ones():
    for bytes_, capacity in ((100, 16), (100_000, 8)):
        jobs = JobList(2, ordered=False, batch_size=8, fits=fits)
        filler = threading.Thread(target=fill, args=(jobs,), kwargs={"count": 20, "bytes": bytes_}, daemon=True)
        filler.start()
        filler.join(0.1)
        assert len(jobs) == capacity
        jobs.abort()
        filler.join(5)


def test_what_is_left_stays_in_order():
    jobs = JobList(2, factor=8, ordered=False, batch_size=8, fits=fits)
    fill(jobs, after={2: (99,)})
    taken(jobs)
    slot = jobs.slot()
    left = [jobs.take(slot) for _ in range(len(jobs))]
    numbers = [job.number for job in left if job is not None]
    assert numbers == sorted(numbers)
    assert numbers[0] == 2


def needing(jobs: JobList, needs: list[int], order: CommitOrder | None = None) -> None:
    """Put jobs of which each needs everything up to a number."""
    order = order or CommitOrder(Consistency.EVENTUAL)
    for number, up_to in enumerate(needs, 1):
        jobs.put(Job(number, up_to, Block(number, [make(number, f"k{number}")]), order.register()))


def test_a_batch_has_no_job_that_is_older_than_its_first_one():
    jobs = JobList(1, factor=16, ordered=False, batch_size=8, fits=fits)
    needing(jobs, [0, 1, 0, 0])
    slot = jobs.slot()
    first, third = jobs.take(slot), jobs.take(slot)
    assert first is not None
    assert third is not None
    assert third.number == 3
    jobs.committed(first.number, returns=False)
    assert [job.number for job in jobs.take_more(third)] == [4], "and 2 is left for whoever is free next"
    assert jobs.take_older(3)[0].number == 2


def test_an_older_job_is_taken_only_if_it_may_start():
    jobs = JobList(1, factor=16, ordered=False, batch_size=8, fits=fits)
    needing(jobs, [0, 1, 0])
    first = jobs.take(jobs.slot())
    assert first is not None
    assert jobs.take_older(3) == []
    jobs.committed(first.number, returns=False)
    assert [job.number for job in jobs.take_older(3)] == [2]
    assert jobs.take_older(3) == []
    assert len(jobs) == 1


def test_between_two_jobs_of_a_batch_go_the_older_ones_that_may_start_by_then():
    """They may be what another worker waits for, and that one is what the next job of this batch would wait for."""
    target = Target(takes_batch=True)
    jobs = JobList(1, factor=16, ordered=False, batch_size=8, fits=fits)
    run = RunState(target, GtidSet(), QUICK, jobs, consistency=Consistency.EVENTUAL)
    needing(jobs, [0, 1, 0, 0], run.order)
    worker, first = Worker(run, 0), jobs.take(jobs.slot())
    assert first is not None
    batch = [first, *jobs.take_more(first)]
    assert [job.number for job in batch] == [1, 3, 4]
    left = worker.process_batch(batch, jobs)
    assert target.database.applied == [1, 2, 3, 4]
    jobs.committed(*(job.number for job in left), returns=False)
    assert jobs.low_water_mark == 4
    worker.close()


def test_r17_turns_are_taken_up_to_the_first_that_would_wait():
    order = CommitOrder(Consistency.EVENTUAL)
    other, first = order.register(), order.register()
    second, third = order.register(after=(first.sequence,)), order.register(after=(other.sequence,))
    assert order.take_turns([first, second, third]) == 2
    assert [ticket.state for ticket in (first, second, third)] == [TicketState.TURN, TicketState.TURN, TicketState.REGISTERED]
    order.finish_batch([first, second])
    assert order.ahead == 2
    order.wait_turn(other)
    order.finish(other)
    assert order.low_water_mark == 3
    assert order.take_turns([third]) == 1


def test_r20_no_turns_are_taken_where_commits_are_in_order_or_nothing_more_commits():
    for level in (Consistency.ANY_TIME, Consistency.MOST_OF_THE_TIME):
        order = CommitOrder(level)
        assert order.take_turns([order.register()]) == 0
    order = CommitOrder(Consistency.EVENTUAL)
    ticket = order.register()
    order.abort(ApplyFailed("root"))
    assert order.take_turns([ticket]) == 0


def test_r24_who_is_asked_to_step_back_takes_no_turn():
    order = CommitOrder(Consistency.EVENTUAL)
    first, second = order.register(), order.register()
    assert order.request_rollback(second, first.sequence)
    assert order.take_turns([first, second]) == 1


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_r20_each_is_a_commit_of_its_own(workers):
    log = independent(200)
    target = Target(takes_batch=True)
    report = apply(log, target, workers=workers, **EVENTUAL)
    check_gaps(target, log)
    assert report.commits == report.transactions == 200
    assert max(target.database.batch_size) > 1
    assert report.executed == ",".join(t.gtid for t in log)


@pytest.mark.parametrize(
    "options",
    [
        {"merge": "off"},
        {"merge": "off", "consistency": "most-of-the-time"},
        {"merge": 4, "consistency": "eventual"},
        {"workers": 0, **EVENTUAL},
    ],
)
def test_r20_no_series_where_commits_are_in_order_or_merged(options):
    target = Target(takes_batch=True)
    apply(independent(100), target, **options)
    assert target.database.batch_size == []


@pytest.mark.parametrize("fault", ["temporary", "lost", "lost-before", "lost-after", "commit-temporary"])
def test_r24_r25_what_fails_in_a_batch_is_applied_once(fault):
    log = independent(120)
    database = Database()
    database.faults.update({number: [fault] for number in range(5, 120, 7)})
    target = Target(database, takes_batch=True)
    report = apply(log, target, workers=2, **EVENTUAL)
    check_gaps(target, log)
    assert (report.transactions, report.commits) == (120, 120)
    assert max(database.batch_size) > 1
    assert report.retries > 0 or fault.startswith("lost")


def test_r18_a_culprit_in_a_batch_is_the_root_cause():
    log = independent(120)
    target = Target(takes_batch=True)
    target.database.always[60] = ApplyFailed("the culprit")
    outcome = run_within(make_applier(log, target, workers=2, **EVENTUAL))
    assert isinstance(outcome, ApplyFailed)
    assert "the culprit" in str(outcome)
    assert outcome.gtid == log[59].gtid
    check_gaps(target, log)
    assert set(range(1, 60)) <= set(target.database.applied), "everything before it commits"
    target.database.always.clear()
    apply(log, target, workers=2, **EVENTUAL)
    assert sorted(target.database.applied) == list(range(1, 121))


def test_r25_a_stop_ends_after_a_batch():
    log = independent(400)
    target = Target(Database(latency=0.001), takes_batch=True)
    applier = make_applier(log, target, workers=2, **EVENTUAL)
    threading.Timer(0.05, applier.stop).start()
    assert isinstance(run_within(applier), Stopped)
    check_gaps(target, log)
    apply(log, target, workers=2, **EVENTUAL)
    assert sorted(target.database.applied) == list(range(1, 401))
