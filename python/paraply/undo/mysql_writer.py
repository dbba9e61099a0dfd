"""MySQL and MariaDB as targets of an undo."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from paraply.errors import ApplyFailed, ConnectionLost, ParaplyError, ServerError, TemporaryFailure, UndoRefused
from paraply.schema.readers.live import read_tables
from paraply.targets.mysql.errors import explain
from paraply.targets.mysql.preflight.privileges import read_grants
from paraply.targets.mysql.row_sql import ROW_SETTINGS
from paraply.targets.mysql.sql import identifier, name_literal, query_all, query_each, rows_of, text_literal, to_text
from paraply.targets.mysql.target import connect
from paraply.undo.writer import changed_row

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from paraply.schema.model import Table
    from paraply.targets.url import DatabaseUrl
    from paraply.undo.spool import Change

__all__ = ["MySqlWriter"]

_SAVEPOINT = "SAVEPOINT paraply_undo"
_BACK = "ROLLBACK TO SAVEPOINT paraply_undo"
_TRANSACTIONAL = frozenset({"innodb", "rocksdb", "tokudb", "ndbcluster", "ndb"})
_DEADLOCK = frozenset({1205, 1213})
_HISTORY = (
    "CREATE DATABASE IF NOT EXISTS paraply",
    """CREATE TABLE IF NOT EXISTS paraply.undo_history (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  undone_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  transactions LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL
    COMMENT 'whose changes were taken back; this transaction is none of the source'
) ENGINE=InnoDB""",
)


class MySqlWriter:
    """A MySQL or MariaDB in which changes are taken back.

    Args:
        url: Address of the server.
    """

    renderer = None
    settings = (*ROW_SETTINGS, "SET SESSION foreign_key_checks=1, unique_checks=1")

    def __init__(self, url: DatabaseUrl) -> None:
        self._connection = connect(url)
        self._open = False
        query_each(self._connection, [*self.settings, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"])

    def definitions(self) -> list[Table]:
        """Return the tables of the server."""
        return read_tables(lambda sql: rows_of(self._connection.query(sql)))

    def check(self, tables: Iterable[tuple[str, str]]) -> None:
        """Check the triggers, engines and kinds of tables.

        Raises:
            UndoRefused: A table has a trigger, no transactions or row versions, or triggers cannot be seen.
        """
        grants = read_grants(self._connection)
        for database, name in tables:
            full = f"{database}.{name}"
            if not grants.has("TRIGGER", database, name):
                raise UndoRefused("the user lacks the privilege TRIGGER, without which triggers of the table cannot be seen", table=full)
            where = f"event_object_schema={name_literal(database)} AND event_object_table={name_literal(name)}"
            found = rows_of(self._connection.query(f"SELECT trigger_name FROM information_schema.triggers WHERE {where}"))
            if found:
                names = ", ".join(to_text(row[0]) for row in found)
                raise UndoRefused(f"the table has triggers in the target, which would fire: {names}; drop them for the undo", table=full)
            where = f"table_schema={name_literal(database)} AND table_name={name_literal(name)}"
            kinds = rows_of(self._connection.query(f"SELECT table_type, engine FROM information_schema.tables WHERE {where}"))
            if not kinds:
                raise UndoRefused("the target has no such table: restore it first", table=full)
            kind, engine = (to_text(value) for value in kinds[0])
            if kind != "BASE TABLE":
                raise UndoRefused(f"the table is of kind {kind} in the target, whose rows cannot be changed back", table=full)
            if engine.lower() not in _TRANSACTIONAL:
                raise UndoRefused(f"the table's engine {engine} has no transactions, so that nothing could be rolled back", table=full)

    def begin(self, note: str) -> None:
        """Begin the transaction, and record the undo in it."""
        logged = rows_of(self._connection.query("SELECT @@GLOBAL.log_bin, @@SESSION.binlog_format"))[0]
        statements = [*_HISTORY]
        if to_text(logged[0]) not in ("0", "OFF") and to_text(logged[1]).upper() != "ROW":
            statements.insert(0, "SET SESSION binlog_format=ROW")
        insert = f"INSERT INTO paraply.undo_history (transactions) VALUES ({text_literal(note)})"
        self._run_each([*statements, "START TRANSACTION", insert])
        self._open = True

    def write(self, changes: Sequence[Change]) -> None:
        """Change rows back, in one round trip.

        Raises:
            RowNotFound: A row is not as the undone transactions left it.
            ApplyFailed: The server refuses a statement.
        """
        try:
            results = query_all(self._connection, [_SAVEPOINT, *(change.sql for change in changes)])[1:]
        except ServerError as error:
            raise self._refused(changes, error) from None
        for index, (change, (_, _, found)) in enumerate(zip(changes, results, strict=True)):
            if found != len(change.keys):
                raise changed_row(change, self._key(changes, index))

    def commit(self) -> None:
        """Commit.

        Raises:
            ConnectionLost: The connection broke; the history in the target tells if the undo is committed.
        """
        try:
            self._connection.query("COMMIT")
        except ConnectionLost as lost:
            raise ConnectionLost(
                f"the connection broke during the commit: {lost.message}; the newest row of paraply.undo_history tells if it is done"
            ) from None
        self._open = False

    def close(self) -> None:
        """Roll back what is not committed, and disconnect."""
        if self._open:
            with suppress(ParaplyError):
                self._connection.query("ROLLBACK")
        self._connection.close()

    def _run_each(self, statements: Sequence[str]) -> None:
        try:
            query_each(self._connection, statements)
        except ServerError as error:
            raise explain(error) from None

    def _refused(self, changes: Sequence[Change], error: ServerError) -> ParaplyError:
        """Return the error of the statement that the server refuses: each is run by itself."""
        if error.code in _DEADLOCK:
            return TemporaryFailure(f"{error.message}; nothing was changed: run the same command again")
        self._connection.query(_BACK)
        for index, change in enumerate(changes):
            try:
                _, _, found = self._connection.query(change.sql)[0]
            except ServerError as refused:
                key = change.keys[0] if len(change.keys) == 1 else None
                reason = explain(refused)
                return ApplyFailed(f"{reason.message}; nothing was changed", table=change.table, key=key or None, gtid=change.gtid or None)
            if found != len(change.keys):
                return changed_row(change, self._key(changes, index))
        return explain(error)

    def _key(self, changes: Sequence[Change], index: int) -> str:
        """Return the key of the row that a statement did not find: the statements before it are run again."""
        change = changes[index]
        if len(change.keys) == 1:
            return change.keys[0]
        query_each(self._connection, [_BACK, *(earlier.sql for earlier in changes[:index])])
        database, _, name = change.table.partition(".")
        select = f"SELECT 1 FROM {identifier(database)}.{identifier(name)} WHERE "
        for key, part in zip(change.keys, change.parts, strict=True):
            if not rows_of(self._connection.query(select + part)):
                return key
        return ""
