"""A database in memory that really locks rows.

Rows are locked by the writer until commit or rollback, a wait has a time limit, a cycle of waits is a deadlock. A transaction may
take further locks that its write set does not tell, as gap locks do. What a row becomes depends on what it was, so that a wrong
order, a lost or a repeated transaction shows in the final state.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from unit.applier.fakes import GtidSet

from paraply.errors import ApplyFailed, ConnectionFailed, ConnectionLost, ParaplyError, TemporaryFailure
from paraply.runtime import runtime
from paraply.targets.batch import BatchOutcome
from paraply.targets.lock_waits import Holder, sentence
from paraply.targets.protocol import ApplyPlan, Capabilities, Inspection, Progress, Standing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from unit.applier.fakes import Block, Transaction

    from paraply.targets.channel_status import ChannelStatus
    from paraply.targets.protocol import StatusRow


class Database:
    """Rows, row locks and faults.

    ``faults[ordinal]`` is consumed from the front, one for each time that the transaction is tried: ``temporary``, ``permanent``,
    ``lost`` (during apply), ``lost-before`` and ``lost-after`` (the commit), or None for no fault. ``always`` never gets better.

    ``waits_for[ordinal]`` makes what is otherwise a matter of time: the transaction begins when this holds. If it has not after ten
    seconds, the transaction begins too, and stands in ``waited_in_vain``.
    """

    def __init__(self, *, lock_timeout: float = 0.3, latency: float = 0.0, shows_blockers: bool = True) -> None:
        self.mutex = runtime.condition()
        self.rows: dict[str, int] = {}
        self.applied: list[int] = []
        self.owners: dict[str, Session] = {}
        self.waits: dict[int, tuple[Session, str]] = {}
        self.faults: dict[int, list[str | None]] = defaultdict(list)
        self.always: dict[int, Exception] = {}
        self.waits_for: dict[int, Callable[[], object]] = {}
        self.waited_in_vain: list[int] = []
        self.lock_timeout = lock_timeout
        self.latency = latency
        self.shows_blockers = shows_blockers
        self.connections = 0
        self.refused = 0
        self.in_flight = 0
        self.most_in_flight = 0
        self.steps = 0
        self.applies: list[tuple[int, str]] = []
        self.batch_size: list[int] = []

    def change(self, key: str, ordinal: int, old: int | None) -> int:
        return hash((key, ordinal, old))

    def serial(self, transactions: Sequence[Transaction]) -> dict[str, int]:
        rows: dict[str, int] = {}
        for transaction in transactions:
            for key in transaction.keys:
                rows[key] = self.change(key, transaction.ordinal, rows.get(key))
        return rows

    def fault(self, transaction: Transaction) -> str | None:
        faults = self.faults.get(transaction.ordinal)
        return faults.pop(0) if faults else None


class Session:
    def __init__(self, database: Database) -> None:
        self.database = database
        with database.mutex:
            if database.refused:
                database.refused -= 1
                raise ConnectionFailed("refused")
            database.connections += 1
            self.number = 1000 + database.connections
        self.locks: list[str] = []
        self.changes: dict[str, int] = {}
        self.pending: list[int] = []
        self.commit_fault: str | None = None
        self.interrupted = False
        self.broken = False
        self.closed = False
        self.thread = threading.get_ident()

    @property
    def connection_id(self) -> int:
        return self.number

    def apply(self, block: Block) -> None:
        self.apply_steps(block, [block])

    def apply_steps(self, block: Block, steps: Iterable[Block]) -> None:
        database = self.database
        assert threading.get_ident() == self.thread
        assert not self.locks
        assert not self.pending
        with database.mutex:
            database.in_flight += 1
            database.most_in_flight = max(database.most_in_flight, database.in_flight)
            database.mutex.notify_all()
        try:
            for step in steps:
                for transaction in step.transactions:
                    self._apply(transaction)
                database.steps += step is not block
        finally:
            with database.mutex:
                database.in_flight -= 1

    def _apply(self, transaction: Transaction) -> None:
        database = self.database
        if database.latency:
            runtime.sleep(database.latency)
        if transaction.ordinal in database.waits_for:
            with database.mutex:
                if not database.mutex.wait_for(database.waits_for[transaction.ordinal], timeout=10):
                    database.waited_in_vain.append(transaction.ordinal)
        fault = database.fault(transaction)
        if fault == "lost":
            self._break()
        if fault == "temporary":
            raise TemporaryFailure("deadlock")
        if transaction.ordinal in database.always:
            raise database.always[transaction.ordinal]
        if fault == "permanent":
            raise ApplyFailed(f"no row for {transaction.ordinal}")
        if fault in ("lost-before", "lost-after", "commit-temporary"):
            self.commit_fault = fault
        names = [f"row {key}" for key in transaction.keys]
        gaps = [f"gap {gap}" for gap in transaction.gaps]
        for name in gaps + names if transaction.gaps_first else names + gaps:
            self._lock(name)
        for key in transaction.keys:
            old = self.changes.get(key, database.rows.get(key))
            self.changes[key] = database.change(key, transaction.ordinal, old)
        self.pending.append(transaction.ordinal)

    def _lock(self, name: str) -> None:
        database = self.database
        with database.mutex:
            deadline = runtime.monotonic() + database.lock_timeout
            try:
                while (owner := database.owners.get(name)) not in (None, self):
                    database.waits[self.number] = (self, name)
                    if self._deadlocked(owner):
                        raise TemporaryFailure("deadlock found")
                    left = deadline - runtime.monotonic()
                    if left <= 0:
                        raise TemporaryFailure("lock wait timeout")
                    if self.interrupted:
                        self.interrupted = False
                        raise TemporaryFailure("interrupted")
                    database.mutex.wait(left)
            finally:
                database.waits.pop(self.number, None)
            database.owners[name] = self
            if name not in self.locks:
                self.locks.append(name)
            database.mutex.notify_all()

    def _deadlocked(self, owner: Session | None) -> bool:
        seen = set()
        while owner is not None and owner.number in self.database.waits and owner.number not in seen:
            seen.add(owner.number)
            owner = self.database.owners.get(self.database.waits[owner.number][1])
            if owner is self:
                return True
        return False

    def commit(self) -> None:
        fault, self.commit_fault = self.commit_fault, None
        if fault == "lost-before":
            self._break()
        if fault == "commit-temporary":
            raise TemporaryFailure("serialization")
        database = self.database
        with database.mutex:
            database.rows.update(self.changes)
            # In what order the rows of one commit went in, nobody can see.
            database.applied.extend(sorted(self.pending))
            self._release()
        if fault == "lost-after":
            self._break()

    def apply_and_commit(self, blocks: Sequence[Block]) -> BatchOutcome:
        self.database.batch_size.append(len(blocks))
        for done, block in enumerate(blocks):
            committing = False
            try:
                self.apply(block)
                committing = True
                self.commit()
            except ParaplyError as error:
                return BatchOutcome(done, error, committing)
        return BatchOutcome(len(blocks))

    def rollback(self) -> None:
        with self.database.mutex:
            self._release()

    def execute_statement(self, block: Block) -> None:
        (transaction,) = block.transactions
        with self.database.mutex:
            assert not self.database.owners or all(not s.pending for s in self.database.owners.values()), "DDL beside open transactions"
        self._apply(transaction)
        self.commit()

    def interrupt(self) -> None:
        with self.database.mutex:
            self.interrupted = True
            self.database.mutex.notify_all()

    def rescue(self) -> None:
        pass

    def close(self) -> None:
        self.rollback()
        self.closed = True

    def _release(self) -> None:
        for name in self.locks:
            del self.database.owners[name]
        self.locks.clear()
        self.changes.clear()
        self.pending.clear()
        self.commit_fault = None
        self.interrupted = False
        self.database.mutex.notify_all()

    def _break(self) -> None:
        self.rollback()
        self.broken = True
        raise ConnectionLost("server has gone away")


class Target:
    family = "postgresql"
    is_local = False
    most_merged = 128

    def __init__(self, database: Database | None = None, *, merges: bool = True, takes_batch: bool = False) -> None:
        self.database = database or Database()
        self.capabilities = Capabilities(takes_batches=takes_batch)
        self.merges = merges
        self.plan: ApplyPlan | None = None
        self.progress: Progress | None = None
        self.finished: GtidSet | None = None
        self.closed = False
        self.changes: list[Any] = []
        self.applied_at_change: list[int] = []
        self.tables: list[Any] = []
        self.sessions: list[Session] = []

    def read_channels(self) -> list[ChannelStatus]:
        return []

    def inspect(self, plan: ApplyPlan, *, tables: bool = False) -> Inspection:
        return Inspection(self._progress(), merges=self.merges)

    def open_status_row(self, found: object = None) -> StatusRow | None:
        return None

    def open(self, plan: ApplyPlan) -> Progress:
        self.plan = plan
        return self._progress()

    def _progress(self) -> Progress:
        return self.progress or Progress(GtidSet(members=frozenset(f"u:{n:05}" for n in self.database.applied)))

    def session(self) -> Session:
        session = Session(self.database)
        self.sessions.append(session)
        return session

    def seed_tables(self, databases: Sequence[str] | None = None) -> list[Any]:
        return self.tables

    def standing(self, plan: Any) -> Standing:
        """Nothing stands there."""
        return Standing()

    def check_ddl(self, forecast: Any) -> None:
        """Nothing is known beforehand."""

    def skips(self, changes: Any) -> bool:
        """It has a counterpart of everything."""
        return False

    def create_tables(self, tables) -> None:
        pass

    def check_tables(self, tables: Any) -> None:
        """Nothing is known beforehand."""

    def check_rows(self, forecast: Any) -> None:
        """Nothing is known beforehand."""

    def schema_changed(self, catalog: Any, changes: Sequence[Any]) -> None:
        self.changes.append((catalog, list(changes)))
        self.applied_at_change.append(len(self.database.applied))

    def committed(self, block: Block) -> bool:
        with self.database.mutex:
            return block.transactions[-1].ordinal in self.database.applied

    def blockers(self, connection_id: int) -> list[int]:
        database = self.database
        with database.mutex:
            if not database.shows_blockers or connection_id not in database.waits:
                return []
            owner = database.owners.get(database.waits[connection_id][1])
            return [] if owner is None else [owner.number]

    def describe_wait(self, connection_id: int, holders: Sequence[int]) -> str:
        return sentence([Holder(number) for number in holders])

    def left_prepared(self) -> list[str]:
        return []

    def held_xids(self) -> frozenset[str]:
        return frozenset()

    def complete_gtids(self, executed: GtidSet) -> None:
        self.completed = executed

    def finish(self, executed: GtidSet) -> None:
        self.finished = executed

    def close(self) -> None:
        self.closed = True
