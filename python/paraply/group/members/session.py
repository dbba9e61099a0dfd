"""A client's session at one member."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from paraply.errors import MemberUnavailable, ReadOnlyMember, UsageError, WriteConflict
from paraply.group.delivery.messages import Row, RowChange
from paraply.group.members.member import Member
from paraply.group.members.pending import Pending
from paraply.group.storage.store import Snapshot

__all__ = ["Outcome", "Session"]

Key = tuple[Any, ...]
CONFLICT = "rolled back (conflict)"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of a transaction.

    Attributes:
        committed: True if it is committed.
        gtid: Its GTID; None if it was rolled back or wrote nothing.
        reason: Reason of the rollback.
    """

    committed: bool
    gtid: str | None = None
    reason: str | None = None

    def __str__(self) -> str:
        """Return ``committed`` or ``rolled back (conflict)``."""
        return "committed" if self.committed else CONFLICT


class Session:
    """Session for reads and writes at one member; made by ``Group.session``. Must not be shared between threads.

    A transaction begins with the first read or write and reads one state of its member's database. Its writes stay in the session until
    the commit sends them to the group. It may commit if no other transaction has changed one of its rows since it began: the first
    committer wins. Two transactions that each read what the other writes (write skew) may both commit, as in MySQL.

    Args:
        member: Member of the session.
        number: Number among the group's sessions.
        commit_local: Waits for the group's decision and commits; None if the group runs step by step.
        may_write: Returns True while the member accepts writes.
    """

    def __init__(self, member: Member, number: int, commit_local: Callable[[Pending], None] | None, may_write: Callable[[], bool]) -> None:
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
        """State that the transaction reads; begins a transaction if there is none."""
        if self._snapshot is None:
            self.member.require_online()
            # The horizon first: GTIDs executed meanwhile may be in the snapshot, but none of the earlier ones can be missing.
            self._token = self.member.horizon.begin(self.member.store.executed())
            self._snapshot = self.member.store.snapshot()
        return self._snapshot

    def get(self, table: str, *key: Any) -> Row | None:
        """Return a row by its primary key, as this transaction sees it; None if there is none."""
        place = (table, key)
        if place in self._after:
            return self._after[place]
        return self.snapshot.get(table, key)

    def insert(self, table: str, **row: Any) -> None:
        """Insert a row.

        Raises:
            UsageError: A row with that primary key exists, or the table has no such column.
        """
        definitions = self.member.store.definitions
        complete = definitions.complete(table, row)
        key = definitions.key(table, complete)
        if self.get(table, *key) is not None:
            raise UsageError(f"a row with key {key} already exists in table {table}")
        self._write(table, key, complete)

    def update(self, table: str, *key: Any, **values: Any) -> None:
        """Change columns of a row, except its primary key.

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
        """Delete a row.

        Raises:
            UsageError: There is no such row.
        """
        if self.get(table, *key) is None:
            raise UsageError(f"there is no row with key {key} in table {table}")
        self._write(table, key, None)

    def commit(self) -> Outcome:
        """Send the transaction to the group, and wait until it is committed at this member or rolled back.

        Raises:
            MemberUnavailable: The member became unavailable before its answer; the transaction may be committed or not.
            ReadOnlyMember: Only the primary accepts writes.
        """
        try:
            pending = self.send()
        except WriteConflict as conflict:
            return Outcome(False, reason=conflict.message)
        return Outcome(True) if pending is None else self.outcome(pending)

    def execute(self, statement: str, database: str = "") -> Outcome:
        """Run DDL on all members, alone in the order of transactions.

        Raises:
            UsageError: A transaction is open.
        """
        if self._snapshot is not None:
            raise UsageError("a transaction is open: commit it or roll it back before DDL")
        return self.outcome(self.send_statement(statement, database))

    def send(self) -> Pending | None:
        """Send the transaction without waiting for the decision; return None if it wrote nothing.

        In a live group a call of ``outcome`` must follow: it commits the transaction, and others may wait for that.

        Raises:
            WriteConflict: The member itself finds that another transaction was first; the transaction is rolled back.
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
        """Send DDL without waiting for the decision."""
        self._refuse_writes()
        token = self.member.horizon.begin(self.member.store.executed())
        return self.member.propose_statement(self.number, self.member.store.executed(), statement, database, token=token)

    def outcome(self, pending: Pending) -> Outcome:
        """Wait for the end of a sent transaction, and return its outcome."""
        if self._commit_local is not None:
            self._commit_local(pending)
        if pending.failure is not None:
            raise MemberUnavailable(
                f"member {self.member.name} became unavailable before it reported the outcome of the transaction: read it at another member"
            ) from pending.failure
        decision = pending.decision
        if decision is None:
            raise MemberUnavailable(f"member {self.member.name} did not report the outcome of the transaction")
        return Outcome(decision.committed, decision.gtid, decision.reason)

    def rollback(self) -> None:
        """Discard the transaction."""
        snapshot, self._snapshot = self._snapshot, None
        if snapshot is not None:
            snapshot.close()
        if self._token:
            self.member.horizon.end(self._token)
            self._token = 0
        self._before.clear()
        self._after.clear()

    def changes(self) -> tuple[RowChange, ...]:
        """Return the rows that the transaction has changed so far, in order."""
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
