"""A client's session at one member."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from paraply.errors import MemberUnavailable, ReadOnlyMember, UsageError, WriteConflict
from paraply.group.member import Member
from paraply.group.messages import Row, RowChange
from paraply.group.pending import Pending
from paraply.group.store import Snapshot

__all__ = ["Outcome", "Session"]

Key = tuple[Any, ...]
CONFLICT = "rolled back (conflict)"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a transaction ended.

    Attributes:
        committed: Whether it is committed.
        gtid: Its GTID; None for one that was rolled back or wrote nothing.
        reason: Why it was rolled back.
    """

    committed: bool
    gtid: str | None = None
    reason: str | None = None

    def __str__(self) -> str:
        """``committed`` or ``rolled back (conflict)``."""
        return "committed" if self.committed else CONFLICT


class Session:
    """Reads and writes through one member; made by ``Group.session``. Not shared between threads.

    A transaction begins with the first read or write, reads one state of its member's database, keeps its writes to itself, and sends
    them to the group when it commits. It may commit if nobody else changed one of its rows since it began: the first committer wins.
    Two transactions that each read what the other writes (write skew) may both commit, as in MySQL.

    Args:
        member: Where.
        number: Its number among the group's sessions.
        commit_local: Waits for the group's answer and commits; None where the group is driven step by step.
        may_write: Whether the member takes writes now.
    """

    def __init__(
        self, member: Member, number: int, commit_local: Callable[[Pending], None] | None, may_write: Callable[[], bool]
    ) -> None:
        self.member = member
        self.number = number
        self._commit_local = commit_local
        self._may_write = may_write
        self._snapshot: Snapshot | None = None
        self._token = 0
        self._before: dict[tuple[str, Key], Row | None] = {}
        self._after: dict[tuple[str, Key], Row | None] = {}

    @property
    def snapshot(self) -> Snapshot:
        """The state that the transaction reads; begins one if there is none."""
        if self._snapshot is None:
            self.member.require_online()
            # The horizon first: what is executed meanwhile may be in the snapshot, but nothing before it can be missing.
            self._token = self.member.horizon.begin(self.member.store.executed())
            self._snapshot = self.member.store.snapshot()
        return self._snapshot

    def get(self, table: str, *key: Any) -> Row | None:
        """A row by its primary key, as this transaction sees it; None if there is none."""
        place = (table, key)
        if place in self._after:
            return self._after[place]
        return self.snapshot.get(table, key)

    def insert(self, table: str, **row: Any) -> None:
        """Adds a row.

        Raises:
            UsageError: A row with that primary key is there, or the table has no such column.
        """
        definitions = self.member.store.definitions
        complete = definitions.complete(table, row)
        key = definitions.key(table, complete)
        if self.get(table, *key) is not None:
            raise UsageError(f"a row with key {key} is in table {table} already")
        self._write(table, key, complete)

    def update(self, table: str, *key: Any, **values: Any) -> None:
        """Changes columns of a row, but not of its primary key.

        Raises:
            UsageError: There is no such row or column.
        """
        definitions = self.member.store.definitions
        row = self.get(table, *key)
        if row is None:
            raise UsageError(f"there is no row with key {key} in table {table}")
        changed = definitions.complete(table, {**row, **values})
        if definitions.key(table, changed) != key:
            raise UsageError(f"the key {key} of a row of table {table} cannot be changed: delete the row and insert another")
        self._write(table, key, changed)

    def delete(self, table: str, *key: Any) -> None:
        """Removes a row.

        Raises:
            UsageError: There is no such row.
        """
        if self.get(table, *key) is None:
            raise UsageError(f"there is no row with key {key} in table {table}")
        self._write(table, key, None)

    def commit(self) -> Outcome:
        """Sends the transaction to the group, and waits until it is committed at this member or rolled back.

        Raises:
            MemberUnavailable: The member went away before there was an answer; the transaction may be committed or not.
            ReadOnlyMember: Only the primary takes writes.
        """
        try:
            pending = self.send()
        except WriteConflict as conflict:
            return Outcome(False, reason=conflict.message)
        return Outcome(True) if pending is None else self.outcome(pending)

    def execute(self, statement: str, database: str = "") -> Outcome:
        """Runs DDL on all members, alone in the order of transactions.

        Raises:
            UsageError: A transaction is open.
        """
        if self._snapshot is not None:
            raise UsageError("a transaction is open: commit it or roll it back before DDL")
        return self.outcome(self.send_statement(statement, database))

    def send(self) -> Pending | None:
        """Sends the transaction without waiting for the answer; None if it wrote nothing.

        Raises:
            WriteConflict: The member itself sees that somebody else was first; the transaction is rolled back.
        """
        changes = self.changes()
        if not changes:
            self.rollback()
            return None
        self._refuse_writes()
        token, snapshot = self._token, self.snapshot
        self._token = 0
        try:
            snapshot.check(changes)
            write_set = self.member.store.definitions.write_set(changes)
            self.member.flow.acquire()
            pending = self.member.propose(self.number, snapshot.executed, write_set, changes, token=token)
        except BaseException:
            self.member.horizon.end(token)
            raise
        finally:
            self.rollback()
        return pending

    def send_statement(self, statement: str, database: str) -> Pending:
        """Sends DDL without waiting for the answer."""
        self._refuse_writes()
        token = self.member.horizon.begin(self.member.store.executed())
        return self.member.propose_statement(self.number, self.member.store.executed(), statement, database, token=token)

    def outcome(self, pending: Pending) -> Outcome:
        """Waits for the end of a transaction that was sent."""
        if self._commit_local is not None:
            self._commit_local(pending)
        if pending.failure is not None:
            raise MemberUnavailable(
                f"member {self.member.name} went away before it said whether the transaction is committed: read at another member"
            ) from pending.failure
        decision = pending.decision
        if decision is None:
            raise MemberUnavailable(f"member {self.member.name} did not say whether the transaction is committed")
        return Outcome(decision.committed, decision.gtid, decision.reason)

    def rollback(self) -> None:
        """Forgets the transaction."""
        snapshot, self._snapshot = self._snapshot, None
        if snapshot is not None:
            snapshot.close()
        if self._token:
            self.member.horizon.end(self._token)
            self._token = 0
        self._before.clear()
        self._after.clear()

    def changes(self) -> tuple[RowChange, ...]:
        """The rows that the transaction has changed so far, in order."""
        return tuple(
            RowChange(table, self._before[table, key], after)
            for (table, key), after in self._after.items()
            if after != self._before[table, key]
        )

    def _write(self, table: str, key: Key, row: Row | None) -> None:
        self._refuse_writes()
        place = (table, key)
        if place not in self._before:
            self._before[place] = self.snapshot.get(table, key)
        self._after[place] = row

    def _refuse_writes(self) -> None:
        if not self._may_write():
            raise ReadOnlyMember(f"member {self.member.name} is a secondary: in single-primary mode writes go to the primary")
