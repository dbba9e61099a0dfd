"""Random histories of a source, as a log that the real reader and planner read, and as the rows that a serial apply leaves."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from paraply._native import Catalog, encode_rows, encode_statement, encode_transaction, relay_format
from paraply.schema.advance import advance
from paraply.schema.catalog import SchemaCatalog

__all__ = [
    "TABLES",
    "UUID",
    "Change",
    "History",
    "Part",
    "Place",
    "Row",
    "Shape",
    "Source",
    "State",
    "Transaction",
    "history_of_parts",
    "place_of",
    "random_history",
    "schema",
]

UUID = "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa"
SECOND = 1_700_000_000
SERVERS = (1, 1, 1, 2)
DOMAINS = (0, 0, 0, 7)
GTID, ANONYMOUS, QUERY, MARIADB_GTID = 33, 34, 2, 162
STANDALONE, TRANSACTIONAL, DDL, THREAD_ID = 1, 4, 32, 16
"""Flags of MariaDB's GTID events."""
_DDL = (
    "CREATE DATABASE d",
    "CREATE TABLE d.item (id INT PRIMARY KEY, v INT NOT NULL)",
    "CREATE TABLE d.stock (id INT PRIMARY KEY, v INT NOT NULL)",
    "CREATE TABLE d.plain (id INT NOT NULL, v INT NOT NULL)",
    "CREATE TABLE d.parent (id INT PRIMARY KEY, v INT NOT NULL)",
    "CREATE TABLE d.child (id INT PRIMARY KEY, parent_id INT NOT NULL, FOREIGN KEY (parent_id) REFERENCES d.parent (id))",
    "CREATE TABLE d.word (id INT PRIMARY KEY, w VARCHAR(20) COLLATE utf8mb4_general_ci NOT NULL, UNIQUE (w))",
)
_COLLATIONS = {"utf8mb4_general_ci": 45}
TABLES = {
    "item": ("id", "v"),
    "stock": ("id", "v"),
    "plain": ("id", "v"),
    "parent": ("id", "v"),
    "child": ("id", "parent_id"),
    "word": ("id", "w"),
}
"""The columns of each table, in the order of the row image."""

Row = tuple[int, int | str]
"""The primary key, and the other column."""
Place = tuple[str, int]
"""Table and primary key."""
State = dict[Place, Row]


def place_of(table: str, row: Row) -> Place:
    """Return the place of a row."""
    return table, row[0]


@dataclass(frozen=True, slots=True)
class Change:
    """A row change; None is a row that does not exist."""

    table: str
    before: Row | None
    after: Row | None


@dataclass(slots=True)
class Transaction:
    """Changes that commit together; none stands for a statement.

    Attributes:
        number: Its number, from 1.
        changes: The changes in order.
        session: Server and session of the source.
        gtid: Its GTID; empty without one.
        needs: Older ones that must be committed before it; with their own, all on which it depends.
        statement: The newest older statement, which it must not begin before; 0 for none.
        last_committed: The newest of them, or a newer one than that.
        end_offset: Offset in the log after it.
    """

    number: int
    changes: list[Change]
    session: tuple[int, int]
    gtid: str = ""
    needs: frozenset[int] = frozenset()
    statement: int = 0
    last_committed: int = 0
    end_offset: int = 0


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of a history.

    Attributes:
        transactions: Number of transactions.
        ids: Number of primary keys of each table: with few, nearly all transactions conflict.
        changes: Most changes of one transaction.
        statements: Chance of a statement.
        sessions: Number of sessions of the source.
        gtids: Whose GTIDs the log has: ``mysql``, ``mariadb``, or ``none``.
        timed: True if every table has a column that grows with each change of a row, as policy ``unordered`` needs it.
    """

    transactions: int
    ids: int
    changes: int = 3
    statements: float = 0.01
    sessions: int = 16
    gtids: Literal["mysql", "mariadb", "none"] = "mysql"
    timed: bool = False

    @property
    def family(self) -> Literal["mysql", "mariadb"]:
        """The family of the source."""
        return "mariadb" if self.gtids == "mariadb" else "mysql"

    @classmethod
    def draw(cls, chance: random.Random) -> Shape:
        """Return a random shape; most are small, because small ones find the same faults faster."""
        count = int(20 * 10 ** (chance.random() ** 3))
        return cls(
            transactions=count,
            ids=chance.choice((3, 6, 12, 40, 80, 200)),
            changes=chance.choice((1, 2, 3, 3, 8)),
            statements=chance.choice((0.0, 0.0, 0.01, 0.05)),
            sessions=chance.choice((1, 3, 16, 10_000)),
            gtids=chance.choice(("mysql", "mysql", "mariadb", "none")),
            timed=chance.random() < 0.06,
        )


@dataclass
class History:
    """A history, its log, and what a serial apply leaves.

    Attributes:
        shape: Its shape.
        transactions: The transactions in the source's order.
        by_end: Number of each transaction by the offset after it.
        log: The bytes of the log.
        parts: What the transactions were made of.
    """

    shape: Shape
    transactions: list[Transaction]
    by_end: dict[int, int] = field(default_factory=dict)
    log: bytes = b""
    parts: tuple[Part, ...] = ()

    def serial(self, numbers: Iterable[int] | None = None, before: State | None = None) -> State:
        """Return the rows after these transactions in the source's order; after all by default.

        Args:
            numbers: The transactions.
            before: Rows before them; none by default.
        """
        state: State = dict(before or {})
        chosen = range(1, len(self.transactions) + 1) if numbers is None else sorted(numbers)
        for number in chosen:
            for change in self.transactions[number - 1].changes:
                if change.before is not None:
                    state.pop(place_of(change.table, change.before), None)
                if change.after is not None:
                    state[place_of(change.table, change.after)] = change.after
        return state

    def write(self, path: Path) -> None:
        """Write the log."""
        path.write_bytes(self.log)


def _definitions() -> tuple[Catalog, SchemaCatalog]:
    catalog, found = Catalog(), SchemaCatalog()
    for sql in _DDL:
        advance(found, sql, "", {}, mariadb=False, version=(9, 7, 0))
    for table in found:
        catalog.put(table)
    return catalog, found


_CATALOG, schema = _definitions()
_HEADS = {
    family: b"\xfebin" + relay_format(version, server_id=1, created=SECOND)
    for family, version in (("mysql", "9.7.0"), ("mariadb", "11.8.2-MariaDB-log"))
}


@dataclass(frozen=True, slots=True)
class Part:
    """Random choices of a transaction.

    Attributes:
        changes: Its changes; none for a statement.
        session: Server and session of the source.
        domain: MariaDB's domain.
        slack: Share of the way from its dependencies to its predecessor at which its ``last_committed`` is.
    """

    changes: tuple[Change, ...]
    session: tuple[int, int]
    domain: int = 0
    slack: float = 0.0


def random_history(chance: random.Random, shape: Shape) -> History:
    """Return a history whose transactions succeed one after the other."""
    source = Source(chance, shape)
    parts = []
    for _ in range(shape.transactions):
        statement = chance.random() < shape.statements
        changes = () if statement else tuple(source.changes(chance.randint(1, shape.changes)))
        session = (chance.choice(SERVERS), chance.randrange(shape.sessions) + 1)
        domain = chance.choice(DOMAINS) if shape.sessions > 1 else 0
        parts.append(Part(changes, session, domain, chance.random() if chance.random() < 0.3 else 0.0))
    return history_of_parts(shape, parts)


def history_of_parts(shape: Shape, parts: Sequence[Part]) -> History:
    """Return the history and the log of transactions."""
    history = History(replace(shape, transactions=len(parts)), [], parts=tuple(parts))
    order = _Order()
    log, domains = bytearray(_HEADS[shape.family]), dict.fromkeys(DOMAINS, 0)
    for number, part in enumerate(parts, start=1):
        transaction = Transaction(number, list(part.changes), part.session)
        if shape.gtids == "mysql":
            transaction.gtid = f"{UUID}:{number}"
        elif shape.gtids == "mariadb":
            domains[part.domain] += 1
            transaction.gtid = f"{part.domain}-{part.session[0]}-{domains[part.domain]}"
        transaction.statement = order.statement
        transaction.needs = order.needs(number, transaction.changes)
        needed = max(transaction.needs, default=0)
        transaction.last_committed = needed + round(part.slack * (number - 1 - needed))
        _append(log, _events(transaction), transaction, shape)
        transaction.end_offset = len(log)
        history.by_end[len(log)] = number
        history.transactions.append(transaction)
    history.log = bytes(log)
    return history


def _events(transaction: Transaction) -> bytes:
    number, (server, session) = transaction.number, transaction.session
    front = (f"{UUID}:{number}", transaction.last_committed, number, server, session, SECOND * 1_000_000 + number)
    if not transaction.changes:
        return encode_statement(front, "d", f"CREATE TABLE d.other{number} (id INT PRIMARY KEY)")
    rows = [("d", one.table, _named(one.table, one.before), _named(one.table, one.after)) for one in transaction.changes]
    return encode_transaction(front, encode_rows(_CATALOG, _COLLATIONS, server, SECOND * 1_000_000, rows))


def _named(table: str, row: Row | None) -> dict[str, int | str] | None:
    return None if row is None else dict(zip(TABLES[table], row, strict=True))


def _append(log: bytearray, events: bytes, transaction: Transaction, shape: Shape) -> None:
    """Append events with their positions and checksums."""
    at = 0
    while at < len(events):
        size = struct.unpack_from("<I", events, at + 9)[0]
        event = bytearray(events[at : at + size])
        at += size
        if event[4] == GTID and shape.gtids == "none":
            event[4] = ANONYMOUS
            event[20:44] = bytes(24)
        elif event[4] == GTID and shape.gtids == "mariadb":
            event[4] = MARIADB_GTID
            event[19:] = _mariadb_gtid(transaction)
        elif event[4] == QUERY and shape.gtids == "mariadb" and event.endswith(b"BEGIN"):
            continue  # the GTID begins the transaction
        struct.pack_into("<II", event, 9, len(event) + 4, len(log) + len(event) + 4)
        log += event
        log += struct.pack("<I", zlib.crc32(event))


def _mariadb_gtid(transaction: Transaction) -> bytes:
    """Return the body of MariaDB's GTID event, with the session."""
    domain, _, number = transaction.gtid.split("-")
    flags = TRANSACTIONAL if transaction.changes else STANDALONE | DDL
    return struct.pack("<QIBBI", int(number), int(domain), flags, THREAD_ID, transaction.session[1])


class Source:
    """The tables of a source, in which each change succeeds."""

    def __init__(self, chance: random.Random, shape: Shape) -> None:
        self._chance = chance
        self._ids = shape.ids
        self._state: State = {}
        self._children: dict[int, int] = {}
        self._words: dict[str, int] = {}
        self._timed = shape.timed
        keyed = [table for table in TABLES if table != "plain"]
        self._tables = chance.choices(tuple(TABLES), k=chance.randint(1, 5)) if chance.random() < 0.3 else keyed
        if shape.timed:
            self._tables = ["item", "stock", "parent"]
        self._value = 0

    def changes(self, count: int) -> list[Change]:
        """Return this many changes, and make them."""
        found: list[Change] = []
        while len(found) < count:
            change = self._draw(self._chance.choice(self._tables), self._chance.randrange(self._ids))
            while change is None:
                change = self._draw("item", self._chance.randrange(self._ids))
            self.make(change)
            found.append(change)
        return found

    def _draw(self, table: str, number: int) -> Change | None:
        """Return a change of a row, or None if it would fail."""
        chance, state = self._chance, self._state
        before = state.get((table, number))
        remove = before is not None and chance.random() < 0.35
        if table == "parent" and remove and self._children.get(number):
            return None
        if remove:
            return Change(table, before, None)
        identity = number
        if before is not None and table in ("item", "word") and not self._timed and chance.random() < 0.1:
            identity = chance.randrange(self._ids)
            if identity != number and (table, identity) in state:
                return None
        after = self._row(table, identity, before)
        return None if after is None or after == before else Change(table, before, after)

    def _row(self, table: str, identity: int, before: Row | None) -> Row | None:
        chance = self._chance
        if table == "child":
            parent = chance.randrange(self._ids)
            return (identity, parent) if ("parent", parent) in self._state else None
        if table == "word":
            text = f"w{chance.randrange(self._ids)}"
            text = text if chance.random() < 0.5 else text.upper()
            owner = self._words.get(text.lower())
            return (identity, text) if owner is None or (before is not None and owner == before[0]) else None
        self._value += 1
        return identity, self._value

    def fitted(self, change: Change) -> Change | None:
        """Return the change as it can be made now; None if it cannot."""
        before = None if change.before is None else self._state.get(place_of(change.table, change.before))
        after = change.after
        if change.before is not None and before is None:
            return None
        if change.table == "parent" and after is None and before is not None and self._children.get(before[0]):
            return None
        if after is not None:
            moves = before is None or before[0] != after[0]
            if moves and place_of(change.table, after) in self._state:
                return None
            if change.table == "child" and ("parent", int(after[1])) not in self._state:
                return None
            owner = self._words.get(str(after[1]).lower()) if change.table == "word" else None
            if owner is not None and (before is None or owner != before[0]):
                return None
        return None if before == after else Change(change.table, before, after)

    def make(self, change: Change) -> None:
        """Make a change that can be made."""
        for row, step in ((change.before, -1), (change.after, 1)):
            if row is None:
                continue
            if step < 0:
                del self._state[place_of(change.table, row)]
            else:
                self._state[place_of(change.table, row)] = row
            if change.table == "child":
                self._children[int(row[1])] = self._children.get(int(row[1]), 0) + step
            elif change.table == "word" and step < 0:
                del self._words[str(row[1]).lower()]
            elif change.table == "word":
                self._words[str(row[1]).lower()] = row[0]


class _Order:
    """Dependencies of transactions on older ones, by plain comparison of keys."""

    def __init__(self) -> None:
        self._writers: dict[tuple[str, object], int] = {}
        self._readers: dict[tuple[str, object], list[int]] = {}
        self.statement = 0
        """The last statement."""

    def needs(self, number: int, changes: list[Change]) -> frozenset[int]:
        """Return the older transactions that this one must follow, without those that they must follow themselves."""
        if not changes:
            older = frozenset(range(self.statement, number)) - {0}
            self.statement = number
            return older
        taken: set[tuple[str, object]] = set()
        shared: set[tuple[str, object]] = set()
        for change in changes:
            for row in (change.before, change.after):
                if row is None:
                    continue
                taken.add((change.table, row[0]))
                if change.table == "word":
                    taken.add(("unique", str(row[1]).lower()))
                elif change.table == "child":
                    shared.add(("reference", row[1]))
            if change.table == "parent" and (change.before is None or change.after is None):
                taken.add(("reference", (change.before or change.after or (0,))[0]))
        found = {self._writers[key] for key in taken | shared if key in self._writers} | {self.statement}
        for key in taken:
            found.update(self._readers.pop(key, ()))
        self._writers.update(dict.fromkeys(taken, number))
        for key in shared:
            self._readers.setdefault(key, []).append(number)
        return frozenset(found) - {0, number}
