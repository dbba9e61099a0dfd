"""Detection of lock waits of the oldest transaction for younger ones that wait for their turn to commit (R24)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from paraply.applier.execute.retry import Patience
from paraply.applier.schedule.contention import tables_of
from paraply.errors import ParaplyError
from paraply.observe.worker_state import APPLYING, COMMITTING
from paraply.runtime import runtime
from paraply.targets.lock_waits import UNTOLD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paraply._native import Block
    from paraply.applier.commit.commit_order import Ticket
    from paraply.applier.execute.run_state import RunState
    from paraply.applier.execute.worker import Worker

__all__ = ["LockWatchdog", "Patience"]


_LONGER = 1.5


@dataclass(slots=True)
class _Case:
    """One watched attempt of the oldest block."""

    number: int
    attempt: int
    block: Block
    next_look: float
    pause: float
    asked: set[int] = field(default_factory=set)
    met: set[str] = field(default_factory=set)
    guessed: bool = False
    held_back: float = 0.0


@dataclass(slots=True)
class _Wait:
    """Time since one block became the oldest uncommitted one, including retries: a lock wait that the target ends begins anew."""

    number: int
    since: float
    next_report: float


class LockWatchdog:
    """Watchdog for the oldest block in progress; one thread calls it again and again.

    Args:
        run: State shared by the run's threads.
        workers: The workers.
        patience: Waiting times before each action.
    """

    def __init__(self, run: RunState, workers: Sequence[Worker], patience: Patience | None = None) -> None:
        self._run = run
        self._workers = workers
        self._patience = patience or Patience()
        self._case: _Case | None = None
        self._wait: _Wait | None = None
        self._shows_blockers = False

    def check(self) -> None:
        """Check once whether the oldest block is blocked, and request the rollback of the younger transactions that block it."""
        oldest = self._run.order.oldest()
        worker = self._worker_of(oldest)
        if self._wait is not None and (oldest is None or oldest.sequence != self._wait.number):
            self._wait, self._run.foreign_blockers = None, ()
        job = None if worker is None else worker.job
        if oldest is None or worker is None or job is None or worker.counters.state not in (APPLYING, COMMITTING):
            self._case = None
            return
        now = runtime.perf_counter()
        attempt, age = worker.attempt, now - worker.since
        wait = self._wait = self._wait or _Wait(oldest.sequence, worker.since, self._patience.foreign)
        waited = now - wait.since
        if self._case is None or (self._case.number, self._case.attempt) != (oldest.sequence, attempt):
            first = self._first_look()
            self._case = _Case(oldest.sequence, attempt, job.block, worker.since + first, first)
        case = self._case
        if now < case.next_look or (waited < self._patience.foreign and not self._may_be_blocking()):
            return
        blockers = self._blockers(worker.counters.connection_id)
        if UNTOLD in blockers:
            blockers = known_connections(blockers)
            self._ask_suspects(case)
        foreign = self._resolve(case, blockers)
        self._run.foreign_blockers = tuple(sorted(foreign))
        if self._run.optimistic and not blockers and not case.guessed:
            case.guessed = True
            self._ask_dependents(case)
        if waited >= wait.next_report and (foreign or not blockers):
            wait.next_report = waited * 2 if self._report(worker.counters.connection_id) else waited + self._patience.foreign / 3
        if age > max(self._coarse(), case.held_back * 2) and self._may_be_blocking():
            case.held_back = age
            self._run.order.hold_back(case.number)
            self._count(case, case.block)
        cost = runtime.perf_counter() - now
        case.next_look = now + max(case.pause, 10 * cost)
        case.pause = min(self._patience.longest, case.pause * _LONGER)

    def _may_be_blocking(self) -> bool:
        """Return True if a younger transaction can hold a lock that the oldest waits for.

        A transaction that waits for its turn can; any other only in a run where only row locks order transactions.
        """
        return self._run.optimistic or bool(self._run.order.waiting())

    def _resolve(self, case: _Case, blockers: list[int]) -> set[int]:
        """Request the rollback of blockers among this run's younger blocks; return all other blockers, following the chain of waits."""
        by_connection = {worker.counters.connection_id: worker for worker in self._workers if worker.counters.connection_id}
        foreign: set[int] = set()
        seen: set[int] = set()
        ahead = list(blockers)
        while ahead:
            connection = ahead.pop()
            if connection in seen:
                continue
            seen.add(connection)
            self._shows_blockers = True
            worker = by_connection.get(connection)
            if worker is None:
                foreign.add(connection)
                ahead += known_connections(self._blockers(connection))
            else:
                ahead += self._ask_to_give_way(case, worker)
        return foreign

    def _ask_to_give_way(self, case: _Case, worker: Worker) -> list[int]:
        """Request the rollback of a younger transaction; return its own blockers if it is still being applied."""
        job = worker.job
        if job is None or not self._run.order.request_rollback(job.ticket, case.number):
            return []
        self._count(case, job.block)
        if worker.counters.state != APPLYING:
            return []
        if job.number in case.asked:
            worker.interrupt()
        case.asked.add(job.number)
        return known_connections(self._blockers(worker.counters.connection_id))

    def _ask_suspects(self, case: _Case) -> None:
        """Request the rollback of waiting transactions that change a table of the oldest block: the target reports blockers late."""
        tables, waiting = tables_of(case.block), self._run.order.waiting()
        for worker in self._workers:
            job = worker.job
            if job is None or job.ticket not in waiting or tables.isdisjoint(tables_of(job.block)):
                continue
            if self._run.order.request_rollback(job.ticket, case.number):
                self._count(case, job.block)

    def _count(self, case: _Case, younger: Block) -> None:
        """Count the tables that both blocks change, once for each attempt."""
        tables = tables_of(case.block) & tables_of(younger) - case.met
        case.met |= tables
        self._run.contended(tables)

    def _ask_dependents(self, case: _Case) -> None:
        """Request the rollback of transactions that depend on the oldest block, directly or not, because the target reports no blocker."""
        sharing = {case.number}
        jobs = [job for worker in self._workers if (job := worker.job) is not None]
        for job in sorted(jobs, key=lambda job: job.number):
            if not sharing.isdisjoint(job.block.depends_on):
                sharing.add(job.number)
                self._run.order.request_rollback(job.ticket, case.number)

    def _report(self, connection_id: int) -> bool:
        """Report the connections that block the oldest block, and their statements; return False if it waits for no lock."""
        try:
            text = self._run.target.describe_wait(connection_id, self._run.foreign_blockers)
        except ParaplyError:
            return False
        if text:
            self._run.note(f"the oldest transaction {text}")
        return bool(text)

    def _blockers(self, connection_id: int) -> list[int]:
        try:
            return list(self._run.target.blockers(connection_id))
        except ParaplyError:
            return []

    def _worker_of(self, ticket: Ticket | None) -> Worker | None:
        if ticket is None:
            return None
        for worker in self._workers:
            job = worker.job
            if job is not None and job.ticket is ticket:
                return worker
        return None

    def _first_look(self) -> float:
        patience = self._patience
        return min(patience.longest, max(patience.shortest, patience.factor * self._run.apply_seconds))

    def _coarse(self) -> float:
        patience = self._patience
        seconds = max(patience.coarse, patience.coarse_factor * self._run.apply_seconds)
        return seconds * patience.trusted if self._shows_blockers else seconds


def known_connections(blockers: list[int]) -> list[int]:
    """Return the known connections among blockers."""
    return [connection for connection in blockers if connection != UNTOLD]
