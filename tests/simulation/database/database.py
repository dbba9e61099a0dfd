"""The model database: its rows, its indexes, its connections, and its crashes."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from simulation.database.connection import Connection
from simulation.database.locks import Lock, Locker
from simulation.history import TABLES, Place, Row, State

from paraply.errors import ConnectionFailed
from paraply.runtime import runtime

if TYPE_CHECKING:
    from collections.abc import Callable

    from simulation.database.settings import Commit, LockName, Settings
    from simulation.threads import Simulation, Task

    from paraply.targets.progress.file_ledger import PositionRow
    from paraply.targets.two_phase import Branch

__all__ = ["Database"]


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
        self.children: dict[int, set[int]] = {}
        """The children of each parent."""
        self.arrivals: dict[Place, int] = {}
        """Number of insertions at each place of a row."""
        self.tables = frozenset(TABLES)
        self.commits: list[Commit] = []
        self.epoch = 0
        self.kept: PositionRow | None = None
        self.slots: dict[int, PositionRow] = {}
        self.locks: dict[LockName, Lock] = {}
        self.connections: dict[int, Connection] = {}
        self.zombies: list[Connection] = []
        self.readers: list[Task] = []
        """Readers that wait for the next commit."""
        self.prepared: dict[Branch, Connection] = {}
        """Parts that are prepared."""
        self.decided: set[str] = set()
        """Names of transactions in parts whose leader is committed."""
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
        """Stand as after a crash of server and client, with the last commits lost. What is prepared keeps its locks."""
        self.frozen = False
        kept = [(one, name, self.locks[name].holders[one]) for one in self.prepared.values() for name in one.held]
        self.locks.clear()
        for connection, name, exclusive in kept:
            self.locks.setdefault(name, Lock()).holders[connection] = exclusive
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
        self.children = {}
        for (table, number), row in self.rows.items():
            if table == "child":
                self.children.setdefault(int(row[1]), set()).add(number)

    def write(self, connection: Connection) -> dict[Place, Row | None]:
        """Make the changes of a transaction visible; return the rows before them."""
        undo: dict[Place, Row | None] = {}
        for place in connection.arrived:
            self.arrivals[place] = self.arrivals.get(place, 0) + 1
        for place, row in connection.changes.items():
            before = undo[place] = self.rows.pop(place, None)
            if row is not None:
                self.rows[place] = row
            if place[0] == "child":
                if before is not None:
                    self.children[int(before[1])].discard(place[1])
                if row is not None:
                    self.children.setdefault(int(row[1]), set()).add(place[1])
        for text, owner in connection.words.items():
            if owner is None:
                self.words.pop(text, None)
            else:
                self.words[text] = owner
        return undo

    def visible_rows(self) -> State:
        """Return the committed rows, as a new snapshot sees them once all parts that are decided are committed."""
        rows = dict(self.rows)
        for branch, connection in self.prepared.items():
            if branch.split in self.decided:
                for place, row in connection.changes.items():
                    rows.pop(place, None)
                    if row is not None:
                        rows[place] = row
        return rows

    def prepared_rows(self, split: str) -> int:
        """Return the number of row changes of the prepared parts of a transaction."""
        return sum(connection.part_rows for branch, connection in self.prepared.items() if branch.split == split)

    def notify_readers(self) -> None:
        """Let readers look at a new commit."""
        if self.readers:
            self.simulation.wake(self.readers)

    def exists(self, place: Place) -> bool:
        """Return True if a committed row is there."""
        return place in self.rows

    def is_changed(self, name: LockName, besides: Connection) -> bool:
        """Return True if an open transaction, besides one, has changed a row or a unique text."""
        owner = ("word", self.words.get(str(name[1]))) if name[0] == "unique" else None
        others = [one for one in self.connections.values() if one is not besides]
        return any(name in one.changes or (owner is not None and (owner in one.changes or name[1] in one.words)) for one in others)

    def goes(self, place: Place, besides: Connection) -> bool:
        """Return True if an open transaction, besides one, removes the row."""
        return any(place in one.changes and one.changes[place] is None for one in self.connections.values() if one is not besides)

    @staticmethod
    def new_lock() -> Lock:
        """Return a lock that nobody holds."""
        return Lock()

    def place_in_queue(self, lock: Lock, locker: Locker) -> int:
        """Return the place of a new one among those that wait for a lock: the last one, or any where the database is not fair."""
        count = len(lock.waiting)
        return count if self.settings.fair else self.chance.randrange(count + 1)

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
