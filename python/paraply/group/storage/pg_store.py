"""Database of a member in PostgreSQL."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import psycopg
from psycopg import sql

from paraply._native import GtidSet, encode_rows
from paraply.errors import ApplyFailed, RowNotFound, TemporaryFailure, UsageError, WriteConflict
from paraply.group.delivery.log import GROUP_CHANNEL
from paraply.group.delivery.messages import LogEntry, Row, RowChange
from paraply.group.storage.definitions import Definitions
from paraply.targets.postgres.connection import PgConnection
from paraply.targets.postgres.errors import from_psycopg
from paraply.targets.progress.gtid_ledger import read_executed

__all__ = ["PgSnapshot", "PgStore"]

Key = tuple[Any, ...]

_EXECUTED = "SELECT executed FROM paraply.progress WHERE channel = %s UNION ALL SELECT executed FROM paraply.group_local"
_SESSIONS = "CREATE TABLE IF NOT EXISTS paraply.group_local (slot integer PRIMARY KEY, executed text NOT NULL)"
_KEEP = "INSERT INTO paraply.group_local VALUES (%s, %s) ON CONFLICT (slot) DO UPDATE SET executed = excluded.executed"
_CONFLICTS = frozenset({"40001", "40P01", "55P03"})
_CONSTRAINTS = frozenset({"23505", "23503", "23502", "23514"})
_DATA = "22"
"""Class of SQLSTATE codes for values that do not fit their column."""
_TRIES = 20
LOCK_TIMEOUT_MS = 200


class PgStore:
    """Database of a member; its sessions use this object, its applier uses the target.

    The GTIDs committed by sessions are kept in ``paraply.group_local``, a row for each connection, beside the applier's progress. Both
    are read in one snapshot, so that the executed GTIDs are known exactly for the state that a session reads.

    Args:
        uri: URI of the database.
    """

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self.definitions = Definitions()
        self._mutex = threading.Lock()
        self._executed = GtidSet()
        self._local = GtidSet()
        self._free: list[_Connection] = []
        self._all: list[_Connection] = []
        self._slots = 0

    def open(self) -> None:
        """Make the table of the sessions, after the applier has made the schema, and read the executed GTIDs."""
        with self.snapshot(make=True) as snapshot:
            self.acknowledged(snapshot.executed)
            self._local = snapshot.executed

    def executed(self) -> GtidSet:
        """Return the GTIDs that are known to be committed."""
        with self._mutex:
            return self._executed.copy()

    def acknowledged(self, gtids: GtidSet) -> None:
        """Add committed GTIDs."""
        with self._mutex:
            self._executed.update(gtids)

    def snapshot(self, *, make: bool = False) -> PgSnapshot:
        """Take a snapshot of the present state."""
        connection = self._take()
        try:
            if make:
                connection.raw.execute(_SESSIONS)
            connection.raw.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            texts = [text for (text,) in connection.raw.execute(_EXECUTED, [GROUP_CHANNEL]).fetchall()]
        except psycopg.Error as error:
            connection.close()
            raise from_psycopg(error) from error
        return PgSnapshot(self, connection, read_executed(texts, GtidSet).gtids)

    def commit_local(self, entry: LogEntry) -> None:
        """Commit a session's rows with its GTID; try again after lock conflicts."""
        connection = self._take()
        try:
            for attempt in range(_TRIES):
                try:
                    self._commit(connection, entry)
                    break
                except psycopg.Error as error:
                    connection.raw.execute("ROLLBACK")
                    failure = from_psycopg(error)
                    if not isinstance(failure, TemporaryFailure) or attempt == _TRIES - 1:
                        raise failure from error
        finally:
            self.give_back(connection)
        self.acknowledged(GtidSet(entry.gtid))

    def _commit(self, connection: _Connection, entry: LogEntry) -> None:
        with self._mutex:
            executed = str(self._local | GtidSet(entry.gtid))
        connection.raw.execute("BEGIN")
        write(connection.raw, self.definitions, entry.changes)
        connection.raw.execute(_KEEP, [connection.slot, executed])
        connection.raw.execute("COMMIT")
        with self._mutex:
            self._local.add(entry.gtid)

    def encode(self, server_id: int, committed_at: int, changes: Sequence[RowChange]) -> bytes:
        """Encode rows as row events."""
        rows = []
        for change in changes:
            database, _, table = change.table.partition(".")
            rows.append((database, table, change.before, change.after))
        return encode_rows(self.definitions.catalog, self.definitions.collations, server_id, committed_at, rows)

    def contents(self) -> Mapping[str, Any]:
        """Return all rows by table, as text in the order of that text."""
        found = {}
        with self.snapshot() as snapshot:
            for name in sorted(self.definitions.names()):
                query = sql.SQL('SELECT t::text FROM {} t ORDER BY t::text COLLATE "C"').format(identifier(name))
                found[name] = [text for (text,) in snapshot.connection.raw.execute(query).fetchall()]
        return found

    def close(self) -> None:
        """Close all connections; their open transactions are rolled back."""
        with self._mutex:
            connections, self._all, self._free = self._all, [], []
        for connection in connections:
            connection.close()

    def _take(self) -> _Connection:
        with self._mutex:
            if self._free:
                return self._free.pop()
            self._slots += 1
            slot = self._slots
        connection = _Connection(self.uri, slot)
        with self._mutex:
            self._all.append(connection)
        return connection

    def give_back(self, connection: _Connection) -> None:
        """Return an idle connection to the pool."""
        with self._mutex:
            if not connection.broken and connection in self._all:
                self._free.append(connection)


class _Connection(PgConnection):
    """Connection of a session, with the number of the row for its committed GTIDs."""

    def __init__(self, uri: str, slot: int) -> None:
        super().__init__(uri, lock_timeout_ms=LOCK_TIMEOUT_MS, name=f"paraply session {slot}")
        self.slot = slot


class PgSnapshot:
    """Snapshot of the database; made by ``PgStore.snapshot``."""

    def __init__(self, store: PgStore, connection: _Connection, executed: GtidSet) -> None:
        self._store = store
        self.connection = connection
        self.executed = executed
        self._closed = False

    def __enter__(self) -> PgSnapshot:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def get(self, table: str, key: Key) -> Row | None:
        """Return a row by its primary key."""
        definitions = self._store.definitions
        columns = [column.name for column in definitions.table(table).columns]
        query = sql.SQL("SELECT {} FROM {} WHERE {}").format(
            sql.SQL(", ").join(map(sql.Identifier, columns)), identifier(table), condition(definitions.key_columns(table))
        )
        row = self.connection.raw.execute(query, key).fetchone()
        return None if row is None else dict(zip(columns, row, strict=True))

    def check(self, changes: Sequence[RowChange]) -> None:
        """Write the rows and undo that, so that constraints fail now at the client and not after certification.

        Raises:
            WriteConflict: Another transaction changed one of the rows meanwhile.
            UsageError: A constraint forbids the rows.
        """
        try:
            write(self.connection.raw, self._store.definitions, changes)
        except psycopg.Error as error:
            state = error.sqlstate or ""
            text = str(error).splitlines()[0]
            if state in _CONFLICTS:
                raise WriteConflict(f"another transaction changed the row first: {text}") from error
            if state in _CONSTRAINTS or state.startswith(_DATA):
                raise UsageError(f"the database refuses the row: {text}") from error
            raise from_psycopg(error) from error

    def close(self) -> None:
        """End the transaction, whose writes are not kept."""
        if not self._closed:
            self._closed = True
            try:
                self.connection.raw.execute("ROLLBACK")
            except psycopg.Error:
                self.connection.close()
            self._store.give_back(self.connection)


def identifier(table: str) -> sql.Identifier:
    """Return a table's name in the database."""
    database, _, name = table.partition(".")
    return sql.Identifier(database, name)


def condition(columns: Sequence[str]) -> sql.Composed:
    """Return the condition that the columns equal parameters."""
    return sql.SQL(" AND ").join(sql.SQL("{} = %s").format(sql.Identifier(column)) for column in columns)


def write(connection: psycopg.Connection[Any], definitions: Definitions, changes: Sequence[RowChange]) -> None:
    """Write rows, each of which must exist as the change says.

    Raises:
        RowNotFound: A row to change does not exist.
        psycopg.Error: The server reports an error.
    """
    for change in changes:
        columns = definitions.key_columns(change.table)
        done = connection.execute(*statement_of(change, columns))
        if done.rowcount != 1:
            key = tuple((change.before or change.after or {})[column] for column in columns)
            raise RowNotFound("the row to change is not there", table=change.table, key=str(key))


def statement_of(change: RowChange, key_columns: Sequence[str]) -> tuple[sql.Composed, list[Any]]:
    """Return the statement of one change, and its parameters."""
    table = identifier(change.table)
    if change.before is None:
        row = change.after or {}
        names = sql.SQL(", ").join(map(sql.Identifier, row))
        places = sql.SQL(", ").join([sql.SQL("%s")] * len(row))
        return sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(table, names, places), list(row.values())
    key = [change.before[column] for column in key_columns]
    if change.after is None:
        return sql.SQL("DELETE FROM {} WHERE {}").format(table, condition(key_columns)), key
    changed = {name: value for name, value in change.after.items() if value != change.before[name]}
    if not changed:
        raise ApplyFailed("a change that changes nothing", table=change.table)
    sets = sql.SQL(", ").join(sql.SQL("{} = %s").format(sql.Identifier(name)) for name in changed)
    return sql.SQL("UPDATE {} SET {} WHERE {}").format(table, sets, condition(key_columns)), [*changed.values(), *key]
