"""Load for a group: sessions at all members that write contended rows and rows of their own."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from paraply.errors import MemberUnavailable, ReadOnlyMember, UsageError
from paraply.group.live import LiveGroup
from paraply.group.members.session import Session

__all__ = ["SCHEMA", "Load", "LoadOptions"]

ACCOUNT, ENTRY = "shop.account", "shop.entry"
SCHEMA = (
    f"create table {ACCOUNT} (id bigint primary key, owner varchar(40), balance bigint not null)",
    f"create table {ENTRY} (id bigint primary key, account bigint not null, amount bigint not null)",
)
_IDS_OF_A_SESSION = 1_000_000_000


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """Options of the sessions.

    Attributes:
        sessions: Number of sessions, spread over the members.
        hot_share: Share of the transactions that write one of the hot rows, 0 to 1.
        hot_rows: Number of hot rows.
        rows: Rows of the table of accounts.
        seed: Seed of the choice of rows.
    """

    sessions: int = 8
    hot_share: float = 0.1
    hot_rows: int = 4
    rows: int = 10_000
    seed: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.hot_share <= 1:
            raise UsageError(f"the share of hot transactions is between 0 and 1, not {self.hot_share}")
        if self.sessions < 1 or not 1 <= self.hot_rows < self.rows:
            raise UsageError("a load needs a session or more, and more rows than hot ones")


@dataclass(slots=True)
class Counts:
    """Counts of one session."""

    committed: int = 0
    conflicts: int = 0
    unavailable: int = 0
    seconds: float = 0.0
    last: str | None = None


@dataclass(slots=True)
class Load:
    """Sessions that run transactions against a group.

    Args:
        group: The group, with the tables of ``SCHEMA``.
        options: Options of the sessions.
    """

    group: LiveGroup
    options: LoadOptions = field(default_factory=LoadOptions)
    counts: list[Counts] = field(default_factory=list)
    failure: BaseException | None = None
    _ended: threading.Event = field(default_factory=threading.Event)

    def fill(self) -> None:
        """Insert the accounts."""
        session = self.group.session(self._members()[0])
        for first in range(0, self.options.rows, 1000):
            for number in range(first, min(first + 1000, self.options.rows)):
                session.insert(ACCOUNT, id=number, owner=f"owner {number}", balance=0)
            session.commit()
        self.group.settle()

    def run(self, seconds: float, on_tick: Callable[[], None] | None = None) -> float:
        """Run for so many seconds, or until interrupted; return the seconds that it ran.

        Raises:
            BaseException: The error of a session.
        """
        self.counts = [Counts() for _ in range(self.options.sessions)]
        threads = [
            threading.Thread(target=self._work, args=(number,), name=f"paraply-session-{number}", daemon=True)
            for number in range(self.options.sessions)
        ]
        began = time.monotonic()
        for thread in threads:
            thread.start()
        try:
            while time.monotonic() < began + seconds and self.failure is None:
                self._ended.wait(0.1)
                if on_tick is not None:
                    on_tick()
        finally:
            self._ended.set()
            ran = time.monotonic() - began
            for thread in threads:
                thread.join()
        if self.failure is not None:
            raise self.failure
        return ran

    @property
    def committed(self) -> int:
        """Number of transactions committed so far."""
        return sum(count.committed for count in self.counts)

    @property
    def conflicts(self) -> int:
        """Number of transactions rolled back so far."""
        return sum(count.conflicts for count in self.counts)

    @property
    def unavailable(self) -> int:
        """Number of transactions whose member became unavailable."""
        return sum(count.unavailable for count in self.counts)

    def _members(self) -> list[str]:
        names = [member.name for member in self.group.membership.view.members]
        return [name for name in names if self.group.may_write(name)] or names

    def _work(self, number: int) -> None:
        rng = random.Random(self.options.seed * 1000 + number)
        counts = self.counts[number]
        session: Session | None = None
        entry = number * _IDS_OF_A_SESSION
        try:
            while not self._ended.is_set():
                entry += 1
                began = time.monotonic()
                try:
                    if session is None:
                        members = self._members()
                        session = self.group.session(members[number % len(members)])
                    self._transaction(session, rng, entry, counts)
                except (MemberUnavailable, ReadOnlyMember):
                    counts.unavailable += 1
                    if session is not None:
                        session.rollback()
                    session = None
                    time.sleep(0.05)
                counts.seconds += time.monotonic() - began
        except BaseException as error:  # the error ends the load and is raised by ``run``
            self.failure = error
            self._ended.set()

    def _transaction(self, session: Session, rng: random.Random, entry: int, counts: Counts) -> None:
        options = self.options
        hot = rng.random() < options.hot_share
        account = rng.randrange(options.hot_rows) if hot else rng.randrange(options.hot_rows, options.rows)
        row = session.get(ACCOUNT, account)
        amount = rng.randint(1, 100)
        session.update(ACCOUNT, account, balance=(row["balance"] if row is not None else 0) + amount)
        session.insert(ENTRY, id=entry, account=account, amount=amount)
        outcome = session.commit()
        if outcome.committed:
            counts.committed += 1
            counts.last = outcome.gtid
        else:
            counts.conflicts += 1
