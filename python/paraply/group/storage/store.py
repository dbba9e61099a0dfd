"""A member's database: the interface, and an implementation in memory."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from paraply._native import GtidSet
from paraply.errors import ApplyFailed, RowNotFound
from paraply.group.delivery.messages import LogEntry, Row, RowChange
from paraply.group.storage.definitions import Definitions

__all__ = ["MemoryStore", "Snapshot", "Store"]

Key = tuple[Any, ...]
Contents = dict[str, dict[Key, Row]]


class Snapshot(Protocol):
    """Snapshot of a member's database, with exactly the GTIDs that it contains."""

    @property
    def executed(self) -> GtidSet:
        """GTIDs of the snapshot."""

    def get(self, table: str, key: Key) -> Row | None:
        """Return a row by its primary key."""

    def check(self, changes: Sequence[RowChange]) -> None:
        """Check that the database would accept these rows.

        Raises:
            WriteConflict: Another transaction changed one of the rows meanwhile.
            UsageError: A constraint forbids the rows.
        """

    def close(self) -> None:
        """Release the snapshot."""


class Store(Protocol):
    """Database of a member."""

    @property
    def definitions(self) -> Definitions:
        """Definitions of its tables."""

    def executed(self) -> GtidSet:
        """Return the GTIDs that are known to be committed."""

    def snapshot(self) -> Snapshot:
        """Take a snapshot of the present state."""

    def commit_local(self, entry: LogEntry) -> None:
        """Commit a transaction of one of the member's own sessions, with its GTID."""

    def encode(self, server_id: int, committed_at: int, changes: Sequence[RowChange]) -> bytes:
        """Encode rows as in the logs of this kind of member."""

    def contents(self) -> Mapping[str, Any]:
        """Return all rows by table; equal for equal databases."""

    def close(self) -> None:
        """Close connections; committed rows stay."""


class MemoryStore:
    """Database in memory. Compares each row with the transaction's before image before a change, like a row-based replica.

    Transactions applied at the same time hold locks on their rows. The group never starts two that share a row, so a lock conflict is an
    error here.
    """

    def __init__(self) -> None:
        self.definitions = Definitions()
        self._mutex = threading.Lock()
        self._rows: Contents = {}
        self._executed = GtidSet()
        self._locks: dict[tuple[str, Key], str] = {}

    def executed(self) -> GtidSet:
        """Return the GTIDs that are committed."""
        with self._mutex:
            return self._executed.copy()

    def snapshot(self) -> MemorySnapshot:
        """Take a snapshot of the present state."""
        with self._mutex:
            return MemorySnapshot(self._executed.copy(), {table: dict(rows) for table, rows in self._rows.items()})

    def begin(self, entry: LogEntry) -> None:
        """Execute a transaction up to its commit: lock its rows and compare them.

        Raises:
            ApplyFailed: Another transaction in progress holds one of the rows.
            RowNotFound: A row differs from the transaction's before image.
        """
        with self._mutex:
            for change, key in self._keyed(entry):
                holder = self._locks.setdefault((change.table, key), entry.gtid)
                if holder != entry.gtid:
                    raise ApplyFailed(f"its row is locked by {holder}", gtid=entry.gtid, table=change.table, key=str(key))
                self._compare(entry, change, key)

    def commit(self, entry: LogEntry) -> None:
        """Make a begun transaction visible, and unlock its rows."""
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
        """Unlock the rows of a begun transaction."""
        with self._mutex:
            self._unlock(entry)

    def commit_local(self, entry: LogEntry) -> None:
        """Execute and commit a transaction at once."""
        self.begin(entry)
        self.commit(entry)

    def encode(self, server_id: int, committed_at: int, changes: Sequence[RowChange]) -> bytes:  # noqa: ARG002 - logs in memory need none
        """Return no bytes: logs in memory hold the rows themselves."""
        return b""

    def contents(self) -> Mapping[str, Any]:
        """Return all rows by table."""
        with self._mutex:
            return {table: dict(sorted(rows.items())) for table, rows in sorted(self._rows.items()) if rows}

    def crash(self) -> None:
        """Release the locks of uncommitted transactions."""
        self._locks.clear()

    def close(self) -> None:
        """Do nothing: there is no connection."""

    def _unlock(self, entry: LogEntry) -> None:
        self._locks = {place: holder for place, holder in self._locks.items() if holder != entry.gtid}

    def _keyed(self, entry: LogEntry) -> list[tuple[RowChange, Key]]:
        return [(change, self.definitions.key(change.table, change.after or change.before or {})) for change in entry.changes]

    def _compare(self, entry: LogEntry, change: RowChange, key: Key) -> None:
        found = self._rows.get(change.table, {}).get(key)
        if found != change.before:
            raise RowNotFound("the row is not as it was where the transaction began", gtid=entry.gtid, table=change.table, key=str(key))


class MemorySnapshot:
    """Snapshot of a ``MemoryStore``."""

    def __init__(self, executed: GtidSet, rows: Contents) -> None:
        self.executed = executed
        self._rows = rows

    def get(self, table: str, key: Key) -> Row | None:
        """Return a row by its primary key."""
        return self._rows.get(table, {}).get(key)

    def check(self, changes: Sequence[RowChange]) -> None:
        """Do nothing: the only constraint is the primary key, which sessions check."""

    def close(self) -> None:
        """Release the copy."""
        self._rows = {}
