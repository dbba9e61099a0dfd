"""Stand-ins with the attributes of the native objects."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import time
import types
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from paraply import _native
from paraply._native import SourceSession, WriteSetFallback
from paraply.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

_DIRECTORY = Path(tempfile.mkdtemp(prefix="paraply-fake-logs-"))
atexit.register(shutil.rmtree, _DIRECTORY, ignore_errors=True)
LOG = str(_DIRECTORY / "binlog.000001")
NEXT_LOG = str(_DIRECTORY / "binlog.000002")
OTHER_LOG = str(_DIRECTORY / "other.000001")
for _path in (LOG, NEXT_LOG, OTHER_LOG):
    Path(_path).touch()


class GtidSet:
    def __init__(self, text: str = "", members: frozenset[str] | None = None) -> None:
        if text == "broken":
            raise UsageError("malformed GTID text: broken")
        self.members = frozenset(filter(None, text.split(","))) if members is None else members

    def __contains__(self, gtid: str) -> bool:
        return gtid in self.members

    def __or__(self, other: GtidSet) -> GtidSet:
        return GtidSet(members=self.members | other.members)

    def update(self, other: GtidSet) -> None:
        self.members |= other.members

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
    committed_us: int | None = None
    filtered: bool = False
    skipped: bool = False
    format: Format = field(default_factory=Format)
    server_id: int = 7
    session: int | None = None
    tables: list[str] = field(default_factory=list)

    @property
    def offset(self) -> int:
        return self.ordinal * 100

    @property
    def end_offset(self) -> int:
        return self.ordinal * 100 + 100


def make(ordinal: int, *keys: str, gtid: bool = True, **more: Any) -> Transaction:
    """A transaction of a session of its own, unless told otherwise."""
    more.setdefault("session", ordinal)
    return Transaction(ordinal, tuple(keys), gtid=f"u:{ordinal:05}" if gtid else None, **more)


@dataclass
class WriteSets:
    batch: list[Transaction]
    fallbacks: list[WriteSetFallback]

    def __len__(self) -> int:
        return len(self.batch)


class Batch(list):  # type: ignore[type-arg]
    @property
    def bytes(self) -> int:
        return sum(t.bytes for t in self)

    def write_sets(
        self, catalog: Catalog, *, scheme: str = "fine", bytewise: bool = False, by_event: bool = False, bounded: bool = False
    ) -> WriteSets:
        return WriteSets(self, [WriteSetFallback("reason", "d.t", 1)] if any("fallback" in t.keys for t in self) else [])

    def table_maps(self) -> list[Any]:
        return []

    def corrected(self, catalog: Catalog, tables: object = None) -> None:
        return None


class Catalog:
    def __init__(self) -> None:
        self.tables: dict[tuple[str, str], Any] = {}

    def put(self, table: Any) -> None:
        self.tables[table.database, table.name] = table

    def remove(self, database: str, name: str) -> None:
        self.tables.pop((database, name), None)

    def retire(self, database: str, name: str) -> None:
        self.remove(database, name)


@dataclass
class ReaderStop:
    """Transaction at which reading stopped."""

    file: str
    offset: int
    gtid: str | None
    committed_at: int | None
    included: bool


class StopCondition:
    """Condition at which a reader ends, of which these logs need the time."""

    def __init__(self, *, time: int | None = None, **_: Any) -> None:
        self.time = time


class LogReader:
    """Reads ``logs[path]``; an exception in the list is raised behind what stands before it."""

    logs: ClassVar[dict[str, list[Transaction | Exception]]] = {}
    delay = 0.0

    def __init__(self, paths: Sequence[str], *, stop: StopCondition | None = None, **_: Any) -> None:
        self._stop_time = None if stop is None else stop.time
        self.stopped: ReaderStop | None = None
        self._items = [item for path in paths for item in self.logs.get(path, [])]
        self._next = 0

    def stop(self) -> None:
        """Nothing to do for files."""

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
            if self._stop_time is not None and (item.committed_us or 0) >= self._stop_time:
                self.stopped = ReaderStop(item.file, item.offset, item.gtid, item.committed_us, included=False)
                self._next = len(self._items)
                break
            self._next += 1
            batch.append(item)
            if item.statements:
                break
        return batch or None


@dataclass
class Sums:
    transactions: int
    filtered: int
    skipped: int
    named: int
    own_left_out: int
    rows: int
    merged: int
    gtids: GtidSet


@dataclass
class Block:
    id: int
    transactions: list[Transaction]
    depends_on: list[int] = field(default_factory=list)
    depends_on_all: bool = False
    skipped: int = 0
    filtered: int = 0
    executed: GtidSet = field(default_factory=GtidSet)
    waits: list[int] = field(default_factory=list)

    @property
    def steps(self) -> list[int]:
        starts = sorted(set(self.waits))
        return starts if len(starts) > 1 else []

    def step(self, after: int | None, up_to: int) -> Block:
        wanted = [t for t, wait in zip(self.transactions, self.waits, strict=True) if (after is None or wait > after) and wait <= up_to]
        return Block(self.id, wanted)

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
    def sessions(self) -> list[SourceSession]:
        return list({SourceSession(t.server_id, t.session) for t in self.transactions})

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
    def end_file(self) -> str:
        return self.transactions[-1].file

    @property
    def end_offset(self) -> int:
        return self.transactions[-1].end_offset

    @property
    def bytes(self) -> int:
        return sum(t.bytes for t in self.transactions)

    @property
    def committed_at(self) -> int | None:
        return self.transactions[-1].committed_us

    @property
    def last_committed(self) -> int | None:
        return self.transactions[0].last_committed

    @property
    def sequence_number(self) -> int | None:
        return self.transactions[-1].sequence_number

    @staticmethod
    def sums(blocks: Sequence[Block]) -> Sums:
        counts = [block.transaction_count - block.filtered for block in blocks]
        return Sums(
            transactions=sum(block.transaction_count for block in blocks),
            filtered=sum(block.filtered for block in blocks),
            skipped=sum(block.skipped for block in blocks),
            named=0,
            own_left_out=0,
            rows=sum(block.rows for block in blocks),
            merged=sum(count for count in counts if count > 1),
            gtids=GtidSet(members=frozenset().union(*(block.gtids.members for block in blocks))),
        )

    def split(self) -> list[Block]:
        return [Block(self.id, [t], skipped=self.skipped if i == 0 else 0) for i, t in enumerate(self.transactions)]


class Planner:
    def __init__(self, *, executed: GtidSet | None = None, after: tuple[int, int] | None = None, early_rows: bool = False) -> None:
        self._executed = executed or GtidSet()
        self._early_rows = early_rows
        self._waits: dict[str, int] = {}
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
                self._waits.clear()
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
        if self._early_rows and not alone:
            wait = max([*needs, 0, *(self._waits.get(key, 0) for key in transaction.keys)])
            block.waits.append(wait)
            self._waits.update(dict.fromkeys(transaction.keys, wait))
        for key in transaction.keys:
            self._writer[key] = block.id


@dataclass
class LogHead:
    previous_gtids: GtidSet | None = None
    next_file: str | None = None
    has_transactions: bool = False
    first_gtid: str | None = None
    first_committed_at: int | None = None
    server_id: int = 7
    server_version: str = "9.7.0"
    begun: int = 0
    relay_log: bool = False
    size: int = 0


def log_head(path: str) -> LogHead:
    return LogHead()


@dataclass
class LookAhead:
    """Facts of logs that have nothing to tell before anything is written."""

    xa_parts: list[Any] = field(default_factory=list)
    statements: list[Any] = field(default_factory=list)
    unmatched_databases: list[str] = field(default_factory=list)
    unmatched_tables: list[tuple[str, str]] = field(default_factory=list)


def look_ahead(*_: Any) -> LookAhead:
    return LookAhead()


class TableFilter:
    """The filter of a reader, which these logs do not need."""

    def __init__(self, *_: Any, **__: Any) -> None:
        """Take any filter."""


def native_module() -> types.ModuleType:
    """The native module, with the stand-ins in the places of the objects that they stand for."""
    module = types.ModuleType("paraply._native")
    vars(module).update(vars(_native))
    module.log_head = log_head  # type: ignore[attr-defined]
    module.look_ahead = look_ahead  # type: ignore[attr-defined]
    for part in (GtidSet, Catalog, LogReader, Planner, Block, StopCondition, Transaction, TableFilter):
        setattr(module, part.__name__, part)
    return module


def independent(count: int) -> list[Transaction]:
    """So many transactions, each with a key of its own."""
    return [make(n, f"k{n}") for n in range(1, count + 1)]
