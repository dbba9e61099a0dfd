"""The bounded list of jobs between the coordinator and the workers, and the low-water mark (WL#4648, R21, R22)."""

from __future__ import annotations

import sys
import threading
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paraply.applier.schedule.contention import tables_of

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    from paraply._native import Block
    from paraply.applier.commit.commit_order import Ticket
    from paraply.applier.schedule.concurrency_limit import Hands
    from paraply.observe.worker_state import Wait

__all__ = ["MOST_AHEAD", "MOST_PLACES_AHEAD", "Job", "JobList", "Seat"]

MOST_AHEAD = 16384
"""Jobs that are handed out behind the low-water mark: what is remembered of each until the mark passes it takes some 2.5 kB."""
MOST_PLACES_AHEAD = 1024
"""The same for a log without GTIDs, where each transaction's progress names all places that are committed ahead of the mark."""


@dataclass(slots=True, eq=False)
class Job:
    """A block that was handed out.

    Attributes:
        number: Place in the commit order, dense from 1; the block's id.
        needs: Number up to which everything must be committed before this one may start; 0 for nothing.
        block: What to apply.
        ticket: Its place in the commit order.
        blocks: Numbers of jobs that must be committed too before this one may start.
        behind: The same, for tables that are bounded; the list finds out.
        fits: Whether it may be one of several that a worker takes; the list finds out.
    """

    number: int
    needs: int
    block: Block
    ticket: Ticket
    blocks: tuple[int, ...] = ()
    behind: tuple[int, ...] = ()
    fits: bool = False

    @property
    def is_free(self) -> bool:
        """Whether it may start and commit whatever else is under way."""
        return not (self.needs or self.blocks or self.behind or self.ticket.after)


class Seat:
    """Where an idle worker waits for a job; one for each worker."""

    __slots__ = ("condition", "job", "on_wait", "seated")

    def __init__(self, mutex: threading.Lock) -> None:
        self.condition = threading.Condition(mutex)
        self.job: Job | None = None
        self.seated = False
        self.on_wait: Callable[[Wait], None] | None = None
        """Told what the wait is for, whenever that changes."""


class JobList:
    """Jobs in the source's order; a worker gets the oldest one that may start.

    With commits in order, "everything that it conflicts with is committed" is one comparison: the newest of them is at or
    below the low-water mark. Else the jobs that are committed ahead of the mark are known one by one. The oldest job that is
    not committed may always start, so that there is always progress.

    Args:
        workers: Number of workers, n.
        factor: k: the list is filled up to k * n jobs and refilled when n are left.
        ordered: Whether a committed job says that all older ones are committed as well.
        series: Most jobs that a worker takes at once. The list has room for that many for each worker, if they are such as fit.
        fits: Whether a job may be one of several.
        most_ahead: Most jobs behind the low-water mark that are handed out; matters where commits are not in order.
        hands: How many workers are at work at once; all of them by default. The oldest job does not wait for that.
    """

    def __init__(
        self,
        workers: int,
        factor: int = 4,
        *,
        ordered: bool = True,
        series: int = 1,
        fits: Callable[[Job], bool] = lambda _: False,
        most_ahead: int = MOST_AHEAD,
        hands: Hands | None = None,
    ) -> None:
        self._mutex = threading.Lock()
        self._room = threading.Condition(self._mutex)
        self._drained = threading.Condition(self._mutex)
        self._most = max(1, factor) * workers
        self._most_fitting = max(self._most, series * workers)
        self._workers = self._least = workers
        self._jobs: list[Job] = []
        self._idle: list[Seat] = []
        self._filling = False
        self._next = 0
        self._most_ahead = most_ahead
        self._awaited: int | None = None
        self._newest_started = 0
        self._low_water_mark = 0
        self._ordered = ordered
        self._series = series
        self._fits = fits
        self._share = 0
        self._takes = 0
        self._committed_early: set[int] = set()
        self._serial = False
        self._last_of: dict[str, deque[int]] = {}
        self._hands = hands
        self._most_at_work = sys.maxsize if hands is None else hands.most
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
        """Whether only one job is in flight at a time (R24: after a storm of retries)."""
        return self._serial

    def seat(self) -> Seat:
        """A place for one worker."""
        return Seat(self._mutex)

    def set_serial(self, serial: bool) -> None:
        """Begins or ends the serial mode."""
        with self._mutex:
            self._serial = serial
            self._hand_over()

    def bound_tables(self, widths: Mapping[str, int]) -> None:
        """Has no more jobs that change one of these tables be under way than is said of it, until others are named.

        What was started before is not told by its tables: the next jobs of a table wait for all of it.
        """
        with self._mutex:
            self._last_of = {table: deque([self._newest_started] * width, width) for table, width in widths.items()}
            for job in self._jobs:
                self._place_behind(job)
            self._hand_over()

    def count_hands(self) -> None:
        """Lets as many workers be at work as keep the machine busy; to be called a few times a second."""
        if self._hands is None:
            return
        held_back, self._held_back = self._held_back, False
        most = self._hands.look(held_back=held_back)
        with self._mutex:
            self._most_at_work = most
            self._hand_over()

    def put(self, job: Job) -> bool:
        """Appends a job; waits for room.

        Returns:
            False if no more jobs are taken: stopped or failed.
        """
        return self.put_all([job]) == 1

    def put_all(self, jobs: Sequence[Job]) -> int:
        """Appends jobs; waits for room for each.

        Returns:
            How many were taken; not all of them if no more are.
        """
        with self._mutex:
            for put, job in enumerate(jobs):
                job.fits = self._series > 1 and self._fits(job)
                most = self._most_fitting if job.fits else self._most
                while (len(self._jobs) >= most or self._is_too_far(job.number)) and not self._closed:
                    self._filling, self._next = True, job.number
                    self._room.wait()
                self._filling = False
                if self._closed:
                    return put
                if self._last_of:
                    self._place_behind(job)
                self._jobs.append(job)
                if self._idle and self._may_start(job):
                    self._hand_over()
                if len(self._jobs) == 1:
                    self._tell_idle()
        return len(jobs)

    def take(self, seat: Seat, on_wait: Callable[[Wait], None] | None = None) -> Job | None:
        """The oldest job that may start; waits for one.

        Args:
            seat: The worker's own.
            on_wait: Called before waiting, and when that changes meanwhile, with what the wait is for. In the second case by
                another thread, under the list's lock.

        Returns:
            None when there will be no more.
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
            seat.seated, seat.on_wait = True, on_wait
            self._idle.append(seat)
            while seat.seated:
                seat.condition.wait()
            job, seat.job = seat.job, None
            return job

    def take_more(self, first: Job) -> list[Job]:
        """A share of the jobs that may start and commit now, for a worker that has just taken one; does not wait.

        They are as many as leave the same number to each of the workers, so none where somebody is idle or soon would be; but those of a
        bounded table that come behind it go with it.

        Args:
            first: The job that it has taken.
        """
        if not first.fits or first.ticket.rollback_requested:
            return []
        with self._mutex:
            self._takes += 1
            if self._takes % self._workers == 1 or self._workers == 1:  # often enough, and for few of them
                self._share = min(self._series - 1, sum(job.is_free or self._may_commit(job) for job in self._jobs) // self._workers)
            if self._serial:
                return []
            share = 0 if self._idle else self._share
            taken: list[Job] = []
            numbers = {first.number}
            for job in self._jobs:
                if len(taken) >= self._series - 1:
                    break
                # What comes behind one of ours can start nowhere else.
                if (len(taken) >= share and numbers.isdisjoint(job.behind)) or not job.fits or job.ticket.rollback_requested:
                    continue
                if job.is_free or self._may_commit(job, numbers):
                    taken.append(job)
                    numbers.add(job.number)
            if taken:
                self._jobs = [job for job in self._jobs if job.number not in numbers]
                self._started(taken[-1])
            return taken

    def committed(self, *numbers: int, returns: bool = True) -> None:
        """Notes commits and raises the low-water mark; jobs that may start now go to idle workers.

        Args:
            numbers: The jobs that were committed.
            returns: Whether the caller takes a job next: then one is left for it.
        """
        with self._mutex:
            self._at_work -= 1 if returns else 0
            was_too_far = self._filling and self._is_too_far(self._next)
            for number in numbers:
                self._raise_mark(number)
            if was_too_far and not self._is_too_far(self._next):
                self._room.notify()
            if self._idle and self._jobs:
                self._hand_over(leave=1 if returns else 0)
            if self._awaited is not None and self._low_water_mark >= self._awaited:
                self._drained.notify_all()

    def drain(self, number: int) -> bool:
        """Waits until every job up to this number is committed.

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
        """No more jobs will come; workers end when the list is empty."""
        with self._mutex:
            self._close()

    def stop(self) -> list[Job]:
        """Takes no more jobs, and takes back those that are younger than any that was started.

        Returns:
            The jobs taken back, youngest first, so that their tickets can be withdrawn.
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
        """Drops everything that was not started; workers get no more jobs."""
        with self._mutex:
            self._aborted = True
            self._jobs.clear()
            self._close()
            self._drained.notify_all()

    def _close(self) -> None:
        self._closed = True
        self._room.notify_all()
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
        """Whether a job is too far ahead of what is committed without a gap."""
        return number - self._low_water_mark > self._most_ahead

    def _place_behind(self, job: Job) -> None:
        """Notes which jobs of the tables that are bounded it comes after."""
        last_of = self._last_of
        tables = tables_of(job.block) & last_of.keys() if last_of else ()
        job.behind = tuple({min(last_of[table][0], job.number - 1) for table in tables})
        for table in tables:
            last_of[table].append(job.number)

    def _may_start(self, job: Job, before: Container[int] = ()) -> bool:
        mark, early = self._low_water_mark, self._committed_early
        if (job.number - 1 if self._serial else job.needs) > mark:
            return False
        if job.behind and not all(number <= mark or number in early or number in before for number in job.behind):
            return False
        return all(number <= mark or number in early for number in job.blocks)

    def _may_commit(self, job: Job, before: Container[int] = ()) -> bool:
        """Whether it may start, and would not wait for a turn behind what is not committed, but for what is before it anyway."""
        mark, early = self._low_water_mark, self._committed_early
        return self._may_start(job, before) and all(number <= mark or number in early or number in before for number in job.ticket.after)

    def _pop_ready(self, skip: int = 0) -> Job | None:
        full = self._at_work + skip >= self._most_at_work
        for index, job in enumerate(self._jobs):
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
                    self._tell_idle()
                return job
        return None

    def _waits_for(self) -> Wait:
        if not self._jobs:
            return "input"
        return "rest" if self._at_work >= self._most_at_work else "dependency"

    def _tell_idle(self) -> None:
        """Tells the workers that wait what it is for."""
        waits_for = self._waits_for()
        for seat in self._idle:
            if seat.on_wait is not None:
                seat.on_wait(waits_for)

    def _started(self, job: Job) -> None:
        self._newest_started = max(self._newest_started, job.number)
        if self._filling and len(self._jobs) <= self._least:
            self._room.notify()

    def _hand_over(self, leave: int = 0) -> None:
        """Gives jobs that may start directly to workers that wait: no wake-up is lost, and none is for nothing."""
        while self._idle and (job := self._pop_ready(leave)) is not None:
            seat = self._idle.pop()
            seat.job = job
            seat.seated = False
            seat.condition.notify()
        self._dismiss_if_over()

    def _dismiss_if_over(self) -> None:
        if not self._closed or self._jobs:
            return
        for seat in self._idle:
            seat.seated = False
            seat.condition.notify()
        self._idle.clear()
