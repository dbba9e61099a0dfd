"""A member's database: what the group asks of one, and one in memory."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from paraply._native import GtidSet
from paraply.errors import ApplyFailed, RowNotFound
from paraply.group.definitions import Definitions
from paraply.group.messages import LogEntry, Row, RowChange

__all__ = ["MemoryStore", "Snapshot", "Store"]

Key = tuple[Any, ...]
Contents = dict[str, dict[Key, Row]]


class Snapshot(Protocol):
    """One state of a member's database, and the GTIDs that are in it, no more and no fewer."""

    @property
    def executed(self) -> GtidSet:
        """What is in it."""

    def get(self, table: str, key: Key) -> Row | None:
        """A row by its primary key."""

    def check(self, changes: Sequence[RowChange]) -> None:
        """Whether the database would take these rows as they are.

        Raises:
            WriteConflict: Somebody else changed one of them meanwhile.
            UsageError: A constraint forbids them.
        """

    def close(self) -> None:
        """Lets the state go."""


class Store(Protocol):
    """A member's database."""

    @property
    def definitions(self) -> Definitions:
        """Its tables."""

    def executed(self) -> GtidSet:
        """What is known to be committed."""

    def snapshot(self) -> Snapshot:
        """The state now."""

    def commit_local(self, entry: LogEntry) -> None:
        """Commits a transaction of one of the member's own sessions, with its GTID."""

    def encode(self, server_id: int, committed_at: int, changes: Sequence[RowChange]) -> bytes:
        """Rows as the logs of this kind of member hold them."""

    def contents(self) -> Mapping[str, Any]:
        """All rows by table, equal for equal databases."""

    def close(self) -> None:
        """Closes connections; what is committed stays."""


class MemoryStore:
    """A database in memory. Before it changes a row it compares it with the transaction's before image, as a row-based replica does.

    Transactions that are applied at the same time hold their rows' locks; since the group never starts two that share a row, meeting
    such a lock is an error here.
    """

    def __init__(self) -> None:
        self.definitions = Definitions()
        self._mutex = threading.Lock()
        self._rows: Contents = {}
        self._executed = GtidSet()
        self._locks: dict[tuple[str, Key], str] = {}

    def executed(self) -> GtidSet:
        """What is committed."""
        with self._mutex:
            return self._executed.copy()

    def snapshot(self) -> MemorySnapshot:
        """The state now."""
        with self._mutex:
            return MemorySnapshot(self._executed.copy(), {table: dict(rows) for table, rows in self._rows.items()})

    def begin(self, entry: LogEntry) -> None:
        """Executes a transaction up to its commit: locks its rows and compares them.

        Raises:
            ApplyFailed: Another one that is under way holds one of the rows.
            RowNotFound: A row is not as it was where the transaction began.
        """
        with self._mutex:
            for change, key in self._keyed(entry):
                holder = self._locks.setdefault((change.table, key), entry.gtid)
                if holder != entry.gtid:
                    raise ApplyFailed(f"its row is locked by {holder}", gtid=entry.gtid, table=change.table, key=str(key))
                self._compare(entry, change, key)

    def commit(self, entry: LogEntry) -> None:
        """Makes a transaction that has begun visible, and frees its rows."""
        with self._mutex:
            if entry.statement is not None:
                self.definitions.advance(entry.statement, entry.database)
            for change, key in self._keyed(entry):
                rows = self._rows.setdefault(change.table, {})
                if change.after is None:
                    del rows[key]
                else:
                    rows[key] = change.after
            self._unlock(entry)
            self._executed.add(entry.gtid)

    def rollback(self, entry: LogEntry) -> None:
        """Frees the rows of a transaction that has begun."""
        with self._mutex:
            self._unlock(entry)

    def commit_local(self, entry: LogEntry) -> None:
        """Executes and commits at once."""
        self.begin(entry)
        self.commit(entry)

    def encode(self, server_id: int, committed_at: int, changes: Sequence[RowChange]) -> bytes:  # noqa: ARG002 - logs in memory need none
        """Nothing: logs in memory hold the rows themselves."""
        return b""

    def contents(self) -> Mapping[str, Any]:
        """All rows by table."""
        with self._mutex:
            return {table: dict(sorted(rows.items())) for table, rows in sorted(self._rows.items()) if rows}

    def crash(self) -> None:
        """Forgets what is not committed."""
        self._locks.clear()

    def close(self) -> None:
        """Nothing to do."""

    def _unlock(self, entry: LogEntry) -> None:
        self._locks = {place: holder for place, holder in self._locks.items() if holder != entry.gtid}

    def _keyed(self, entry: LogEntry) -> list[tuple[RowChange, Key]]:
        return [(change, self.definitions.key(change.table, change.after or change.before or {})) for change in entry.changes]

    def _compare(self, entry: LogEntry, change: RowChange, key: Key) -> None:
        found = self._rows.get(change.table, {}).get(key)
        if found != change.before:
            raise RowNotFound("the row is not as it was where the transaction began", gtid=entry.gtid, table=change.table, key=str(key))


class MemorySnapshot:
    """A state of a ``MemoryStore``."""

    def __init__(self, executed: GtidSet, rows: Contents) -> None:
        self.executed = executed
        self._rows = rows

    def get(self, table: str, key: Key) -> Row | None:
        """A row by its primary key."""
        return self._rows.get(table, {}).get(key)

    def check(self, changes: Sequence[RowChange]) -> None:
        """There are no constraints but the primary key, which sessions look at themselves."""

    def close(self) -> None:
        """Lets the copy go."""
        self._rows = {}
