"""Tables whose transactions hold each other up are applied one after the other for a while (R24)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from paraply.applier.commit.commit_order import Ticket
from paraply.applier.execute.run_state import RunState
from paraply.applier.execute.worker import Worker
from paraply.applier.schedule.contention import Contention
from paraply.applier.schedule.job_list import Job, JobList


def job(number: int, *tables: str) -> Job:
    """A job of one transaction."""
    block: Any = SimpleNamespace(transactions=[SimpleNamespace(tables=list(tables))])
    return Job(number, 0, block, Ticket())


def ready(jobs: JobList, most: int = 9) -> list[int]:
    """The jobs that may start now."""
    taken = []
    while len(taken) < most and (found := jobs._pop_ready()) is not None:
        taken.append(found.number)
    return taken


def test_r24_few_meetings_far_apart_change_nothing() -> None:
    contention = Contention()
    assert not any(contention.met(["d.t"], 100 * place) for place in range(50))
    assert contention.widths == {}


def test_r24_a_table_is_kept_in_order_the_longer_the_sooner_it_meets_again() -> None:
    contention = Contention(meetings=1, first=100, longest=800)
    number, spans = 1, []
    for _ in range(5):
        assert contention.met(["d.t"], number)
        begin = number
        while contention.widths.get("d.t") == 1:
            contention.relax(number := number + 1)
        spans.append(number - begin - 1)
    assert spans == [100, 200, 400, 800, 800]
    for _ in range(2000):
        contention.relax(number := number + 1)
    assert contention.widths == {}
    assert contention.met(["d.t"], number)
    contention.relax(number + 101)
    assert contention.widths == {"d.t": 2}, "after a long calm it begins anew"


def test_r24_a_meeting_while_a_table_is_in_order_is_not_counted() -> None:
    """Of transactions that had started before."""
    contention = Contention(meetings=1)
    assert contention.met(["d.t", "d.u"], 1)
    assert not contention.met(["d.t"], 2)
    assert contention.met(["d.v"], 3)
    assert contention.widths == {"d.t": 1, "d.u": 1, "d.v": 1}


def test_r24_jobs_of_a_limited_table_start_one_after_the_other_and_others_beside_them() -> None:
    jobs = JobList(8, factor=8)
    jobs.put_all([job(1, "d.t"), job(2, "d.t"), job(3, "d.u"), job(4, "d.t", "d.u"), job(5, "d.u"), job(6, "d.t")])
    assert ready(jobs, 1) == [1]
    jobs.limit_tables({"d.t": 1})
    jobs.put_all([job(7, "d.t")])
    assert ready(jobs) == [3, 5], "what was started before is not told by its tables"
    for number, expected in ((1, [2]), (2, [4]), (3, []), (4, [6]), (5, []), (6, [7])):
        jobs.committed(number)
        assert ready(jobs) == expected


@pytest.mark.parametrize("width", [2, 4])
def test_r24_a_wider_bound_lets_as_many_start_at_once(width: int) -> None:
    jobs = JobList(8, factor=8)
    jobs.limit_tables({"d.t": width})
    jobs.put_all([job(number, "d.t") for number in range(1, 10)])
    assert ready(jobs) == list(range(1, width + 1))
    jobs.committed(1)
    assert ready(jobs) == [width + 1]
    jobs.limit_tables({})
    assert ready(jobs) == list(range(width + 2, 10))


def test_r24_the_oldest_job_may_always_start_whatever_was_started_before_it() -> None:
    jobs = JobList(8, factor=8)
    jobs.put_all([job(1, "d.t"), job(2, "d.u"), job(3, "d.t")])
    jobs._jobs[0].blocks = (0,)
    jobs._started(jobs._jobs.pop())
    jobs.limit_tables({"d.t": 1})
    assert ready(jobs) == [1, 2]


def test_a_batch_holds_jobs_of_a_limited_table_that_follow_one_another() -> None:
    """One worker commits them one after the other anyway."""
    jobs = JobList(2, ordered=False, batch_size=8, fits=lambda _: True)
    jobs.limit_tables({"d.t": 1})
    jobs.put_all([job(number, "d.t") for number in range(1, 9)])
    first = jobs._pop_ready()
    assert first is not None
    assert [one.number for one in jobs.take_more(first)] == list(range(2, 9))


@pytest.mark.parametrize(("limited", "waits"), [(False, [3, 8, 8]), (True, [8, 8, 8])])
def test_r24_a_transaction_that_blocks_older_ones_again_waits_for_all_of_them(limited: bool, waits: list[int]) -> None:
    """Also the first time, where its table is applied in order: it would block the next one."""
    waited_for: list[int] = []
    order = SimpleNamespace(wait_for=lambda _ticket, older: waited_for.append(older))
    run: Any = SimpleNamespace(order=order, timeline=None, retried=lambda: None, is_in_order=lambda _block: limited)
    worker = Worker(run, 0)
    blocked = job(9, "d.t")
    worker._begin_job(blocked)
    for older in (3, 4, 5):
        worker._step_back(blocked, older)
    assert waited_for == waits
    worker._begin_job(job(10, "d.t"))
    worker._step_back(blocked, 6)
    assert waited_for[3] == (8 if limited else 6), "the next job begins anew"


def test_r24_a_table_is_in_order_while_its_width_is_one() -> None:
    run = RunState.__new__(RunState)
    run.contention = Contention(meetings=1, first=10)
    assert not run.is_in_order(job(1, "d.t").block)
    run.contention.met(["d.t"], 1)
    assert run.is_in_order(job(2, "d.u", "d.t").block)
    assert not run.is_in_order(job(2, "d.u").block)
    run.contention.relax(12)
    assert not run.is_in_order(job(3, "d.t").block), "two at once are tried"
