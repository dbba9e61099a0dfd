"""State shared by the threads of one apply run."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING, cast

from paraply.applier.commit.commit_order import CommitOrder
from paraply.applier.commit.consistency import Consistency
from paraply.applier.execute.retry import RetryPolicy, StormGuard
from paraply.applier.execute.scheduled_event_note import logged_event
from paraply.applier.execute.split import SplitSession
from paraply.applier.schedule.contention import Contention, tables_of
from paraply.errors import ConnectionFailed
from paraply.observe.conflicts import ConflictTally
from paraply.observe.cpu_cost import CpuMeter
from paraply.observe.outage import Outage
from paraply.runtime import runtime
from paraply.targets.conflicts import OnConflict
from paraply.targets.ddl_answer import DdlAnswer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from paraply._native import Block, GtidSet
    from paraply.applier.execute.split import PartWorkers
    from paraply.applier.schedule.job_list import JobList
    from paraply.observe.timeline import Timeline
    from paraply.targets.protocol import Session, Target
    from paraply.targets.two_phase import BranchSession

__all__ = ["RunState", "SharedTarget"]

_log = logging.getLogger("paraply.applier")

_STEP = 0.05
_FIRST_TIMES = 32
"""Number of first times of which the shortest counts: a target opens its tables, and reads what it has not in memory, at first."""
_EARLY = 64
"""Blocks committed after a gap before the first check for blocks without one; the limit grows to twice the number that is left."""


class SharedTarget:
    """Target whose own connection is used by one thread at a time; sessions are opened without waiting.

    Args:
        target: The target.
        outage: Loss of the target, over all runs that share it; None for one of its own.
    """

    def __init__(self, target: Target, outage: Outage | None = None) -> None:
        self._target = target
        self.executor: PartWorkers | None = None
        """Part workers for large transactions; only with a policy that splits them."""
        self._mutex = runtime.lock()
        self.outage = outage or Outage()
        """Loss of the target."""

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[Target]:
        """Lock the target for calls other than ``session``."""
        with self._mutex:
            yield self._target

    def session(self) -> Session:
        """Open a new session for the calling thread."""
        try:
            if self.executor is not None:
                self.executor.end_left()
            session = self._target.session()
        except ConnectionFailed as error:
            self.outage.lost(error)
            raise
        self.outage.back()
        return session if self.executor is None else SplitSession(cast("BranchSession", session), self.executor)

    def committed(self, block: Block) -> bool:
        """Return True if the block is committed."""
        with self._mutex:
            found = self._target.committed(block)
        if self.executor is not None:
            self.executor.decided(block, committed=found)
        return found

    def blockers(self, connection_id: int) -> list[int]:
        """Return the connections that hold the locks that this connection waits for."""
        with self._mutex:
            return self._target.blockers(connection_id)

    def describe_wait(self, connection_id: int, holders: Sequence[int]) -> str:
        """Return a description of that wait for people."""
        with self._mutex:
            return self._target.describe_wait(connection_id, holders)


class RunState:
    """Commit order, counters and switches of one run.

    Args:
        target: The target.
        executed: GTIDs that the target's progress holds at the start.
        retry: Limits and delays of retries.
        jobs: The job list; None when blocks are applied inline.
        storm: Detection of retry storms; a default one if not given.
        consistency: Level that decides when a commit may be sent.
        optimistic: True if blocks start although they may conflict with older ones.
        low: GTIDs executed without a gap, if the log has MariaDB's GTIDs, whose text is a position; else None.
        outage: Loss of the target, over all runs that share it; None for one of its own.
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
        outage: Outage | None = None,
    ) -> None:
        self.target = SharedTarget(target, outage)
        self.order = CommitOrder(consistency, optimistic=optimistic)
        self.optimistic = optimistic
        self._counting = runtime.lock()
        self.jobs = jobs
        self.retry = retry
        self.storm = storm or StormGuard()
        self.contention = Contention()
        #: Both are copies of this object, updated in place: a copy for each block would take longer with each gap.
        self._executed = executed | executed
        self._low = None if low is None else low | low
        self._early: list[tuple[int, GtidSet]] = []
        self._most_early = _EARLY
        self.cpu = CpuMeter()
        """CPU time of the run."""
        self.notes: list[str] = []
        self.runs_events = False
        """True if the target runs scheduled events, which a logged statement may make or change."""
        self.answer = DdlAnswer()
        """The user's answer about a statement that was made by hand."""
        self.on_conflict: OnConflict | None = None
        """Treatment of rows that do not fit the target; None for a run to which the option is not offered."""
        self.conflicts = ConflictTally()
        """Row changes that did not fit."""
        self.transactions = 0
        self.commits = 0
        self.skipped = 0
        self.named = 0
        """Transactions left out by name, which are among the skipped ones."""
        self.filtered = 0
        self.own_left_out = 0
        """Transactions from which changes of paraply's own tables were removed."""
        self.merged = 0
        self.rows = 0
        self.last_block: Block | None = None
        self.apply_seconds = 0.0
        """Running median of the time for applying or committing a block."""
        self._times = 0
        self.started = runtime.perf_counter()
        self.foreign_blockers: tuple[int, ...] = ()
        self.timeline: Timeline | None = None
        """Timeline to which workers write their slices, if there is one."""
        self.handed: Block | None = None
        """Last block handed to a worker, and the time (seconds since 1970)."""
        self.handed_at = 0.0

    def count_committed(self, *blocks: Block) -> tuple[int, int]:
        """Count committed blocks; called by the holders of their turns.

        Returns:
            The numbers of their transactions and rows.
        """
        sums = type(blocks[0]).sums(blocks)
        count = sums.transactions - sums.filtered
        calm = False
        with self._counting:
            self.commits += len(blocks)
            self.transactions += count
            self.filtered += sums.filtered
            self.own_left_out += sums.own_left_out
            self.skipped += sums.skipped
            self.named += sums.named
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
        """Return the GTIDs that are executed."""
        with self._counting:
            return self._executed | self._executed

    def executed_text(self) -> str:
        """Return the executed GTIDs as text; for MariaDB only those without a gap before them, because a position cannot express gaps."""
        with self._counting:
            if self._low is None:
                return str(self._executed)
            self._raise(self._low)
            return str(self._low)

    def session_unknown(self) -> None:
        """Note that the log does not identify sessions: each session's order is kept by keeping the order of its whole server."""
        self.note("the log does not identify the sessions of the source: one server's transactions commit in its order at every level")

    def _raise(self, low: GtidSet) -> None:
        """Add the GTIDs of blocks that have no gap before them any more."""
        mark = self.order.low_water_mark
        for number, gtids in self._early:
            if number <= mark:
                low.update(gtids)
        self._early = [early for early in self._early if early[0] > mark]
        self._most_early = max(_EARLY, 2 * len(self._early))

    def apply_took(self, seconds: float) -> None:
        """Move the median by one step; the size of an outlier, such as a lock wait, does not matter."""
        median = self.apply_seconds
        if self._times < _FIRST_TIMES:
            self._times += 1
            self.apply_seconds = min(median, seconds) if median else seconds
        else:
            self.apply_seconds = median * (1 + _STEP if seconds > median else 1 - _STEP)

    def contended(self, tables: Iterable[str]) -> None:
        """Count a conflict in which transactions of these tables blocked each other, one of them older than the other."""
        if self.jobs is not None and self.contention.met(tables, self.order.newest):
            _log.info("transactions block each other: applied one after the other for a while: %s", ", ".join(self.contention.widths))
            self.jobs.limit_tables(self.contention.widths)

    def is_in_order(self, block: Block) -> bool:
        """Return True if a table of the block is applied in order for a while, because its transactions blocked each other."""
        widths = self.contention.widths
        return bool(widths) and any(widths.get(table) == 1 for table in tables_of(block))

    def relax(self) -> None:
        """Let more transactions of a table be applied at once after its period in order is over; called often."""
        if self.jobs is not None and self.contention.relax(self.order.low_water_mark + 1):
            self.jobs.limit_tables(self.contention.widths)

    def retried(self) -> None:
        """Count a retry, and change to serial apply in a storm of retries."""
        if self.storm.retried():
            self.set_serial(serial=True)

    def set_serial(self, *, serial: bool) -> None:
        """Switch between parallel and serial apply, and report it."""
        if self.jobs is None:
            return
        self.jobs.set_serial(serial)
        if serial:
            self.note("too many retries: applying one block at a time for a while")
        else:
            _log.info("applying in parallel again")

    def adjust_concurrency(self) -> None:
        """Adjust the concurrency limit to the number of workers that keeps the machine busy."""
        if self.jobs is not None:
            self.jobs.adjust_concurrency()

    @contextlib.contextmanager
    def reconnecting(self, error: BaseException) -> Iterator[None]:
        """Report that a connection to the target broke, and that it was made again.

        Workers that lose theirs together report it once; one that was idle finds out when it gets its next job.
        """
        self.target.outage.broken(error)
        yield
        self.target.outage.back()

    def note(self, text: str) -> None:
        """Add a remark to the log and to the report; the report contains each text once."""
        _log.warning("%s", text)
        if text not in self.notes:
            self.notes.append(text)

    def remark_on(self, block: Block) -> None:
        """Report a logged statement that the user should know of, after it has run."""
        if not self.runs_events:
            return
        for transaction in block.transactions:
            place = transaction.gtid or f"{transaction.file}, position {transaction.end_offset}"
            text = logged_event(transaction.statements, transaction.format, place)
            if text is not None:
                self.note(text)

    def abort(self, error: BaseException) -> None:
        """End the run at once; uncommitted transactions roll back."""
        self.order.abort(error)
        if self.jobs is not None:
            self.jobs.abort()
