"""Applier that takes one step at a time, so that every order of steps can be tried: same policy and commit order, no threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, cast

from paraply._native import Certifier, SourceSession
from paraply.applier.commit.commit_order import CommitOrder, Ticket
from paraply.applier.commit.consistency import Consistency
from paraply.applier.schedule.policy.base import Needs
from paraply.applier.schedule.policy.logical_clock import LogicalClockPolicy
from paraply.applier.schedule.session_order import SessionOrder
from paraply.group.delivery.messages import LogEntry
from paraply.group.members.member import Member, renumbered
from paraply.group.members.pending import Pending
from paraply.group.storage.store import MemoryStore

if TYPE_CHECKING:
    from paraply._native import Block
    from paraply.group.delivery.log import Logged, ReadableLog

__all__ = ["Phase", "SteppedApplier"]


DONOR = "donor"


@dataclass(frozen=True, slots=True)
class Phase:
    """Part of a log that is applied before the next one begins.

    Attributes:
        log: Returns the log; after the loss of a donor another one.
        after: Position after which to begin.
        until: GTID of the transaction after which the phase ends (WAIT_UNTIL_VIEW_CHANGE).
        restamp: True if the numbers in the log are another member's, so that new ones are computed.
        ended: Called at the end of the phase.
    """

    log: Callable[[], ReadableLog | None]
    after: int = 0
    until: str | None = None
    restamp: bool = False
    ended: Callable[[], None] | None = None


@dataclass(slots=True, eq=False)
class Job:
    """Transaction that was handed out, with the attributes of a block for policy and session order."""

    id: int
    entry: LogEntry
    file: str
    ticket: Ticket
    needs: Needs = field(default_factory=Needs)
    started: bool = False
    sent: bool = False

    offset = 0
    depends_on_all = False

    @property
    def kind(self) -> str:
        """Kind of the transaction."""
        return self.entry.kind

    @property
    def first_gtid(self) -> str:
        """GTID of the transaction."""
        return self.entry.gtid

    @property
    def last_committed(self) -> int:
        """Its ``last_committed``."""
        return self.entry.last_committed

    @property
    def sequence_number(self) -> int:
        """Its ``sequence_number``."""
        return self.entry.sequence_number

    @property
    def sessions(self) -> list[SourceSession]:
        """Session of the transaction, as a block names it."""
        return [SourceSession(self.entry.server_id, self.entry.session)]


class SteppedApplier:
    """Applier of a member's logs, one step at a time.

    Args:
        member: The member.
        workers: Most transactions in progress at the same time.
        consistency: Level that decides when a commit may be sent (R20).
    """

    def __init__(self, member: Member, workers: int = 4, consistency: Consistency = Consistency.ANY_TIME) -> None:
        self._member = member
        self._store = cast("MemoryStore", member.store)
        self._workers = workers
        self._consistency = consistency
        self._order = CommitOrder(consistency)
        self._sessions = SessionOrder()
        self._policy = LogicalClockPolicy()
        self._jobs: list[Job] = []
        self._done: set[int] = set()
        self._handed = 0
        self._phases: deque[Phase] = deque()
        self._position = 0
        self._restamp = Certifier(first_remote_alone=False)
        self._seen_until = False
        self._source: ReadableLog | None = None
        self.locals: list[Pending] = []
        """Local transactions that may commit."""
        self.committed: list[LogEntry] = []
        """Applied transactions, in the order of their commits."""
        self.most_at_once = 0
        """Most transactions that were in progress at the same time."""

    def plan(self, phases: list[Phase]) -> None:
        """Set the phases to apply, one after the other."""
        self._phases = deque(phases)
        self._position = phases[0].after if phases else 0

    def choices(self) -> list[Callable[[], None]]:
        """Return every step that is possible now."""
        self._pull()
        steps: list[Callable[[], None]] = []
        job = self._next_to_start()
        if job is not None:
            steps.append(partial(self._start, job))
        for job in self._jobs:
            if job.started and self._may_commit(job):
                steps.append(partial(self._commit, job))
            elif job.started and self._may_send(job):
                steps.append(partial(self._send, job))
        executed = self._store.executed()
        for pending in self.locals:
            if pending.needs <= executed:
                steps.append(partial(self._commit_local, pending))
        return steps

    def step(self) -> bool:
        """Run the first possible step; return False if there is none."""
        steps = self.choices()
        if steps:
            steps[0]()
        return bool(steps)

    # Handing out.

    def _pull(self) -> None:
        while len(self._jobs) < 4 * self._workers:
            if not self._phases:
                return
            phase = self._phases[0]
            log = phase.log()
            if log is not self._source:  # the first log, or another donor's: executed transactions are skipped
                self._source, self._position = log, phase.after
            found = [] if log is None or self._seen_until else log.read(self._position, 1)
            if found:
                self._take(found[0], phase)
            elif self._jobs or not self._seen_until:
                return
            else:
                self._next_phase()

    def _next_phase(self) -> None:
        phase = self._phases.popleft()
        self._seen_until, self._source = False, None
        if self._phases:
            self._position = self._phases[0].after
        if phase.ended is not None:
            phase.ended()

    def _take(self, logged: Logged, phase: Phase) -> None:
        self._position = logged.end
        entry = logged.entry
        if phase.until is not None and entry.gtid == phase.until:
            self._seen_until = True
        if entry.gtid in self._store.executed() or any(job.entry.gtid == entry.gtid for job in self._jobs):
            if not phase.restamp:
                self._member.count_applied(1)
            return
        if phase.restamp and entry.kind != "view_change":
            stamp = self._restamp.certify(entry.write_set, barrier=entry.barrier)
            entry = renumbered(entry, stamp.last_committed or 0, stamp.sequence_number or 0)
        self._hand_out(entry, f"{DONOR if phase.restamp else 'relay'}.{logged.file}")

    def _hand_out(self, entry: LogEntry, file: str) -> None:
        self._handed += 1
        mark = self._order.low_water_mark
        job = Job(self._handed, entry, file, Ticket())
        block = cast("Block", job)
        job.needs = self._policy.needs(block, mark)
        after = () if self._consistency.keeps_order else self._sessions.before(block, mark)
        self._order.register(job.ticket, after=after)
        self._jobs.append(job)

    # Applying.

    def _next_to_start(self) -> Job | None:
        """Return the oldest transaction that the policy lets start, as the job list does; so the oldest of all never lacks a worker."""
        if sum(job.started for job in self._jobs) >= self._workers:
            return None
        mark = self._order.low_water_mark
        oldest = next((job for job in self._jobs if not job.started and job.needs.up_to <= mark), None)
        return oldest if oldest is not None and self._may_start(oldest) else None

    def _may_start(self, job: Job) -> bool:
        mark = self._order.low_water_mark
        if job.entry.kind == "ddl" and mark < job.id - 1:  # it commits by itself, in its turn (R19)
            return False
        return self._member.locals.may_start(job.entry.gtid)

    def _start(self, job: Job) -> None:
        self._store.begin(job.entry)
        job.started = True
        self.most_at_once = max(self.most_at_once, sum(other.started for other in self._jobs))

    def _may_send(self, job: Job) -> bool:
        if self._consistency is not Consistency.MOST_OF_THE_TIME or job.sent:
            return False
        return self._after_through(job) and all(other.sent for other in self._jobs if other.id < job.id)

    def _send(self, job: Job) -> None:
        self._order.wait_turn(job.ticket)
        self._order.sent(job.ticket)
        job.sent = True

    def _may_commit(self, job: Job) -> bool:
        match self._consistency:
            case Consistency.ANY_TIME:
                return job is self._jobs[0]
            case Consistency.MOST_OF_THE_TIME:
                return job.sent
            case _:
                return self._after_through(job)

    def _after_through(self, job: Job) -> bool:
        mark = self._order.low_water_mark
        return all(number <= mark or number in self._done for number in job.ticket.after)

    def _commit(self, job: Job) -> None:
        self._order.wait_turn(job.ticket)
        self._member.log(job.entry)
        self._store.commit(job.entry)
        self._order.finish(job.ticket)
        self._jobs.remove(job)
        mark = self._order.low_water_mark
        self._done = {number for number in (*self._done, job.id) if number > mark}
        self.committed.append(job.entry)
        if not job.file.startswith(DONOR):
            self._member.count_applied(1)

    def _commit_local(self, pending: Pending) -> None:
        entry = pending.entry
        if entry is not None:
            self._member.log(entry)
            self._store.commit_local(entry)
            self.committed.append(entry)
        self.locals.remove(pending)
        self._member.local_committed(pending)
