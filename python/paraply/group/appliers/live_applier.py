"""A member's applier with threads: applies the relay log while it is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from paraply._native import Catalog, GtidSet, Planner
from paraply.applier.commit.consistency import Consistency
from paraply.applier.execute.lock_watchdog import LockWatchdog
from paraply.applier.execute.retry import RetryPolicy
from paraply.applier.execute.run_state import RunState
from paraply.applier.execute.supervisor import Supervisor, stopped_error
from paraply.applier.execute.worker import Worker
from paraply.applier.schedule.batching import MergeSize
from paraply.applier.schedule.coordinator import Coordinator, ThreadExecutor
from paraply.applier.schedule.job_list import JobList
from paraply.applier.schedule.policy.logical_clock import LogicalClockPolicy
from paraply.applier.schedule.session_order import SessionOrder
from paraply.errors import MemberUnavailable, ParaplyError
from paraply.group.delivery.log import GROUP_CHANNEL
from paraply.group.delivery.messages import LogEntry
from paraply.group.delivery.relay_log import LogFollower
from paraply.group.members.member import Member
from paraply.group.options import GroupOptions
from paraply.group.storage.pg_store import PgStore
from paraply.logs.feed import Feed, FeedRules
from paraply.logs.statement_text import decode_statement
from paraply.runtime import runtime
from paraply.schema.catalog import SchemaCatalog
from paraply.targets.postgres.target import PostgresTarget
from paraply.targets.protocol import ApplyPlan

if TYPE_CHECKING:
    from paraply._native import Block, LogReader, Transaction
    from paraply.schema.model import Table
    from paraply.targets.postgres.session import PostgresSession
    from paraply.targets.protocol import Session, Target

__all__ = ["LiveApplier", "Part"]


@dataclass(frozen=True, slots=True)
class Part:
    """Log that is applied to its end before the next one begins.

    Attributes:
        follow: Opens the log after the executed transactions; returns None while no member can supply it.
        ended: Called at the end of the log.
    """

    follow: Callable[[GtidSet], LogFollower | None]
    ended: Callable[[], None] | None = None


class MemberTarget(PostgresTarget):
    """The database of a member, as target of its applier; reports to the member before and after each commit.

    Args:
        uri: URI of the database.
        applier: The applier to report to.
    """

    def __init__(self, uri: str, applier: LiveApplier) -> None:
        super().__init__(uri, on_committed=applier.committed)
        self._applier = applier

    def session(self) -> Session:  # type: ignore[override]
        """Return a connection for a worker."""
        return MemberSession(super().session(), self._applier)


class MemberSession:
    """A worker's connection that waits for earlier local transactions, and logs each transaction before its commit."""

    def __init__(self, session: PostgresSession, applier: LiveApplier) -> None:
        self._session = session
        self._applier = applier
        self._block: Block | None = None
        self.interrupt = session.interrupt
        self.rescue = session.rescue
        self.close = session.close
        self.rollback = session.rollback

    @property
    def connection_id(self) -> int:
        """Server process of this connection."""
        return self._session.connection_id

    def apply(self, block: Block) -> None:
        """Apply a block; see ``Session``."""
        self._applier.begin(block)
        self._block = block
        self._session.apply(block)

    def apply_steps(self, block: Block, steps: Iterable[Block]) -> None:
        """Apply a block with early rows; see ``Session``."""
        self._applier.begin(block)
        self._block = block
        self._session.apply_steps(block, steps)

    def commit(self) -> None:
        """Log the block, and commit it."""
        if self._block is not None:
            self._applier.log(self._block)
        self._session.commit()

    def execute_statement(self, block: Block) -> None:
        """Log and run a statement; see ``Session``."""
        self._applier.begin(block)
        self._applier.log(block)
        self._session.execute_statement(block)


class LiveApplier:
    """Applier of a member's logs, in threads of its own, until it is stopped.

    Args:
        member: The member.
        store: Its database.
        options: Options of the group.
        parts: Logs to apply, one after the other.
        on_failure: Called with the error of a failed applier.
        on_statement: Called with the GTID of each committed DDL.
    """

    def __init__(
        self,
        member: Member,
        store: PgStore,
        options: GroupOptions,
        parts: Sequence[Part],
        on_failure: Callable[[BaseException], None],
        on_statement: Callable[[str], None],
    ) -> None:
        self._member = member
        self._store = store
        self._options = options
        self._parts = parts
        self._on_failure = on_failure
        self._on_statement = on_statement
        self._consistency = Consistency(options.consistency)
        self._target = MemberTarget(store.uri, self)
        self._stopping = runtime.event()
        self._follower: LogFollower | None = None
        self._run: RunState | None = None
        self._recovering = False
        self._thread = runtime.thread(self._work, name=f"paraply-applier-{member.name}")
        self.busy_seconds = 0.0
        """Sum of the seconds in which workers applied and committed."""

    def open(self, tables: Sequence[Table]) -> None:
        """Open the database, and make the tables that a member begins with."""
        plan = ApplyPlan(GROUP_CHANNEL, f"group {self._options.name}", self._options.workers, gaps=not self._consistency.keeps_order)
        self._target.open(plan)
        self._target.create_tables(tables)
        self._store.definitions.adopt(self._target.seed_tables())
        self._store.open()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self, *, abort: bool = False) -> None:
        """Stop; with ``abort``, roll back the transactions in progress."""
        self._stopping.set()
        follower, run = self._follower, self._run
        if follower is not None:
            follower.stop()
        if abort and run is not None:
            run.abort(stopped_error())
        if runtime.current_thread() is not self._thread:
            self._thread.join()
        self._target.close()

    # Calls of the sessions.

    def begin(self, block: Block) -> None:
        """Wait for earlier local transactions that share a row with the block."""
        for transaction in block.transactions:
            if not self._member.locals.wait(transaction.gtid or ""):
                raise MemberUnavailable(f"member {self._member.name} has stopped")

    def log(self, block: Block) -> None:
        """Write the block's transactions to the member's log of all transactions, before their commit."""
        for transaction in block.transactions:
            self._member.log(self._entry(transaction))

    def committed(self, block: Block) -> None:
        """Record that the block is committed."""
        self._store.acknowledged(block.gtids)
        if not self._recovering:
            self._member.count_applied(block.transaction_count + block.skipped)
        for transaction in block.transactions:
            gtid = transaction.gtid or ""
            for statement in transaction.statements:
                sql = decode_statement(statement, mariadb=False, file=transaction.file)
                self._store.definitions.advance(sql, statement.database)
            if transaction.statements:
                self._on_statement(gtid)

    def _entry(self, transaction: Transaction) -> LogEntry:
        statement = next(iter(transaction.statements), None)
        keys = transaction.write_set(self._store.definitions.catalog, scheme="group")
        return LogEntry(
            transaction.gtid or "",
            transaction.kind,
            0,
            0,
            transaction.server_id,
            transaction.session,
            (*keys.exclusive, *keys.shared),
            statement=None if statement is None else decode_statement(statement, mariadb=False, file=transaction.file),
            database="" if statement is None else statement.database,
            rows=transaction.row_events(),
            committed_at=transaction.committed_us or 0,
        )

    # Its own thread.

    def _work(self) -> None:
        try:
            for part in self._parts:
                self._recovering = part.ended is not None
                while not self._apply_part(part):
                    if self._stopping.wait(0.05):
                        return
                if part.ended is not None:
                    part.ended()
        except BaseException as error:  # any error must reach the member
            if not self._stopping.is_set():
                self._on_failure(error)

    def _apply_part(self, part: Part) -> bool:
        """Apply a log to its end; return False if there was none, or its member has left."""
        follower = self._follower = part.follow(self._store.executed())
        if follower is None:
            return False
        if self._stopping.is_set():
            follower.stop()
        return self._apply(follower)

    def _apply(self, follower: LogFollower) -> bool:
        executed = self._store.executed()
        jobs = JobList(self._options.workers, ordered=self._consistency.keeps_order)
        run = self._run = RunState(cast("Target", self._target), executed, RetryPolicy(), jobs, consistency=self._consistency)
        passed: Callable[[Any], bool] = lambda transaction: (transaction.gtid or "") in executed  # noqa: E731
        feed = Feed(cast("LogReader", follower), SchemaCatalog(complete=True), Catalog(), FeedRules(passed=passed, corrects=True))
        feed.seed(self._target.seed_tables())
        sessions = None if self._consistency.keeps_order else SessionOrder()
        merge = MergeSize("off", self._options.workers, most=1)
        planner = Planner(executed=executed)
        coordinator = Coordinator(run, feed, planner, LogicalClockPolicy(), merge, ThreadExecutor(jobs), sessions)
        workers = [Worker(run, number) for number in range(self._options.workers)]
        keeper = Supervisor(run, jobs.stop, feed, workers, LockWatchdog(run, workers, None), lambda: 0, lambda: None)
        complete = self._run_threads(coordinator, jobs, workers, keeper, feed)
        self.busy_seconds += sum(worker.counters.apply_seconds for worker in workers)
        if run.order.failure is not None:
            raise run.order.failure
        return complete and not self._stopping.is_set()

    def _run_threads(self, coordinator: Coordinator, jobs: JobList, workers: Sequence[Worker], keeper: Supervisor, feed: Feed) -> bool:
        name = f"paraply-{self._member.name}"
        threads = [runtime.thread(worker.loop, args=(jobs,), name=f"{name}-{worker.counters.number}") for worker in workers]
        keeper.start()
        for thread in threads:
            thread.start()
        try:
            return coordinator.coordinate()
        except ParaplyError:
            return False
        finally:
            if self._follower is not None:
                self._follower.stop()
            feed.stop()
            jobs.close()
            for thread in threads:
                thread.join()
            keeper.end()
            feed.join()
