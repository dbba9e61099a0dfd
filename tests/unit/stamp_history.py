"""Random histories as logs, their dependencies by plain comparison, and a replica that applies them by a log's numbers."""

from __future__ import annotations

import random
import struct
import zlib
from dataclasses import dataclass, field
from pathlib import Path

from paraply._native import Catalog, encode_rows, encode_statement, encode_transaction, relay_format
from paraply.schema.advance import advance
from paraply.schema.catalog import SchemaCatalog

UUID = "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa"
SECOND = 1_700_000_000
VERSION = (9, 7, 0)
DDL = (
    "CREATE DATABASE d",
    "CREATE TABLE d.parent (id INT PRIMARY KEY, v INT NOT NULL)",
    "CREATE TABLE d.child (id INT PRIMARY KEY, parent_id INT NOT NULL, FOREIGN KEY (parent_id) REFERENCES d.parent (id))",
    "CREATE TABLE d.word (id INT PRIMARY KEY, w VARCHAR(20) COLLATE utf8mb4_0900_ai_ci NOT NULL, UNIQUE (w))",
)
COLLATIONS = {"utf8mb4_0900_ai_ci": 255}
WORDS = ("apple", "Apple", "APPLE", "plum", "Plum", "fig")

Row = dict[str, int | str]
State = dict[tuple[str, int], Row]
Key = tuple[str, object]


@dataclass
class Change:
    """A row change; None is a row that does not exist."""

    table: str
    before: Row | None
    after: Row | None

    def apply(self, state: State) -> None:
        """Change the state, or fail as a replica would."""
        for row in (self.before, self.after):
            if row is not None:
                place = (self.table, int(row["id"]))
        if self.before is None:
            assert place not in state, f"duplicate key {place}"
        else:
            assert state.get(place) == self.before, f"the row {place} is {state.get(place)} instead of {self.before}"
        if self.after is None:
            del state[place]
        else:
            state[place] = self.after
        self._check(state, place)

    def _check(self, state: State, place: tuple[str, int]) -> None:
        """Fail where a constraint of the tables does not hold."""
        if self.table == "child" and self.after is not None:
            assert ("parent", self.after["parent_id"]) in state, "the parent is missing"
        if self.table == "parent" and self.after is None:
            children = [row for (table, _), row in state.items() if table == "child" and row["parent_id"] == place[1]]
            assert not children, "a parent has children"
        if self.table == "word" and self.after is not None:
            same = [row for (table, _), row in state.items() if table == "word" and str(row["w"]).lower() == str(self.after["w"]).lower()]
            assert len(same) == 1, "duplicate unique value"


@dataclass
class Transaction:
    """Row changes that commit together; none stands for a statement."""

    changes: list[Change]
    exclusive: set[Key] = field(default_factory=set)
    shared: set[Key] = field(default_factory=set)

    def __post_init__(self) -> None:
        for change in self.changes:
            for row in (change.before, change.after):
                if row is not None:
                    self.exclusive.add((change.table, row["id"]))
                if row is not None and change.table == "word":
                    self.exclusive.add(("unique", str(row["w"]).lower()))
                if row is not None and change.table == "child":
                    self.shared.add(("reference", row["parent_id"]))
            if change.table == "parent" and (change.before is None or change.after is None):
                self.exclusive.add(("reference", (change.before or change.after or {})["id"]))

    def depends_on(self, older: Transaction) -> bool:
        """Return True if the two may not change places."""
        if not self.changes or not older.changes:
            return True
        both = self.exclusive & (older.exclusive | older.shared)
        return bool(both or self.shared & older.exclusive)


def random_history(chance: random.Random, count: int) -> list[Transaction]:
    """Return transactions that succeed one after the other, with a statement now and then."""
    state: State = {}
    history: list[Transaction] = []
    while len(history) < count:
        if chance.random() < 0.02:
            history.append(Transaction([]))
            continue
        tried = state.copy()
        changes: list[Change] = []
        for _ in range(chance.randint(1, 3)):
            change = _random_change(chance, tried)
            again = tried.copy()
            try:
                change.apply(again)
            except AssertionError:
                continue
            tried = again
            changes.append(change)
        if changes:
            state = tried
            history.append(Transaction(changes))
    return history


def _random_change(chance: random.Random, state: State) -> Change:
    table = chance.choice(("parent", "child", "word"))
    number = chance.randrange(8)
    row: Row = {"id": number}
    row |= {"parent": {"v": chance.randrange(99)}, "child": {"parent_id": chance.randrange(8)}, "word": {"w": chance.choice(WORDS)}}[table]
    before = state.get((table, number))
    return Change(table, before, None if before is not None and chance.random() < 0.5 else row)


def write_log(path: Path, history: list[Transaction], *, ddl: bool = True, first: int = 1) -> Path:
    """Write the history as a binlog whose numbers are those of commit order."""
    catalog, schema = Catalog(), SchemaCatalog()
    for sql in DDL:
        advance(schema, sql, "", {}, mariadb=False, version=VERSION)
    for table in schema:
        catalog.put(table)
    log = bytearray(b"\xfebin" + relay_format("9.7.0", server_id=1, created=SECOND))
    number = first - 1
    statements = [("", sql) for sql in DDL if ddl]
    for database, sql in statements:
        number += 1
        _append(log, encode_statement(_front(number, first), database, sql))
    for transaction in history:
        number += 1
        if not transaction.changes:
            _append(log, encode_statement(_front(number, first), "d", f"CREATE TABLE d.other{number} (id INT PRIMARY KEY)"))
            continue
        changes = [("d", change.table, change.before, change.after) for change in transaction.changes]
        rows = encode_rows(catalog, COLLATIONS, 1, SECOND * 1_000_000, changes)
        _append(log, encode_transaction(_front(number, first), rows))
    path.write_bytes(log)
    return path


def write_statements(path: Path, statements: list[str]) -> Path:
    """Write a binlog of statements."""
    log = bytearray(b"\xfebin" + relay_format("9.7.0", server_id=1, created=SECOND))
    for number, sql in enumerate(statements, 1):
        _append(log, encode_statement(_front(number, 1), "d", sql))
    path.write_bytes(log)
    return path


def _front(number: int, first: int) -> tuple[str, int, int, int, int, int]:
    sequence_number = number - first + 1
    return f"{UUID}:{number}", sequence_number - 1, sequence_number, 1, 7, SECOND * 1_000_000 + number


def _append(log: bytearray, events: bytes) -> None:
    """Append events with their positions and checksums."""
    at = 0
    while at < len(events):
        size = struct.unpack_from("<I", events, at + 9)[0]
        event = bytearray(events[at : at + size])
        struct.pack_into("<II", event, 9, size + 4, len(log) + size + 4)
        log += event + struct.pack("<I", zlib.crc32(event))
        at += size


def replay(history: list[Transaction], stamps: list[tuple[int, int]], chance: random.Random, workers: int) -> State:
    """Apply a history as MySQL's coordinator and its workers do by the numbers, in a random order of what they allow.

    A transaction is handed out after the older ones, once everything up to its last_committed is committed; 0 waits for everything.
    Those that were handed out are applied in any order, and commit in any order.
    """
    state: State = {}
    numbers = [number for _, number in stamps]
    waiting, running, done = list(range(len(history))), [], set()
    while waiting or running:
        ready = bool(waiting) and len(running) < workers and _may_start(waiting[0], stamps, numbers, done)
        if ready and (not running or chance.random() < 0.7):
            running.append(waiting.pop(0))
            continue
        assert running, "the replica waits for ever"
        one = running.pop(chance.randrange(len(running)))
        for change in history[one].changes:
            change.apply(state)
        done.add(one)
    return state


def _may_start(one: int, stamps: list[tuple[int, int]], numbers: list[int], done: set[int]) -> bool:
    last_committed, number = stamps[one]
    starts_over = last_committed == 0 or one == 0 or number <= numbers[one - 1]
    return all(older in done for older in range(one) if starts_over or numbers[older] <= last_committed)
