"""Locks of transactions: shared and exclusive ones, their queues, cycles of waits, and waits that take too long."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from paraply.errors import ConnectionLost, TemporaryFailure
from paraply.runtime import runtime

if TYPE_CHECKING:
    from collections.abc import Iterable

    from simulation.database.database import Database
    from simulation.database.settings import LockName
    from simulation.threads import Task

__all__ = ["Lock", "Locker"]


@dataclass(slots=True)
class Lock:
    """A lock with its holders and its queue."""

    holders: dict[Locker, bool] = field(default_factory=dict)
    """Transactions, and True for those that hold it exclusively."""
    waiting: list[Locker] = field(default_factory=list)


class Locker:
    """A transaction that takes locks in a database.

    Args:
        database: The database.
        number: Its number on the server.
    """

    def __init__(self, database: Database, number: int) -> None:
        self.database = database
        self.number = number
        self.lock_timeout = database.settings.lock_timeout
        self.held: list[LockName] = []
        self.waits_for: LockName | None = None
        self.wants_exclusive = True
        self.victim = False
        self.killed = False
        self.busy = False
        """True while several statements run one after the other."""
        self.broken = False
        self.closed = False
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
        lock = database.locks.setdefault(name, Lock())
        if lock.holders.get(self) is True or (not exclusive and self in lock.holders):
            return
        if not self._blockers(lock, exclusive, self._before(lock, exclusive)):
            self._grant(lock, name, exclusive)
            return
        deadline = runtime.monotonic() + self.lock_timeout
        self.waits_for, self.wants_exclusive = name, exclusive
        lock.waiting.insert(database.place_in_queue(lock, self), self)
        try:
            while True:
                self._break_cycle()
                self._check_wait()
                if not self._blockers(lock, exclusive, self._before(lock, exclusive)):
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

    def _before(self, lock: Lock, exclusive: bool) -> list[Locker]:
        """Return the transactions that wait for a lock and get it before this one.

        In MySQL, who holds it already goes past all that wait for it; in PostgreSQL, who shares it with its holders.
        """
        locking = self.database.settings.locking
        if (self in lock.holders and locking == "mysql") or (not exclusive and locking == "postgresql"):
            return []
        return lock.waiting[: lock.waiting.index(self)] if self in lock.waiting else lock.waiting

    def is_locked(self, name: LockName) -> bool:
        """Return True if another transaction holds the lock."""
        lock = self.database.locks.get(name)
        return lock is not None and any(other is not self for other in lock.holders)

    def unlock(self, name: LockName) -> None:
        """Give a lock back before the end of the transaction."""
        self.held.remove(name)
        self._give_back(name)

    def release_locks(self) -> None:
        """Give all locks back."""
        held, self.held = self.held, []
        for name in held:
            self._give_back(name)

    def _give_back(self, name: LockName) -> None:
        lock = self.database.locks[name]
        del lock.holders[self]
        if lock.waiting:
            self._wake_all(lock)
        elif not lock.holders:
            del self.database.locks[name]

    def _grant(self, lock: Lock, name: LockName, exclusive: bool) -> None:
        if self not in lock.holders:
            self.held.append(name)
        lock.holders[self] = exclusive or lock.holders.get(self, False)

    def _check_wait(self) -> None:
        if self.victim:
            self.victim = False
            raise TemporaryFailure("deadlock found when trying to get lock")
        self.check()

    def _blockers(self, lock: Lock, exclusive: bool, before: Iterable[Locker]) -> list[Locker]:
        """Return the transactions that hold the lock, or want it before this one, in a way that excludes this one."""
        found = [other for other, other_exclusive in lock.holders.items() if other is not self and (exclusive or other_exclusive)]
        return found + [other for other in before if other is not self and (exclusive or other.wants_exclusive)]

    def blockers(self) -> list[Locker]:
        """Return the transactions that this one waits for."""
        if self.waits_for is None:
            return []
        lock = self.database.locks[self.waits_for]
        return self._blockers(lock, self.wants_exclusive, self._before(lock, self.wants_exclusive))

    def _break_cycle(self) -> None:
        """Roll back one transaction of a cycle of waits."""
        while not self.victim and (cycle := self._cycle([self])):
            victim = self.database.chance.choice(cycle)
            victim.victim = True
            victim.release()
            victim.wake()

    def _looked_at(self) -> list[Locker]:
        """Return the blockers that the search for a cycle follows: InnoDB knows one of each that waits."""
        blockers = self.blockers()
        if self.database.settings.locking == "postgresql" or len(blockers) < 2:
            return blockers
        if self.database.settings.locking == "mariadb":
            return blockers[:1]
        holders = self.database.locks[self.waits_for].holders if self.waits_for is not None else {}
        return [next((one for one in reversed(blockers) if one in holders), blockers[0])]

    def _cycle(self, path: list[Locker]) -> list[Locker]:
        for other in path[-1]._looked_at():
            if other is self:
                return path
            if other not in path and not other.victim and (found := self._cycle([*path, other])):
                return found
        return []

    def release(self) -> None:
        """End the transaction without its changes, and give its locks back."""
        self.release_locks()

    def interrupt(self) -> None:
        """End the running statement; without one, nothing happens."""
        if self.waits_for is not None or (self.busy and self.database.chance.random() < 0.5):
            self.killed = True
            self.wake()

    def wake(self) -> None:
        """Let the transaction look again at what it waits for."""
        self.database.simulation.wake(self._waiting)

    def _wake_all(self, lock: Lock) -> None:
        for other in list(lock.waiting):
            other.wake()
