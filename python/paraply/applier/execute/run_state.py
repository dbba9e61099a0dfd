"""What the threads of one apply run share."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from typing import TYPE_CHECKING, cast

from paraply.applier.commit.commit_order import CommitOrder
from paraply.applier.commit.consistency import Consistency
from paraply.applier.execute.retry import RetryPolicy, StormGuard
from paraply.applier.execute.scheduled_event_note import logged_event
from paraply.applier.execute.split import SplitSession
from paraply.applier.schedule.contention import Contention

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from paraply._native import Block, GtidSet
    from paraply.applier.execute.split import SplitCrew
    from paraply.applier.schedule.job_list import JobList
    from paraply.observe.timeline import Timeline
    from paraply.targets.protocol import Session, Target
    from paraply.targets.two_phase import BranchSession

__all__ = ["RunState", "SharedTarget"]

_log = logging.getLogger("paraply.applier")

_STEP = 0.05
_EARLY = 64
"""Blocks ahead of a gap that are looked over for the first time, if nobody asks before; then when they are twice as many."""


class SharedTarget:
    """A target whose own connection is used by one thread at a time; sessions are opened without waiting.

    Args:
        target: The target.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self.crew: SplitCrew | None = None
        """Helps the sessions with large transactions; only with a policy that splits them."""
        self._mutex = threading.Lock()

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[Target]:
        """The target, for calls other than ``session``."""
        with self._mutex:
            yield self._target

    def session(self) -> Session:
        """A new session for the calling thread."""
        session = self._target.session()
        return session if self.crew is None else SplitSession(cast("BranchSession", session), self.crew)

    def committed(self, block: Block) -> bool:
        """Whether the block is in."""
        with self._mutex:
            found = self._target.committed(block)
        if self.crew is not None:
            self.crew.decided(block, committed=found)
        return found

    def blockers(self, connection_id: int) -> list[int]:
        """Who holds the locks that this connection waits for."""
        with self._mutex:
            return self._target.blockers(connection_id)

    def describe_wait(self, connection_id: int, holders: Sequence[int]) -> str:
        """What is said of that wait."""
        with self._mutex:
            return self._target.describe_wait(connection_id, holders)


class RunState:
    """Order, counters and switches of one run.

    Args:
        target: The target.
        executed: GTIDs that the target's progress holds at the start.
        retry: How temporary errors are met.
        jobs: The job list; None when blocks are applied inline.
        storm: Sees storms of retries; a default one if not given.
        consistency: When a commit may be sent.
        optimistic: Whether blocks start although they may conflict with older ones.
        low: What is executed without a gap, if the log's GTIDs are MariaDB's, whose text is a position; else None.
    """

    def __init__(
        self,
        target: Target,
        executed: GtidSet,
        retry: RetryPolicy,
        jobs: JobList | None,
        storm: StormGuard | None = None,
        *,
        consistency: Consistency = Consistency.ANY_TIME,
        optimistic: bool = False,
        low: GtidSet | None = None,
    ) -> None:
        self.target = SharedTarget(target)
        self.order = CommitOrder(consistency, optimistic=optimistic)
        self.optimistic = optimistic
        self._counting = threading.Lock()
        self.jobs = jobs
        self.retry = retry
        self.storm = storm or StormGuard()
        self.contention = Contention()
        #: Both our own, raised in place: a copy for each block takes the longer the more gaps there are.
        self._executed = executed | executed
        self._low = None if low is None else low | low
        self._early: list[tuple[int, GtidSet]] = []
        self._most_early = _EARLY
        self.notes: list[str] = []
        self.runs_events = False
        """Whether the target runs scheduled events, which a logged statement may make or change."""
        self.transactions = 0
        self.commits = 0
        self.skipped = 0
        self.filtered = 0
        self.merged = 0
        self.rows = 0
        self.last_block: Block | None = None
        self.apply_seconds = 0.0
        """A running median of how long applying or committing a block takes."""
        self.started = time.perf_counter()
        self.foreign_blockers: tuple[int, ...] = ()
        self.timeline: Timeline | None = None
        """Where workers draw what they do, if anywhere."""
        self.handed: Block | None = None
        """The last block that was handed to a worker, and when (seconds since 1970)."""
        self.handed_at = 0.0

    def through(self, *blocks: Block) -> tuple[int, int]:
        """Counts committed blocks; called by those who have their turns.

        Returns:
            Their transactions and rows.
        """
        sums = type(blocks[0]).sums(blocks)
        count = sums.transactions - sums.filtered
        calm = False
        with self._counting:
            self.commits += len(blocks)
            self.transactions += count
            self.filtered += sums.filtered
            self.skipped += sums.skipped
            self.rows += sums.rows
            self.merged += sums.merged
            self._executed.update(sums.gtids)
            if self._low is not None:
                self._early += [(block.id, block.gtids) for block in blocks]
                if len(self._early) >= self._most_early:
                    self._raise(self._low)
            if self.last_block is None or self.last_block.id <= blocks[-1].id:
                self.last_block = blocks[-1]
            for _ in blocks:
                calm |= self.storm.committed()
        if calm:
            self.set_serial(serial=False)
        return sums.transactions, sums.rows

    def executed(self) -> GtidSet:
        """What is executed."""
        with self._counting:
            return self._executed | self._executed

    def executed_text(self) -> str:
        """What is executed, as a GTID set; of MariaDB's only as far as there is no gap, which a position cannot tell."""
        with self._counting:
            if self._low is None:
                return str(self._executed)
            self._raise(self._low)
            return str(self._low)

    def session_unknown(self) -> None:
        """The log does not tell the sessions, so that the order of each can only be kept by keeping that of their server."""
        self.note("the log does not tell the sessions of the source: transactions of one server commit in its order, at every level")

    def _raise(self, low: GtidSet) -> None:
        """Moves it over what has no gap before it any more."""
        mark = self.order.low_water_mark
        for number, gtids in self._early:
            if number <= mark:
                low.update(gtids)
        self._early = [early for early in self._early if early[0] > mark]
        self._most_early = max(_EARLY, 2 * len(self._early))

    def apply_took(self, seconds: float) -> None:
        """Moves the median; the length of an outlier, such as a wait for a lock, does not count."""
        median = self.apply_seconds
        self.apply_seconds = seconds if not median else median * (1 + _STEP if seconds > median else 1 - _STEP)

    def contended(self, tables: Iterable[str]) -> None:
        """Count that locks of a younger transaction of these tables were in an older one's way, or the other way round."""
        if self.jobs is not None and self.contention.met(tables, self.order.newest):
            _log.info("transactions block each other: applied one after the other for a while: %s", ", ".join(self.contention.widths))
            self.jobs.bound_tables(self.contention.widths)

    def relax(self) -> None:
        """Let more transactions of a table be applied at once where its time in order is over; to be called often."""
        if self.jobs is not None and self.contention.relax(self.order.low_water_mark + 1):
            self.jobs.bound_tables(self.contention.widths)

    def retried(self) -> None:
        """Counts a retry, and degrades to serial if they storm."""
        if self.storm.retried():
            self.set_serial(serial=True)

    def set_serial(self, *, serial: bool) -> None:
        """Switches between parallel and serial apply, and says so."""
        if self.jobs is None:
            return
        self.jobs.set_serial(serial)
        if serial:
            self.note("too many retries: applying one block at a time for a while")
        else:
            _log.info("applying in parallel again")

    def count_hands(self) -> None:
        """Lets as many workers be at work as keep the machine busy."""
        if self.jobs is not None:
            self.jobs.count_hands()

    def note(self, text: str) -> None:
        """A remark for the log and the report; each only once in the report."""
        _log.warning("%s", text)
        if text not in self.notes:
            self.notes.append(text)

    def remark_on(self, block: Block) -> None:
        """Says what the user should know of a logged statement that has run."""
        if not self.runs_events:
            return
        for transaction in block.transactions:
            text = logged_event(transaction.statements, transaction.gtid or f"{transaction.file}, position {transaction.end_offset}")
            if text is not None:
                self.note(text)

    def abort(self, error: BaseException) -> None:
        """Ends the run at once; whatever is not committed rolls back."""
        self.order.abort(error)
        if self.jobs is not None:
            self.jobs.abort()
