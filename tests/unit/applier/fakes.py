"""Stand-ins with the attributes of the native objects, and a database in memory that really locks rows.

Rows are locked by the writer until commit or rollback, a wait has a time limit, a cycle of waits is a deadlock. A transaction may
take further locks that its write set does not tell, as gap locks do. What a row becomes depends on what it was, so that a wrong
order, a lost or a repeated transaction shows in the final state.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
import types
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from paraply.errors import ApplyFailed, ConnectionFailed, ConnectionLost, TemporaryFailure
from paraply.target.base import ApplyPlan, Progress

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_DIRECTORY = Path(tempfile.mkdtemp(prefix="paraply-fake-logs-"))
LOG = str(_DIRECTORY / "binlog.000001")
NEXT_LOG = str(_DIRECTORY / "binlog.000002")
OTHER_LOG = str(_DIRECTORY / "other.000001")
for _path in (LOG, NEXT_LOG, OTHER_LOG):
    Path(_path).touch()


class GtidSet:
    def __init__(self, text: str = "", members: frozenset[str] | None = None) -> None:
        if text == "broken":
            raise ValueError("broken")
        self.members = frozenset(filter(None, text.split(","))) if members is None else members

    def __contains__(self, gtid: str) -> bool:
        return gtid in self.members

    def __or__(self, other: GtidSet) -> GtidSet:
        return GtidSet(members=self.members | other.members)

    def __bool__(self) -> bool:
        return bool(self.members)

    def __len__(self) -> int:
        return len(self.members)

    def __str__(self) -> str:
        return ",".join(sorted(self.members))


@dataclass
class Format:
    server_id: int = 7
    mariadb: bool = False
    version: tuple[int, int, int] = (9, 7, 0)


@dataclass
class Statement:
    sql: bytes
    database: str = "d"
    offset: int = 0
    context: dict[str, Any] = field(default_factory=dict)


@dataclass
class Transaction:
    """``keys`` are in the write set, ``gaps`` are locks that it does not tell; ``gaps_first`` says which are taken first."""

    ordinal: int
    keys: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    gaps_first: bool = False
    kind: str = "dml"
    gtid: str | None = None
    last_committed: int | None = None
    sequence_number: int | None = None
    statements: list[Statement] = field(default_factory=list)
    file: str = "binlog.000001"
    bytes: int = 100
    rows: int = 1
    committed_at: int | None = None
    format: Format = field(default_factory=Format)

    @property
    def offset(self) -> int:
        return self.ordinal * 100

    @property
    def end_offset(self) -> int:
        return self.ordinal * 100 + 100


def make(ordinal: int, *keys: str, gtid: bool = True, **more: Any) -> Transaction:
    return Transaction(ordinal, tuple(keys), gtid=f"u:{ordinal:05}" if gtid else None, **more)


@dataclass
class WriteSets:
    batch: list[Transaction]
    fallbacks: list[tuple[str, str, int]]

    def __len__(self) -> int:
        return len(self.batch)


class Batch(list):  # type: ignore[type-arg]
    def write_sets(self, catalog: Catalog, *, scheme: str = "fine") -> WriteSets:
        return WriteSets(self, [("reason", "d.t", 1)] if any("fallback" in t.keys for t in self) else [])


class Catalog:
    def __init__(self) -> None:
        self.tables: dict[tuple[str, str], Any] = {}

    def put(self, table: Any) -> None:
        self.tables[table.database, table.name] = table

    def remove(self, database: str, name: str) -> None:
        self.tables.pop((database, name), None)


class LogReader:
    """Reads ``logs[path]``; an exception in the list is raised behind what stands before it."""

    logs: ClassVar[dict[str, list[Transaction | Exception]]] = {}
    delay = 0.0

    def __init__(self, paths: Sequence[str], **_: Any) -> None:
        self._items = [item for path in paths for item in self.logs.get(path, [])]
        self._next = 0

    def next_batch(self, max_transactions: int = 1024, max_bytes: int = 1 << 24) -> Batch | None:
        if self.delay:
            time.sleep(self.delay)
        batch = Batch()
        while self._next < len(self._items) and len(batch) < max_transactions:
            item = self._items[self._next]
            if isinstance(item, Exception):
                if batch:
                    break
                raise item
            self._next += 1
            batch.append(item)
            if item.statements:
                break
        return batch or None


@dataclass
class Block:
    id: int
    transactions: list[Transaction]
    depends_on: list[int] = field(default_factory=list)
    depends_on_all: bool = False
    skipped: int = 0
    executed: GtidSet = field(default_factory=GtidSet)

    @property
    def kind(self) -> str:
        return self.transactions[0].kind if len(self.transactions) == 1 else "dml"

    @property
    def transaction_count(self) -> int:
        return len(self.transactions)

    @property
    def rows(self) -> int:
        return sum(t.rows for t in self.transactions)

    @property
    def gtids(self) -> GtidSet:
        return GtidSet(members=frozenset(t.gtid for t in self.transactions if t.gtid))

    @property
    def first_gtid(self) -> str | None:
        return self.transactions[0].gtid

    @property
    def last_gtid(self) -> str | None:
        return self.transactions[-1].gtid

    @property
    def file(self) -> str:
        return self.transactions[0].file

    @property
    def offset(self) -> int:
        return self.transactions[0].offset

    @property
    def last_committed(self) -> int | None:
        return self.transactions[0].last_committed

    @property
    def sequence_number(self) -> int | None:
        return self.transactions[-1].sequence_number

    def split(self) -> list[Block]:
        return [Block(self.id, [t], skipped=self.skipped if i == 0 else 0) for i, t in enumerate(self.transactions)]


class Planner:
    def __init__(self, *, executed: GtidSet | None = None, after: tuple[int, int] | None = None) -> None:
        self._executed = executed or GtidSet()
        self._after = after
        self._id = 0
        self._skipped = 0
        self._writer: dict[str, int] = {}
        self._barrier = 0

    def plan(self, batch: Batch, write_sets: WriteSets, *, merge: int, max_bytes: int, committed: int) -> list[Block]:
        blocks: list[Block] = []
        block: Block | None = None
        for transaction in batch:
            if self._is_executed(transaction):
                self._skipped += 1
                continue
            alone = transaction.kind not in ("dml", "empty")
            if block is None or alone or len(block.transactions) >= merge:
                self._id += 1
                block = Block(self._id, [])
                blocks.append(block)
            block.transactions.append(transaction)
            block.skipped += self._skipped
            self._skipped = 0
            self._depend(block, transaction, alone, committed)
            if alone:
                block = None
        return blocks

    def _is_executed(self, transaction: Transaction) -> bool:
        if transaction.gtid:
            return transaction.gtid in self._executed
        index = int(transaction.file[-6:]) - 1
        return self._after is not None and (index, transaction.end_offset) <= self._after

    def _depend(self, block: Block, transaction: Transaction, alone: bool, committed: int) -> None:
        needs = {self._writer[key] for key in transaction.keys if key in self._writer} - {block.id}
        if alone:
            block.depends_on_all = True
            self._barrier = block.id
        elif self._barrier:
            needs.add(self._barrier)
        block.depends_on = sorted({*block.depends_on, *(n for n in needs if n > committed)})
        for key in transaction.keys:
            self._writer[key] = block.id


def native_module() -> types.ModuleType:
    module = types.ModuleType("paraply._native")
    for part in (GtidSet, Catalog, LogReader, Planner, Block, Transaction):
        setattr(module, part.__name__, part)
    return module


try:
    import paraply._native  # noqa: F401
except ImportError:
    sys.modules["paraply._native"] = native_module()


class Database:
    """Rows, row locks and faults.

    ``faults[ordinal]`` is consumed from the front, one for each time that the transaction is tried: ``temporary``, ``permanent``,
    ``lost`` (during apply), ``lost-before`` and ``lost-after`` (the commit), or None for no fault. ``always`` never gets better.
    """

    def __init__(self, *, lock_timeout: float = 0.3, latency: float = 0.0, tells_blockers: bool = True) -> None:
        self.mutex = threading.Condition()
        self.rows: dict[str, int] = {}
        self.applied: list[int] = []
        self.owners: dict[str, Session] = {}
        self.waits: dict[int, tuple[Session, str]] = {}
        self.faults: dict[int, list[str | None]] = defaultdict(list)
        self.always: dict[int, Exception] = {}
        self.lock_timeout = lock_timeout
        self.latency = latency
        self.tells_blockers = tells_blockers
        self.connections = 0
        self.refused = 0
        self.in_flight = 0
        self.most_in_flight = 0
        self.applies: list[tuple[int, str]] = []

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
        database = self.database
        assert threading.get_ident() == self.thread
        assert not self.locks
        assert not self.pending
        with database.mutex:
            database.in_flight += 1
            database.most_in_flight = max(database.most_in_flight, database.in_flight)
        try:
            for transaction in block.transactions:
                self._apply(transaction)
        finally:
            with database.mutex:
                database.in_flight -= 1

    def _apply(self, transaction: Transaction) -> None:
        database = self.database
        if database.latency:
            time.sleep(database.latency)
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
            deadline = time.monotonic() + database.lock_timeout
            try:
                while (owner := database.owners.get(name)) not in (None, self):
                    database.waits[self.number] = (self, name)
                    if self._deadlocked(owner):
                        raise TemporaryFailure("deadlock found")
                    left = deadline - time.monotonic()
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
            database.applied.extend(self.pending)
            self._release()
        if fault == "lost-after":
            self._break()

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

    def __init__(self, database: Database | None = None, *, merges: bool = True) -> None:
        self.database = database or Database()
        self.merges = merges
        self.plan: ApplyPlan | None = None
        self.progress: Progress | None = None
        self.finished: GtidSet | None = None
        self.closed = False
        self.changes: list[Any] = []
        self.applied_at_change: list[int] = []
        self.tables: list[Any] = []
        self.sessions: list[Session] = []

    def open(self, plan: ApplyPlan) -> Progress:
        self.plan = plan
        return self.progress or Progress(GtidSet(members=frozenset(f"u:{n:05}" for n in self.database.applied)))

    def session(self) -> Session:
        session = Session(self.database)
        self.sessions.append(session)
        return session

    def seed_tables(self, databases: Sequence[str] | None = None) -> list[Any]:
        return self.tables

    def schema_changed(self, catalog: Any, changes: Sequence[Any]) -> None:
        self.changes.append((catalog, list(changes)))
        self.applied_at_change.append(len(self.database.applied))

    def committed(self, block: Block) -> bool:
        with self.database.mutex:
            return block.transactions[-1].ordinal in self.database.applied

    def blockers(self, connection_id: int) -> list[int]:
        database = self.database
        with database.mutex:
            if not database.tells_blockers or connection_id not in database.waits:
                return []
            owner = database.owners.get(database.waits[connection_id][1])
            return [] if owner is None else [owner.number]

    def finish(self, executed: GtidSet) -> None:
        self.finished = executed

    def close(self) -> None:
        self.closed = True


def ordinals(transactions: Sequence[Transaction]) -> Iterator[int]:
    return (t.ordinal for t in transactions)
