"""A model of a transactional database: rows, locks of rows and gaps, deadlocks, statement errors, and crashes.

It runs in a simulation, where only one thread runs between two steps, so it needs no lock of its own. As in InnoDB, a writer holds its
locks until its transaction ends, a cycle of waits costs one of its transactions, and a wait that takes too long ends the statement.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simulation.history import Change, State, place_of

from paraply.errors import ApplyFailed, ConnectionFailed, ConnectionLost, TemporaryFailure
from paraply.runtime import runtime
from paraply.targets.progress.file_ledger import PositionRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from simulation.threads import Simulation, Task

__all__ = ["Commit", "Connection", "Database", "Fault", "LockName", "Settings"]

LockName = tuple[str, object]


class Fault(AssertionError):
    """A promise that was not kept."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Properties of the database.

    Attributes:
        lock_timeout: Seconds after which a lock wait ends with an error.
        latency: Most seconds of a round trip; most take none.
        gaps: Chance that a change takes a lock that its write set does not tell.
        gap_size: Number of neighbouring keys that share such a lock.
        slow: Chance that a transaction takes much longer than the others.
        tells: True if it tells who blocks whom.
        zombies: Chance that the locks of a lost connection are held for a while.
    """

    lock_timeout: float = 0.2
    latency: float = 0.001
    gaps: float = 0.0
    gap_size: int = 8
    slow: float = 0.0
    tells: bool = True
    zombies: float = 0.3


@dataclass(slots=True)
class Commit:
    """A commit that readers see.

    Attributes:
        numbers: The source's transactions in it.
        undo: Rows before it.
        slot: Number of the row of progress that it wrote, and that row before.
    """

    numbers: list[int]
    undo: dict[tuple[str, int], tuple[int, int | str] | None]
    slot: tuple[int, PositionRow | None] | None


@dataclass(slots=True)
class _Lock:
    holders: dict[Connection, bool] = field(default_factory=dict)
    """Connections, and True for those that hold it exclusively."""
    waiting: list[Connection] = field(default_factory=list)


class Database:
    """Rows, locks, and the progress of the channel.

    Args:
        simulation: The simulation of the run.
        chance: Decides what is left open.
        settings: What it is like.
        on_commit: Called with each commit as soon as readers see it.
    """

    def __init__(self, simulation: Simulation, chance: random.Random, settings: Settings, on_commit: Callable[[Commit], None]) -> None:
        self.simulation = simulation
        self.chance = chance
        self.settings = settings
        self.on_commit = on_commit
        self.rows: State = {}
        self.words: dict[str, int] = {}
        self.parents: dict[int, int] = {}
        self.commits: list[Commit] = []
        self.epoch = 0
        self.kept: PositionRow | None = None
        self.slots: dict[int, PositionRow] = {}
        self.locks: dict[LockName, _Lock] = {}
        self.connections: dict[int, Connection] = {}
        self.zombies: list[Connection] = []
        self.refuses_until = -1.0
        self.frozen = False
        self.kill: tuple[int, int] | None = None
        """The client is killed after this many commits and then this many round trips; None for never."""
        self._made = 0

    def connect(self, *, patient: bool = False) -> Connection:
        """Return a new connection.

        Args:
            patient: True to wait for a server that is down.

        Raises:
            ConnectionFailed: The server is down.
        """
        self.round_trip()
        while patient and runtime.monotonic() < self.refuses_until:
            runtime.sleep(self.refuses_until - runtime.monotonic())
        if self.frozen or runtime.monotonic() < self.refuses_until:
            raise ConnectionFailed("the server cannot be reached")
        self._made += 1
        connection = self.connections[self._made] = Connection(self, 1000 + self._made)
        return connection

    def round_trip(self) -> None:
        """Let the time of a message and its answer pass."""
        if self.kill is not None and len(self.commits) >= self.kill[0]:
            self.kill = (self.kill[0], self.kill[1] - 1)
            if self.kill[1] < 0:
                self.frozen = True
                self.simulation.kill()
        chance, latency = self.chance, self.settings.latency
        if latency and chance.random() < 0.3:
            runtime.sleep(latency * chance.random())
        else:
            self.simulation.step("round trip")

    def crash(self, seconds: float) -> None:
        """Roll back everything that is not committed, end all connections, and refuse new ones for some seconds."""
        self.refuses_until = runtime.monotonic() + seconds
        for connection in [*self.connections.values(), *self.zombies]:
            connection.broken = True
            connection.release()
            connection.wake()
        self.zombies.clear()
        self.connections.clear()

    def restart(self, lost: int) -> None:
        """Stand as after a crash of server and client, with the last commits lost."""
        self.frozen = False
        self.locks.clear()
        self.connections.clear()
        self.zombies.clear()
        self.refuses_until = -1.0
        while lost and self.commits and self.commits[-1].slot is not None:  # those of earlier runs are durable
            lost -= 1
            commit = self.commits.pop()
            for place, row in commit.undo.items():
                if row is None:
                    self.rows.pop(place, None)
                else:
                    self.rows[place] = row
            number, before = commit.slot
            if before is None:
                self.slots.pop(number, None)
            else:
                self.slots[number] = before
        self.index()

    def index(self) -> None:
        """Make the secondary indexes again."""
        self.words = {str(row[1]).lower(): row[0] for (table, _), row in self.rows.items() if table == "word"}
        self.parents = {}
        for (table, _), row in self.rows.items():
            if table == "child":
                self.parents[int(row[1])] = self.parents.get(int(row[1]), 0) + 1

    def committed(self) -> list[int]:
        """Return the source's transactions in the order of their commits."""
        return [number for commit in self.commits for number in commit.numbers]

    def reap(self) -> float | None:
        """Roll back transactions of lost connections that the server has noticed; return the seconds until the next is noticed."""
        now = runtime.monotonic()
        for zombie in [one for one in self.zombies if one.dies_at <= now]:
            self.zombies.remove(zombie)
            zombie.release()
        return min((one.dies_at - now for one in self.zombies), default=None)


class Connection:
    """One connection and its transaction."""

    def __init__(self, database: Database, number: int) -> None:
        self.database = database
        self.number = number
        """Its number on the server."""
        self.held: list[LockName] = []
        self.waits_for: LockName | None = None
        self.wants_exclusive = True
        self.victim = False
        self.killed = False
        self.broken = False
        self.closed = False
        self.dies_at = 0.0
        self.changes: dict[tuple[str, int], tuple[int, int | str] | None] = {}
        self.words: dict[str, int | None] = {}
        self.children: dict[int, int] = {}
        self._waiting: list[Task] = []

    def check(self) -> None:
        """Raise the error of a statement on a connection that was lost or told to stop.

        Raises:
            ConnectionLost: It was lost.
            TemporaryFailure: The statement was killed.
        """
        if self.broken or self.closed or self.database.frozen:
            raise ConnectionLost("the server has gone away")
        if self.killed:
            self.killed = False
            raise TemporaryFailure("query execution was interrupted")

    def lock(self, name: LockName, *, exclusive: bool) -> None:
        """Take a lock, and wait for it.

        Raises:
            TemporaryFailure: A deadlock, which rolled back the transaction, or a wait that took too long.
        """
        database = self.database
        lock = database.locks.setdefault(name, _Lock())
        if lock.holders.get(self) is True or (not exclusive and self in lock.holders):
            return
        if not self._blockers(lock, exclusive, lock.waiting):
            self._grant(lock, name, exclusive)
            return
        deadline = runtime.monotonic() + database.settings.lock_timeout
        self.waits_for, self.wants_exclusive = name, exclusive
        lock.waiting.append(self)
        try:
            self._break_cycle()
            while True:
                self._check_wait()
                if not self._blockers(lock, exclusive, lock.waiting[: lock.waiting.index(self)]):
                    break
                left, noticed = deadline - runtime.monotonic(), database.reap()
                if left <= 0:
                    raise TemporaryFailure("lock wait timeout exceeded")
                if noticed is not None and noticed <= 0:
                    continue
                database.simulation.wait_in(self._waiting, "a row lock", left if noticed is None else min(left, noticed))
            self._grant(lock, name, exclusive)
        finally:
            self.waits_for = None
            lock.waiting.remove(self)
            self._wake_all(lock)
            if not lock.waiting and not lock.holders:
                del database.locks[name]

    def _grant(self, lock: _Lock, name: LockName, exclusive: bool) -> None:
        if self not in lock.holders:
            self.held.append(name)
        lock.holders[self] = exclusive or lock.holders.get(self, False)

    def _check_wait(self) -> None:
        if self.victim:
            self.victim = False
            raise TemporaryFailure("deadlock found when trying to get lock")
        self.check()

    def _blockers(self, lock: _Lock, exclusive: bool, before: Iterable[Connection]) -> list[Connection]:
        """Return the connections that hold the lock, or want it before this one, in a way that excludes this one."""
        found = [other for other, theirs in lock.holders.items() if other is not self and (exclusive or theirs)]
        return found + [other for other in before if other is not self and (exclusive or other.wants_exclusive)]

    def blockers(self) -> list[Connection]:
        """Return the connections that this one waits for."""
        if self.waits_for is None:
            return []
        lock = self.database.locks[self.waits_for]
        return self._blockers(lock, self.wants_exclusive, lock.waiting[: lock.waiting.index(self)])

    def _break_cycle(self) -> None:
        """Roll back one transaction of a cycle of waits."""
        while not self.victim and (cycle := self._cycle([self])):
            victim = self.database.chance.choice(cycle)
            victim.victim = True
            victim.release()
            victim.wake()

    def _cycle(self, path: list[Connection]) -> list[Connection]:
        for other in path[-1].blockers():
            if other is self:
                return path
            if other not in path and (found := self._cycle([*path, other])):
                return found
        return []

    def wake(self) -> None:
        """Let the connection look again at what it waits for."""
        self.database.simulation.wake(self._waiting)

    def _wake_all(self, lock: _Lock) -> None:
        for other in list(lock.waiting):
            other.wake()

    def change(self, change: Change) -> bool:
        """Carry out a change; return False if the row before it was another one.

        Raises:
            TemporaryFailure: A lock cannot be had.
            ApplyFailed: The row is missing, or a key is taken.
        """
        database = self.database
        before, after = change.before, change.after
        for row in (before, after):
            if row is not None:
                self.lock(place_of(change.table, row), exclusive=True)
                if database.settings.gaps and database.chance.random() < database.settings.gaps:
                    self.lock((f"gap of {change.table}", row[0] // database.settings.gap_size), exclusive=True)
        if change.table == "word":
            for row in (before, after):
                if row is not None:
                    self.lock(("unique", str(row[1]).lower()), exclusive=True)
        if change.table == "child" and after is not None:
            self.lock(("parent", int(after[1])), exclusive=False)
        same = True
        if before is not None:
            found = self.row(place_of(change.table, before))
            if found is None:
                raise ApplyFailed(f"no row {change.table} {before[0]}")
            same = found == before
            self._put(change.table, found, None)
        if after is not None:
            if self.row(place_of(change.table, after)) is not None:
                raise ApplyFailed(f"duplicate key {change.table} {after[0]}")
            self._put(change.table, None, after)
        self._check_keys(change)
        return same

    def _put(self, table: str, old: tuple[int, int | str] | None, new: tuple[int, int | str] | None) -> None:
        for row, step in ((old, -1), (new, 1)):
            if row is None:
                continue
            if table == "word":
                text = str(row[1]).lower()
                if step > 0 and self.word(text) is not None:
                    raise ApplyFailed(f"duplicate key word {text}")
                self.words[text] = row[0] if step > 0 else None
            elif table == "child":
                self.children[int(row[1])] = self.children.get(int(row[1]), 0) + step
            self.changes[place_of(table, row)] = row if step > 0 else None

    def _check_keys(self, change: Change) -> None:
        """Check foreign keys of what a change adds or removes."""
        if change.table == "child" and change.after is not None and self.row(("parent", int(change.after[1]))) is None:
            raise ApplyFailed(f"no parent {change.after[1]}")
        if change.table == "parent" and change.after is None and change.before is not None:
            number = change.before[0]
            if self.database.parents.get(number, 0) + self.children.get(number, 0):
                raise ApplyFailed(f"parent {number} has children")

    def row(self, place: tuple[str, int]) -> tuple[int, int | str] | None:
        """Return a row as this transaction sees it."""
        return self.changes[place] if place in self.changes else self.database.rows.get(place)

    def word(self, text: str) -> int | None:
        """Return the owner of a unique text as this transaction sees it."""
        return self.words[text] if text in self.words else self.database.words.get(text)

    def commit(self, numbers: list[int], slot: int, progress: PositionRow) -> None:
        """Make the transaction visible, and release its locks."""
        database = self.database
        undo: dict[tuple[str, int], tuple[int, int | str] | None] = {}
        for place, row in self.changes.items():
            undo[place] = database.rows.get(place)
            if row is None:
                database.rows.pop(place, None)
            else:
                database.rows[place] = row
        for text, owner in self.words.items():
            if owner is None:
                database.words.pop(text, None)
            else:
                database.words[text] = owner
        for number, step in self.children.items():
            database.parents[number] = database.parents.get(number, 0) + step
        commit = Commit(numbers, undo, (slot, database.slots.get(slot)))
        database.slots[slot] = progress
        database.commits.append(commit)
        self.release()
        database.on_commit(commit)

    def release(self) -> None:
        """End the transaction without its changes, and release its locks."""
        database = self.database
        self.changes.clear()
        self.words.clear()
        self.children.clear()
        held, self.held = self.held, []
        for name in held:
            lock = database.locks[name]
            del lock.holders[self]
            if lock.waiting:
                self._wake_all(lock)
            elif not lock.holders:
                del database.locks[name]

    def lose(self) -> None:
        """Lose the connection; the server may notice it later, and hold the locks until then.

        Raises:
            ConnectionLost: Always.
        """
        database = self.database
        self.broken = True
        if database.chance.random() < database.settings.zombies:
            self.dies_at = runtime.monotonic() + database.chance.uniform(0, database.settings.lock_timeout * 2)
            database.zombies.append(self)
        else:
            self.release()
        raise ConnectionLost("the server has gone away")
