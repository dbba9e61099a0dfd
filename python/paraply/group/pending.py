"""A member's own transactions on their way: sent, decided, committed."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import Protocol

from paraply._native import GtidSet
from paraply.errors import MemberUnavailable
from paraply.group.certification import Decision
from paraply.group.messages import LogEntry

__all__ = ["Horizon", "LocalsInFlight", "Owner", "Pending"]


class Owner(Protocol):
    """The member that sent a transaction, as its session needs to know it."""

    def local_committed(self, pending: Pending) -> None:
        """Note that a local transaction is committed."""


class Pending:
    """A transaction that a session has sent.

    Attributes:
        number: Its number among the member's.
        decision: The group's answer, once there is one.
        entry: The transaction as it is logged, if it may commit.
        needs: What must be executed before it is committed in the member's own database.
        failure: Why there will be no answer.
        committed: Whether it is committed in the member's own database.
        token: Its snapshot's, in the member's horizon.
        owner: The member that sent it.
    """

    def __init__(self, number: int, token: int = 0) -> None:
        self.number = number
        self.token = token
        self.decision: Decision | None = None
        self.entry: LogEntry | None = None
        self.needs = GtidSet()
        self.failure: MemberUnavailable | None = None
        self.committed = False
        self.owner: Owner | None = None
        self._decided = threading.Event()
        self._done = threading.Event()

    def decide(self, decision: Decision, entry: LogEntry | None = None, needs: GtidSet | None = None) -> None:
        """The group's answer is there."""
        self.decision, self.entry = decision, entry
        if needs is not None:
            self.needs = needs
        self._decided.set()

    def fail(self, failure: MemberUnavailable) -> None:
        """There will be no answer: the member is gone."""
        if not self._decided.is_set():
            self.failure = failure
            self._decided.set()

    def wait(self, seconds: float | None = None) -> bool:
        """Waits for the answer."""
        return self._decided.wait(seconds)

    def done(self) -> None:
        """Somebody else has committed it."""
        self._done.set()

    def wait_done(self, seconds: float | None = None) -> bool:
        """Waits until somebody else has committed it."""
        return self._done.wait(seconds)


class LocalsInFlight:
    """Local transactions that may commit and have not yet, and the remote ones behind them that must wait.

    A server keeps them apart by row locks. Here a session's rows are written after certification, so that a remote transaction which
    came later and shares a row with a local one waits until that is committed, and a barrier until all are.
    """

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._done = threading.Condition(self._mutex)
        self._flying: dict[str, tuple[frozenset[int], bool]] = {}
        self._waits: dict[str, set[str]] = {}
        self._closed = False

    def begin(self, gtid: str, items: Iterable[int], *, barrier: bool) -> None:
        """A local transaction may commit."""
        with self._mutex:
            self._flying[gtid] = (frozenset(items), barrier)

    def behind(self, gtid: str, items: Iterable[int], *, barrier: bool) -> None:
        """A remote transaction comes: it waits for those that it conflicts with."""
        with self._mutex:
            if not self._flying:
                return
            wanted = set(items)
            older = {other for other, (held, alone) in self._flying.items() if barrier or alone or not wanted.isdisjoint(held)}
            if older:
                self._waits[gtid] = older

    def end(self, gtid: str) -> None:
        """A local transaction is committed."""
        with self._mutex:
            self._flying.pop(gtid, None)
            for waiter, older in list(self._waits.items()):
                older.discard(gtid)
                if not older:
                    del self._waits[waiter]
            self._done.notify_all()

    def may_start(self, gtid: str) -> bool:
        """Whether a remote transaction need not wait."""
        return gtid not in self._waits

    def wait(self, gtid: str) -> bool:
        """Waits until a remote transaction need not wait; False if the member ends before."""
        with self._mutex:
            while gtid in self._waits and not self._closed:
                self._done.wait()
            return not self._closed

    def close(self) -> None:
        """Nobody waits any more."""
        with self._mutex:
            self._closed = True
            self._done.notify_all()


class Horizon:
    """How old the snapshots are that the member's open transactions read.

    Nothing may be collected that such a transaction does not see: it could then no longer be told that it is in conflict. A server
    need not ask, because it takes the snapshot version when the transaction ends, behind its row locks.
    """

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._open: dict[int, GtidSet] = {}
        self._last = 0

    def __len__(self) -> int:
        return len(self._open)

    def begin(self, executed: GtidSet) -> int:
        """A transaction begins with what is executed now, before it takes its snapshot; gives a token."""
        with self._mutex:
            self._last += 1
            self._open[self._last] = executed
            return self._last

    def end(self, token: int) -> None:
        """It is decided, or given up."""
        with self._mutex, suppress(KeyError):
            del self._open[token]

    def floor(self, executed: GtidSet) -> GtidSet:
        """What is executed and seen by all open transactions.

        >>> horizon = Horizon()
        >>> uuid = "00000000-0000-0000-0000-000000000001"
        >>> token = horizon.begin(GtidSet(f"{uuid}:1-3"))
        >>> str(horizon.floor(GtidSet(f"{uuid}:1-9")))[-3:]
        '1-3'
        """
        with self._mutex:
            for seen in self._open.values():
                executed = executed & seen
            return executed
