"""MySQL and MariaDB as targets of an undo."""

from __future__ import annotations

from contextlib import closing, suppress
from typing import TYPE_CHECKING

from paraply.errors import ApplyFailed, ConnectionLost, ParaplyError, ServerError, TemporaryFailure, UndoRefused
from paraply.schema.readers.live import read_tables
from paraply.targets.mysql.errors import explain
from paraply.targets.mysql.preflight.privileges import Lack, account, lack_message, read_grants
from paraply.targets.mysql.row_sql import ROW_SETTINGS
from paraply.targets.mysql.sql import identifier, name_literal, query_all, query_each, rows_of, text_literal, to_int, to_text
from paraply.targets.mysql.target import connect
from paraply.undo.history import HISTORY_TABLE, NEWEST, HistoryRow, writer_name
from paraply.undo.writer import Frame, QuotedTables, broken_key, changed_row, places, texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from paraply.schema.model import Table
    from paraply.targets.mysql.sql import Connection
    from paraply.targets.url import DatabaseUrl
    from paraply.undo.spool import Change, Check

__all__ = ["MySqlWriter", "stage_definition"]

_SAVEPOINT = "SAVEPOINT paraply_undo"
_BACK = "ROLLBACK TO SAVEPOINT paraply_undo"
_TRANSACTIONAL = frozenset({"innodb", "rocksdb", "tokudb", "ndbcluster", "ndb"})
_DEADLOCK = frozenset({1205, 1213})
_ADD_WRITER = f"ALTER TABLE {HISTORY_TABLE} ADD undone_by VARCHAR(512) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL AFTER undone_at"
"""For a table that an earlier paraply made."""
_SHORT_WAIT = "SET SESSION lock_wait_timeout=50"
"""A backup that holds statements up must not make the undo hold the locks of its rows for as long."""
_HISTORY = (
    "CREATE DATABASE IF NOT EXISTS paraply",
    """CREATE TABLE IF NOT EXISTS paraply.undo_history (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  undone_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  undone_by VARCHAR(512) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL COMMENT 'user and machine',
  transactions LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL
    COMMENT 'whose changes were taken back; this transaction is none of the source'
) ENGINE=InnoDB""",
)


def _has_writer(connection: Connection) -> bool:
    """Return True if the table of undos exists with all columns, as far as the user sees it."""
    where = "table_schema='paraply' AND table_name='undo_history' AND column_name='undone_by'"
    return bool(rows_of(connection.query(f"SELECT 1 FROM information_schema.columns WHERE {where}")))


def _record(note: str) -> str:
    """Return the statement that records an undo."""
    return f"INSERT INTO {HISTORY_TABLE} (undone_by, transactions) VALUES ({text_literal(writer_name())}, {text_literal(note)})"


def stage_definition(stage: str, table: Table) -> list[str]:
    """Return the statements that make a temporary table for rows of a table, empty.

    It has each column twice: as it must be, and as it becomes. An outer join makes them take NULL; their types stay. MariaDB leaves them
    without a default then.

    >>> from paraply.schema.model import Column, Table
    >>> made, changed = stage_definition("d.stage", Table("d", "t", (Column("id", "int", nullable=False),)))
    >>> print(made.partition(" AS ")[2])
    SELECT 0 AS n, a.`id` AS f0, b.`id` AS v0 FROM (SELECT 1 AS one) o LEFT JOIN `d`.`t` a ON FALSE LEFT JOIN `d`.`t` b ON FALSE LIMIT 0
    >>> print(changed)
    ALTER TABLE d.stage ALTER v0 SET DEFAULT NULL
    """
    source = f"{identifier(table.database)}.{identifier(table.name)}"
    stored = [(index, column) for index, column in enumerate(table.columns) if column.generated is None]
    pairs = (("f", "a"), ("v", "b"))
    columns = [f"{alias}.{identifier(column.name)} AS {letter}{index}" for letter, alias in pairs for index, column in stored]
    made = (
        f"CREATE TEMPORARY TABLE {stage} (n INT NOT NULL PRIMARY KEY) ENGINE=InnoDB AS SELECT 0 AS n, {', '.join(columns)}"
        f" FROM (SELECT 1 AS one) o LEFT JOIN {source} a ON FALSE LEFT JOIN {source} b ON FALSE LIMIT 0"
    )
    required = [f"ALTER v{index} SET DEFAULT NULL" for index, column in stored if not column.nullable]
    return [made, f"ALTER TABLE {stage} {', '.join(required)}"] if required else [made]


class MySqlWriter:
    """A MySQL or MariaDB in which changes are taken back.

    Args:
        url: Address of the server.
    """

    renderer = None

    def __init__(self, url: DatabaseUrl) -> None:
        self._connection = connect(url)
        self._url = url
        self._open = False
        self._late_note: str | None = None
        self._use: list[str] = []
        self._tables = QuotedTables()
        query_each(self._connection, [*self.frame(checks=False).settings, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"])

    def frame(self, *, checks: bool) -> Frame:
        """Return the statements around a script. Without foreign key checks, the server makes no cascades either."""
        return Frame((*ROW_SETTINGS, f"SET SESSION foreign_key_checks={0 if checks else 1}, unique_checks=1"))

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
            self._use = [f"USE {identifier(database)}"]
            full, quoted = f"{database}.{name}", f"{identifier(database)}.{identifier(name)}"
            self._tables.add(database, name, quoted)
            if not grants.has("TRIGGER", database, name):
                lack = Lack("TRIGGER", quoted, "to see whether triggers would fire")
                raise UndoRefused(lack_message([lack], account(self._connection)), table=full)
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

    def stage(self, tables: Sequence[Table]) -> dict[tuple[str, str], str]:
        """Make temporary tables through which many rows are changed at once.

        Returns:
            Their names as SQL, by database and name of the table. A table is left out if the server refuses its temporary table: the
            privilege CREATE TEMPORARY TABLES is missing, or two rows together are too wide.
        """
        self._log_rows()
        made = {}
        for number, table in enumerate(tables):
            stage = f"{identifier(table.database)}.paraply_undo_{number}"
            with suppress(ServerError):
                query_each(self._connection, stage_definition(stage, table))
                made[table.database, table.name] = stage
        return made

    def history(self) -> list[HistoryRow]:
        """Return the newest undos that the server holds; empty without the table, or the right to read it."""
        by = "undone_by" if _has_writer(self._connection) else "NULL"
        select = f"SELECT id, CAST(UNIX_TIMESTAMP(undone_at) * 1000000 AS SIGNED), {by}, transactions FROM {HISTORY_TABLE}"
        try:
            rows = rows_of(self._connection.query(f"{select} ORDER BY id DESC LIMIT {NEWEST}"))
        except ServerError:
            return []
        return [HistoryRow(to_int(id_), to_int(at), None if by is None else to_text(by), to_text(text)) for id_, at, by, text in rows]

    def begin(self, note: str | None, *, checks: bool) -> None:
        """Begin the transaction, and record the undo in it; without a table of undos, that is left to the commit."""
        self._log_rows()
        setting = self.frame(checks=checks).settings[-1]
        # Without a default database, the servers do not resolve the alias in a DELETE from joined tables.
        statements = [*self._use, setting, "START TRANSACTION"]
        if note is not None and _has_writer(self._connection):
            statements.append(_record(note))
        else:
            self._late_note = note
        self._run_each(statements)
        self._open = True

    def write(self, changes: Sequence[Change]) -> None:
        """Change rows back, in one round trip.

        Raises:
            RowNotFound: A row is not as the undone transactions left it.
            ApplyFailed: The server refuses a statement.
        """
        try:
            results = query_all(self._connection, [_SAVEPOINT, *texts(changes)])[1:]
        except ServerError as error:
            raise self._refused(changes, error) from None
        for index, (change, place) in enumerate(zip(changes, places(changes), strict=True)):
            if results[place].affected != len(change.keys):
                raise changed_row(change, self._key(changes, index))

    def check_keys(self, checks: Iterable[Check]) -> None:
        """Check foreign keys after all changes; parents are locked, so that nobody removes them before the commit.

        Raises:
            UndoRefused: A row refers to a row that does not exist.
            TemporaryFailure: Another transaction holds a parent.
        """
        for check in checks:
            try:
                broken = rows_of(self._connection.query(check.sql))
            except ServerError as error:
                raise self._busy(error) if error.code in _DEADLOCK else explain(error) from None
            if broken:
                raise broken_key(check, ", ".join(to_text(value) for value in broken[0]))

    def commit(self) -> None:
        """Commit.

        Raises:
            ApplyFailed: The server refuses the table of undos.
            ConnectionLost: The connection broke; the history in the target tells if the undo is committed.
        """
        if self._late_note is not None:
            self._make_history()
            self._run_each([_record(self._late_note)])
        try:
            self._connection.query("COMMIT")
        except ConnectionLost as lost:
            raise ConnectionLost(
                f"the connection broke during the commit: {lost.message}; the newest row of paraply.undo_history tells if it is done"
            ) from None
        self._open = False

    def roll_back(self) -> None:
        """Take all changes back."""
        self._run_each(["ROLLBACK"])
        self._open = False

    def close(self) -> None:
        """Roll back what is not committed, and disconnect."""
        if self._open:
            with suppress(ParaplyError):
                self._connection.query("ROLLBACK")
        self._connection.close()

    def _make_history(self) -> None:
        """Make the table of undos after all checks, in another session: its statements would commit the transaction of this one."""
        with closing(connect(self._url)) as connection:
            try:
                query_each(connection, [*self.frame(checks=False).settings, _SHORT_WAIT, *_HISTORY])
                if not _has_writer(connection):
                    query_each(connection, [_ADD_WRITER])
            except ServerError as error:
                if error.code in _DEADLOCK:
                    raise self._busy(error) from None
                raise ApplyFailed(f"{explain(error).message}; nothing was changed", table=HISTORY_TABLE) from None

    def _log_rows(self) -> None:
        """Have the session's changes logged as rows; with an open temporary table, that cannot be changed any more."""
        logged = rows_of(self._connection.query("SELECT @@GLOBAL.log_bin, @@SESSION.binlog_format"))[0]
        if to_text(logged[0]) not in ("0", "OFF") and to_text(logged[1]).upper() != "ROW":
            self._run_each(["SET SESSION binlog_format=ROW"])

    @staticmethod
    def _busy(error: ServerError) -> TemporaryFailure:
        return TemporaryFailure(f"{error.message}; nothing was changed: run the same command again")

    def _run_each(self, statements: Sequence[str]) -> None:
        try:
            query_each(self._connection, statements)
        except ServerError as error:
            raise explain(error) from None

    def _refused(self, changes: Sequence[Change], error: ServerError) -> ParaplyError:
        """Return the error of the statement that the server refuses: each is run by itself."""
        if error.code in _DEADLOCK:
            return self._busy(error)
        self._connection.query(_BACK)
        for index, change in enumerate(changes):
            try:
                found = query_each(self._connection, change.texts)[change.place].affected
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
        query_each(self._connection, [_BACK, *texts(changes[:index])])
        if change.fill is not None and change.search is not None:
            found = query_each(self._connection, [change.fill, change.search])[1]
            return next((change.keys[int(to_text(row[0]))] for row in rows_of([found])), "")
        table = self._tables.of(change)
        if table is None:
            return ""
        for key, part in zip(change.keys, change.conditions, strict=True):
            if not rows_of(self._connection.query(f"SELECT 1 FROM {table} WHERE {part}")):
                return key
        return ""
