"""A member's own transactions: sent, decided, committed."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Protocol

from paraply._native import GtidSet
from paraply.errors import MemberUnavailable
from paraply.group.delivery.messages import LogEntry
from paraply.group.members.certification import Decision
from paraply.runtime import runtime

__all__ = ["Horizon", "LocalsInFlight", "Owner", "Pending"]


class Owner(Protocol):
    """Interface of the member that sent a transaction, for its session."""

    def local_committed(self, pending: Pending) -> None:
        """Note that a local transaction is committed."""


class Pending:
    """Transaction that a session has sent.

    Attributes:
        number: Its number among the member's transactions.
        decision: Decision of the group, once known.
        entry: Its log entry, if it may commit.
        needs: GTIDs that must be executed before it is committed in the member's own database.
        failure: Error in place of a decision.
        committed: True if it is committed in the member's own database.
        token: Token of its snapshot in the member's horizon.
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
        self._decided = runtime.event()
        self._done = runtime.event()

    def decide(self, decision: Decision, entry: LogEntry | None = None, needs: GtidSet | None = None) -> None:
        """Record the group's decision."""
        self.decision, self.entry = decision, entry
        if needs is not None:
            self.needs = needs
        self._decided.set()

    def fail(self, failure: MemberUnavailable) -> None:
        """Record that there will be no decision, because the member is unavailable."""
        if not self._decided.is_set():
            self.failure = failure
            self._decided.set()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the decision."""
        return self._decided.wait(seconds)

    def done(self) -> None:
        """Record that another thread has committed it."""
        self._done.set()

    def wait_done(self, seconds: float | None = None) -> bool:
        """Wait until another thread has committed it."""
        return self._done.wait(seconds)


class LocalsInFlight:
    """Local transactions that may commit and have not yet, and the later remote transactions that must wait for them.

    A server separates them by row locks. Here a session's rows are written after certification. So a later remote transaction that shares
    a row with a local one waits for the local commit, and a barrier waits for all local commits.
    """

    def __init__(self) -> None:
        self._mutex = runtime.lock()
        self._done = runtime.condition(self._mutex)
        self._flying: dict[str, tuple[frozenset[int], bool]] = {}
        self._waits: dict[str, set[str]] = {}
        self._closed = False

    def begin(self, gtid: str, items: Iterable[int], *, barrier: bool) -> None:
        """Add a local transaction that may commit."""
        with self._mutex:
            self._flying[gtid] = (frozenset(items), barrier)

    def behind(self, gtid: str, items: Iterable[int], *, barrier: bool) -> None:
        """Add a remote transaction, which waits for the local transactions that conflict with it."""
        with self._mutex:
            if not self._flying:
                return
            wanted = set(items)
            older = {other for other, (held, alone) in self._flying.items() if barrier or alone or not wanted.isdisjoint(held)}
            if older:
                self._waits[gtid] = older

    def end(self, gtid: str) -> None:
        """Record that a local transaction is committed."""
        with self._mutex:
            self._flying.pop(gtid, None)
            for waiter, older in list(self._waits.items()):
                older.discard(gtid)
                if not older:
                    del self._waits[waiter]
            self._done.notify_all()

    def may_start(self, gtid: str) -> bool:
        """Return True if a remote transaction need not wait."""
        return gtid not in self._waits

    def wait(self, gtid: str) -> bool:
        """Wait until a remote transaction may start; return False if the member ends before that."""
        with self._mutex:
            while gtid in self._waits and not self._closed:
                self._done.wait()
            return not self._closed

    def close(self) -> None:
        """End all waits."""
        with self._mutex:
            self._closed = True
            self._done.notify_all()


class Horizon:
    """Age of the snapshots that the member's open transactions read.

    Nothing that such a transaction does not see may be collected, because its conflicts would no longer be found. A server does not need
    this: it takes the snapshot version at the end of the transaction, under its row locks.
    """

    def __init__(self) -> None:
        self._mutex = runtime.lock()
        self._open: dict[int, GtidSet] = {}
        self._last = 0

    def __len__(self) -> int:
        return len(self._open)

    def begin(self, executed: GtidSet) -> int:
        """Add a transaction with the GTIDs executed before its snapshot; return a token."""
        with self._mutex:
            self._last += 1
            self._open[self._last] = executed
            return self._last

    def end(self, token: int) -> None:
        """Remove a transaction that is decided or given up."""
        with self._mutex, suppress(KeyError):
            del self._open[token]

    def floor(self, executed: GtidSet) -> GtidSet:
        """Return the GTIDs that are executed and seen by all open transactions.

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
