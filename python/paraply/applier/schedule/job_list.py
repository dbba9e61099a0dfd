"""The bounded list of jobs between coordinator and workers, and the low-water mark (WL#4648, R21, R22)."""

from __future__ import annotations

import sys
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paraply.applier.schedule.contention import tables_of
from paraply.runtime import runtime

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    from paraply._native import Block
    from paraply.applier.commit.commit_order import Ticket
    from paraply.applier.schedule.concurrency_limit import ConcurrencyLimit
    from paraply.observe.worker_state import Wait
    from paraply.runtime import Lock

__all__ = ["MOST_AHEAD", "MOST_POSITIONS_AHEAD", "Job", "JobList", "WorkerSlot"]

MOST_AHEAD = 16384
"""Most jobs above the low-water mark: each takes some 2.5 kB until the mark passes it."""
MOST_POSITIONS_AHEAD = 1024
"""The same for a log without GTIDs, where each transaction's progress names all positions committed above the mark."""


@dataclass(slots=True, eq=False)
class Job:
    """A block that was handed out.

    Attributes:
        number: Sequence in the commit order, dense from 1; the block's id.
        needs: Number up to which everything must be committed before this one may start; 0 for nothing.
        block: The block to apply.
        ticket: Its ticket in the commit order.
        blocks: Numbers of further jobs that must be committed before this one may start.
        behind: Numbers of such jobs because of limited tables; set by the list.
        fits: True if it may be part of a batch; set by the list.
        held_by: The last job found that must be committed before this one may start; kept by the list.
    """

    number: int
    needs: int
    block: Block
    ticket: Ticket
    blocks: tuple[int, ...] = ()
    behind: tuple[int, ...] = ()
    fits: bool = False
    held_by: int = 0

    @property
    def is_free(self) -> bool:
        """True if it may start and commit independently of all other jobs."""
        return not (self.needs or self.blocks or self.behind or self.ticket.after)


class WorkerSlot:
    """Worker slot: the place where an idle worker waits for a job; one for each worker."""

    __slots__ = ("condition", "is_waiting", "job", "on_wait")

    def __init__(self, mutex: Lock) -> None:
        self.condition = runtime.condition(mutex)
        self.job: Job | None = None
        self.is_waiting = False
        self.on_wait: Callable[[Wait], None] | None = None
        """Called with the reason of the wait, whenever that changes."""


class JobList:
    """Jobs in the source's order, of which a worker gets the oldest one that may start.

    With commits in order, one comparison tells that all conflicting jobs are committed: the newest of them is at or below the
    low-water mark. Else the jobs committed above the mark are kept one by one. The oldest uncommitted job may always start, so that
    there is always progress.

    Args:
        workers: Number of workers, n.
        factor: k: the list is filled up to k * n jobs and refilled when n are left.
        ordered: True if the commit of a job implies that all older ones are committed.
        batch_size: Most jobs in a batch for one worker. The list can hold as many for each worker, if they fit into batches.
        fits: Returns True for a job that may be part of a batch.
        most_ahead: Most jobs above the low-water mark; matters where commits are not in order.
        concurrency: Concurrency limit; by default all workers may be busy. It does not apply to the oldest job.
    """

    def __init__(
        self,
        workers: int,
        factor: int = 4,
        *,
        ordered: bool = True,
        batch_size: int = 1,
        fits: Callable[[Job], bool] = lambda _: False,
        most_ahead: int = MOST_AHEAD,
        concurrency: ConcurrencyLimit | None = None,
    ) -> None:
        self._mutex = runtime.lock()
        self._not_full = runtime.condition(self._mutex)
        self._drained = runtime.condition(self._mutex)
        self._most = max(1, factor) * workers
        self._most_fitting = max(self._most, batch_size * workers)
        self._workers = self._least = workers
        self._jobs: list[Job] = []
        self._idle: list[WorkerSlot] = []
        self._filling = False
        self._next = 0
        self._most_ahead = most_ahead
        self._awaited: int | None = None
        self._newest_started = 0
        self._low_water_mark = 0
        self._ordered = ordered
        self._batch_size = batch_size
        self._fits = fits
        self._share = 0
        self._takes = 0
        self._committed_early: set[int] = set()
        self._serial = False
        self._last_of: dict[str, deque[int]] = {}
        self._concurrency = concurrency
        self._most_at_work = sys.maxsize if concurrency is None else concurrency.most
        self._at_work = 0
        self._held_back = False
        self._closed = False
        self._limit: int | None = None
        self._aborted = False

    def __len__(self) -> int:
        return len(self._jobs)

    @property
    def low_water_mark(self) -> int:
        """Number up to which every job is committed."""
        return self._low_water_mark

    @property
    def serial(self) -> bool:
        """True if only one job runs at a time (R24: after a storm of retries)."""
        return self._serial

    def slot(self) -> WorkerSlot:
        """Return a new worker slot."""
        return WorkerSlot(self._mutex)

    def set_serial(self, serial: bool) -> None:
        """Begin or end serial mode."""
        with self._mutex:
            self._serial = serial
            self._hand_over()

    def limit_tables(self, widths: Mapping[str, int]) -> None:
        """Limit the number of running jobs that change each of these tables, until the next call.

        The tables of jobs that have started are not known any more: the next job of a limited table waits for all of them.
        """
        with self._mutex:
            self._last_of = {table: deque([self._newest_started] * width, width) for table, width in widths.items()}
            for job in self._jobs:
                self._place_behind(job)
            self._hand_over()

    def adjust_concurrency(self) -> None:
        """Adjust the concurrency limit to the number of workers that keeps the machine busy; called a few times a second."""
        if self._concurrency is None:
            return
        held_back, self._held_back = self._held_back, False
        most = self._concurrency.adjust(held_back=held_back)
        with self._mutex:
            self._most_at_work = most
            self._hand_over()

    def put(self, job: Job) -> bool:
        """Append a job; waits for a free entry.

        Returns:
            False if no more jobs are accepted, after a stop or a failure.
        """
        return self.put_all([job]) == 1

    def put_all(self, jobs: Sequence[Job]) -> int:
        """Append jobs; waits for a free entry for each.

        Returns:
            Number of jobs accepted; smaller only if no more are accepted.
        """
        with self._mutex:
            for put, job in enumerate(jobs):
                job.fits = self._batch_size > 1 and self._fits(job)
                most = self._most_fitting if job.fits else self._most
                while (len(self._jobs) >= most or self._is_too_far(job.number)) and not self._closed:
                    self._filling, self._next = True, job.number
                    self._not_full.wait()
                self._filling = False
                if self._closed:
                    return put
                if self._last_of:
                    self._place_behind(job)
                self._jobs.append(job)
                if self._idle and self._may_start(job):
                    self._hand_over()
                if len(self._jobs) == 1:
                    self._report_idle()
        return len(jobs)

    def take(self, slot: WorkerSlot, on_wait: Callable[[Wait], None] | None = None) -> Job | None:
        """Take the oldest job that may start; waits for one.

        Args:
            slot: The worker's own slot.
            on_wait: Called with the reason of the wait, before waiting and whenever the reason changes; in the second case by another
                thread, under the list's lock.

        Returns:
            The job; None if there will be no more.
        """
        with self._mutex:
            job = self._pop_ready()
            if job is not None:
                self._dismiss_if_over()
                return job
            if self._aborted or (self._closed and not self._jobs):
                return None
            if on_wait is not None:
                on_wait(self._waits_for())
            slot.is_waiting, slot.on_wait = True, on_wait
            self._idle.append(slot)
            while slot.is_waiting:
                slot.condition.wait()
            job, slot.job = slot.job, None
            return job

    def take_more(self, first: Job) -> list[Job]:
        """Take further jobs that may start and commit now, for a worker that has just taken one; never waits.

        The number leaves as many to each other worker, so it is 0 if a worker is idle or soon would be. But jobs of a limited table that
        must follow ``first`` are taken with it.

        Args:
            first: The job that the worker has taken.
        """
        if not first.fits or first.ticket.rollback_requested:
            return []
        with self._mutex:
            self._takes += 1
            if self._takes % self._workers == 1 or self._workers == 1:  # counting costs time, so not at every call
                self._share = min(self._batch_size - 1, sum(job.is_free or self._may_commit(job) for job in self._jobs) // self._workers)
            if self._serial:
                return []
            share = 0 if self._idle else self._share
            taken: list[Job] = []
            numbers = {first.number}
            for job in self._jobs:
                if len(taken) >= self._batch_size - 1:
                    break
                if job.number < first.number:  # free only since then: behind this batch it could be what the batch waits for
                    continue
                # A job that must follow one of these jobs could not start on another worker.
                if (len(taken) >= share and numbers.isdisjoint(job.behind)) or not job.fits or job.ticket.rollback_requested:
                    continue
                if job.is_free or self._may_commit(job, numbers):
                    taken.append(job)
                    numbers.add(job.number)
            if taken:
                self._jobs = [job for job in self._jobs if job.number not in numbers]
                self._started(taken[-1])
            return taken

    def take_older(self, number: int) -> list[Job]:
        """Take the oldest job that may start, if it is older than this number; never waits.

        Returns:
            The job, or an empty list.
        """
        with self._mutex:
            job = self._pop_ready(before=number)
            if job is None:
                return []
            self._at_work -= 1  # the worker is at work with its batch already
            self._dismiss_if_over()
            return [job]

    def committed(self, *numbers: int, returns: bool = True) -> None:
        """Note commits, raise the low-water mark, and give jobs that may start now to idle workers.

        Args:
            numbers: Numbers of the committed jobs.
            returns: True if the caller takes a job next: then one is left for it.
        """
        with self._mutex:
            self._at_work -= 1 if returns else 0
            was_too_far = self._filling and self._is_too_far(self._next)
            for number in numbers:
                self._raise_mark(number)
            if was_too_far and not self._is_too_far(self._next):
                self._not_full.notify()
            if self._idle and self._jobs:
                self._hand_over(leave=1 if returns else 0)
            if self._awaited is not None and self._low_water_mark >= self._awaited:
                self._drained.notify_all()

    def drain(self, number: int) -> bool:
        """Wait until every job up to this number is committed.

        Returns:
            False if that will not happen any more.
        """
        with self._mutex:
            self._awaited = number
            while self._low_water_mark < number and not self._aborted and (self._limit is None or number <= self._limit):
                self._drained.wait()
            self._awaited = None
            return self._low_water_mark >= number

    def close(self) -> None:
        """Accept no more jobs; workers end when the list is empty."""
        with self._mutex:
            self._close()

    def stop(self) -> list[Job]:
        """Accept no more jobs, and withdraw those younger than every started job.

        Returns:
            The withdrawn jobs, youngest first, so that their tickets can be withdrawn.
        """
        with self._mutex:
            kept = [job for job in self._jobs if job.number < self._newest_started]
            taken_back = [job for job in reversed(self._jobs) if job.number > self._newest_started]
            self._jobs = kept
            self._limit = self._newest_started
            self._close()
            self._drained.notify_all()
            return taken_back

    def abort(self) -> None:
        """Drop all jobs that have not started; workers get no more jobs."""
        with self._mutex:
            self._aborted = True
            self._jobs.clear()
            self._close()
            self._drained.notify_all()

    def _close(self) -> None:
        self._closed = True
        self._not_full.notify_all()
        self._dismiss_if_over()

    def _raise_mark(self, number: int) -> None:
        if self._ordered:
            self._low_water_mark = max(number, self._low_water_mark)
            return
        early = self._committed_early
        early.add(number)
        while self._low_water_mark + 1 in early:
            self._low_water_mark += 1
            early.remove(self._low_water_mark)

    def _is_too_far(self, number: int) -> bool:
        """Return True if a job is too far above the low-water mark."""
        return number - self._low_water_mark > self._most_ahead

    def _place_behind(self, job: Job) -> None:
        """Set the job's predecessors: earlier jobs of limited tables that must be committed first."""
        last_of = self._last_of
        tables = tables_of(job.block) & last_of.keys() if last_of else ()
        job.behind, job.held_by = tuple({min(last_of[table][0], job.number - 1) for table in tables}), 0
        for table in tables:
            last_of[table].append(job.number)

    def _may_start(self, job: Job, before: Container[int] = ()) -> bool:
        mark, early = self._low_water_mark, self._committed_early
        if (job.number - 1 if self._serial else job.needs) > mark:
            return False
        for number in job.behind:
            if number > mark and number not in early and number not in before:
                job.held_by = number
                return False
        for number in job.blocks:
            if number > mark and number not in early:
                job.held_by = number
                return False
        return True

    def _may_commit(self, job: Job, before: Container[int] = ()) -> bool:
        """Return True if the job may start, and needs no turn after uncommitted jobs except those in ``before``."""
        mark, early = self._low_water_mark, self._committed_early
        return self._may_start(job, before) and all(number <= mark or number in early or number in before for number in job.ticket.after)

    def _pop_ready(self, skip: int = 0, before: int = sys.maxsize) -> Job | None:
        full = self._at_work + skip >= self._most_at_work
        mark, early = self._low_water_mark, self._committed_early
        for index, job in enumerate(self._jobs):
            if job.number >= before:
                return None
            if job.held_by > mark and job.held_by not in early:  # most jobs, at every commit: in as few steps as possible
                continue
            if full and job.number > self._low_water_mark + 1:
                self._held_back = True
                return None
            if self._may_start(job):
                if skip:
                    skip -= 1
                    continue
                del self._jobs[index]
                self._at_work += 1
                self._started(job)
                if not self._jobs:
                    self._report_idle()
                return job
        return None

    def _waits_for(self) -> Wait:
        if not self._jobs:
            return "input"
        return "rest" if self._at_work >= self._most_at_work else "dependency"

    def _report_idle(self) -> None:
        """Report the reason of the wait to all idle workers."""
        waits_for = self._waits_for()
        for slot in self._idle:
            if slot.on_wait is not None:
                slot.on_wait(waits_for)

    def _started(self, job: Job) -> None:
        self._newest_started = max(self._newest_started, job.number)
        if self._filling and len(self._jobs) <= self._least:
            self._not_full.notify()

    def _hand_over(self, leave: int = 0) -> None:
        """Give jobs that may start directly to idle workers, so that no notification is lost and none is needless."""
        while self._idle and (job := self._pop_ready(leave)) is not None:
            slot = self._idle.pop()
            slot.job = job
            slot.is_waiting = False
            slot.condition.notify()
        self._dismiss_if_over()

    def _dismiss_if_over(self) -> None:
        if not self._closed or self._jobs:
            return
        for slot in self._idle:
            slot.is_waiting = False
            slot.condition.notify()
        self._idle.clear()
