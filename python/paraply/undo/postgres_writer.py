"""PostgreSQL as a target of an undo."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from paraply._native import PostgresRenderer
from paraply.errors import ParaplyError, SchemaMismatch, UndoRefused
from paraply.targets.postgres.connection import PgConnection, StatementFailed
from paraply.targets.postgres.definitions import SourceDefinitions
from paraply.targets.postgres.errors import failure, key_in
from paraply.targets.postgres.progress.source_tables import read_standing
from paraply.targets.postgres.table_check import check_table
from paraply.targets.postgres.types import map_table, quote_identifier, quote_literal
from paraply.undo.history import HISTORY_TABLE, NEWEST, HistoryRow, writer_name
from paraply.undo.writer import Frame, QuotedTables, changed_row, places, texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from paraply.schema.model import Table
    from paraply.targets.postgres.embedded import EmbeddedPostgres
    from paraply.targets.postgres.types import TableMapping
    from paraply.undo.spool import Change, Check

__all__ = ["PostgresWriter", "stage_definition"]

_FOREIGN_KEY = "23503"
_NO_SCANS = ("enable_hashjoin", "enable_mergejoin", "enable_seqscan")
"""The planner knows nothing about temporary tables that were filled just now; rows are found by their key."""
_HISTORY = (
    "CREATE SCHEMA IF NOT EXISTS paraply",
    """CREATE TABLE IF NOT EXISTS paraply.undo_history (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  undone_at timestamptz NOT NULL DEFAULT now(), undone_by text, transactions text NOT NULL)""",
)
_ADD_WRITER = f"ALTER TABLE {HISTORY_TABLE} ADD IF NOT EXISTS undone_by text"
"""For a table that an earlier paraply made."""
_COLUMNS = "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass('paraply.undo_history') AND attnum > 0 AND NOT attisdropped"


def stage_definition(stage: str, mapping: TableMapping) -> str:
    """Return the statement that makes a temporary table for rows of a table, empty: each column as it must be, and as it becomes."""
    names = [quote_identifier(column.name) for column in mapping.columns]
    columns = [f"{name} AS {letter}{index}" for letter in "fv" for index, name in enumerate(names)]
    return f"CREATE TEMPORARY TABLE {stage} AS SELECT 0 AS n, {', '.join(columns)} FROM {mapping.target} LIMIT 0"


class PostgresWriter:
    """A PostgreSQL in which changes are taken back.

    Args:
        uri: URL of the database.
        channel: The channel that holds the source's definitions.
        schema: Definitions that are used where the channel has none.
        server: An embedded server, which is stopped at the end.
    """

    _FRAME = Frame(
        ("SET client_encoding TO 'UTF8'", "SET standard_conforming_strings TO on", "SET TimeZone TO 'UTC'"),
        ("BEGIN", "SET CONSTRAINTS ALL DEFERRED"),
    )

    def __init__(self, uri: str, channel: str, schema: Iterable[Table] = (), server: EmbeddedPostgres | None = None) -> None:
        self._server = server
        self._connection = PgConnection(uri, lock_timeout_ms=50_000, name="paraply undo")
        self.renderer = PostgresRenderer()
        self._definitions = SourceDefinitions(self.renderer)
        tables = {(table.database, table.name): table for table in schema}
        tables |= {(table.database, table.name): table for table in read_standing(self._connection, channel).tables}
        for table in tables.values():
            self._definitions.put(table)
        self._channel = channel
        self._tables = QuotedTables()

    def definitions(self) -> list[Table]:
        """Return the source's tables that the channel holds."""
        return self._definitions.all()

    def check(self, tables: Iterable[tuple[str, str]]) -> None:
        """Check columns, triggers and cascades of tables.

        Raises:
            UndoRefused: A table is not as the log's, or something in the target reacts to its changes.
        """
        for database, name in tables:
            table = self._definitions.find(database, name)
            if table is None:
                advice = "name the channel with --channel, or give a dump with --schema"
                raise UndoRefused(f"channel {self._channel} does not know the table: {advice}", table=f"{database}.{name}")
            mapping = map_table(table, self._definitions.all())
            try:
                check_table(self._connection, mapping)
            except SchemaMismatch as mismatch:
                raise UndoRefused(mismatch.message, table=mismatch.table) from None
            self._tables.add(database, name, mapping.target)

    def frame(self, *, checks: bool) -> Frame:  # noqa: ARG002
        """Return the statements around a script."""
        return self._FRAME

    def stage(self, tables: Sequence[Table]) -> dict[tuple[str, str], str]:
        """Make temporary tables through which many rows are changed at once.

        Returns:
            Their names as SQL, by database and name of the table. A table is left out if the database refuses its temporary table.
        """
        made = {}
        for number, table in enumerate(tables):
            stage = f"pg_temp.paraply_undo_{number}"
            with suppress(StatementFailed):
                self._connection.run([stage_definition(stage, map_table(table)).encode()])
                made[table.database, table.name] = stage
        if made:
            self._run([f"SET {name} TO off".encode() for name in _NO_SCANS])
        return made

    def history(self) -> list[HistoryRow]:
        """Return the newest undos that the database holds; empty without the table, or the right to read it."""
        by = "undone_by" if self._has_column("undone_by") else "NULL"
        select = f"SELECT id, (extract(epoch FROM undone_at) * 1000000)::bigint, {by}, transactions FROM {HISTORY_TABLE}"
        try:
            found = self._connection.run([f"{select} ORDER BY id DESC LIMIT {NEWEST}".encode()])[0]
        except StatementFailed:
            return []
        values = [[found.get_value(row, column) for column in range(found.nfields)] for row in range(found.ntuples)]
        rows = [[None if value is None else value.decode() for value in row] for row in values]
        return [HistoryRow(int(id_ or 0), int(at or 0), by, text or "") for id_, at, by, text in rows]

    def begin(self, note: str | None, *, checks: bool) -> None:  # noqa: ARG002
        """Begin the transaction, and record the undo in it. Foreign keys that can be are checked at its end."""
        statements = list(self._FRAME.begin)
        if note is not None:
            if not self._has_column("undone_by"):
                statements += [*_HISTORY, _ADD_WRITER]
            values = f"{quote_literal(writer_name())}, {quote_literal(note)}"
            statements.append(f"INSERT INTO {HISTORY_TABLE} (undone_by, transactions) VALUES ({values})")
        self._run([statement.encode() for statement in statements])

    def write(self, changes: Sequence[Change]) -> None:
        """Change rows back, in one round trip.

        Raises:
            RowNotFound: A row is not as the undone transactions left it.
            ApplyFailed: The server refuses a statement.
        """
        try:
            results = self._connection.run([b"SAVEPOINT paraply_undo", *(text.encode() for text in texts(changes))])[1:]
        except StatementFailed as failed:
            owners = [change for change in changes for _ in change.texts]
            raise self._refused(failed, owners[max(failed.index - 1, 0)]) from None
        for index, (change, place) in enumerate(zip(changes, places(changes), strict=True)):
            if int(results[place].command_tuples or 0) != len(change.keys):
                raise changed_row(change, self._key(changes, index))

    def check_keys(self, checks: Iterable[Check]) -> None:  # noqa: ARG002
        """Check the foreign keys that PostgreSQL has put off.

        Raises:
            UndoRefused: A row refers to a row that does not exist.
        """
        try:
            self._connection.run([b"SET CONSTRAINTS ALL IMMEDIATE"])
        except StatementFailed as failed:
            raise self._refused(failed, None) from None

    def commit(self) -> None:
        """Commit."""
        self._run([b"COMMIT"])

    def roll_back(self) -> None:
        """Take all changes back."""
        self._run([b"ROLLBACK"])

    def close(self) -> None:
        """Roll back what is not committed, disconnect, and stop an embedded server."""
        if self._connection.in_transaction:
            with suppress(ParaplyError, StatementFailed):
                self._connection.run([b"ROLLBACK"])
        self._connection.close()
        if self._server is not None:
            self._server.stop()

    def _has_column(self, name: str) -> bool:
        """Return True if the table of undos has a column."""
        try:
            found = self._connection.run([_COLUMNS.encode()])[0]
        except StatementFailed:  # no right to look into the schema
            return False
        return any(found.get_value(row, 0) == name.encode() for row in range(found.ntuples))

    def _run(self, statements: Sequence[bytes]) -> None:
        try:
            self._connection.run(statements)
        except StatementFailed as failed:
            raise failure(failed.error) from None

    def _refused(self, failed: StatementFailed, change: Change | None) -> ParaplyError:
        """Return the error of a statement that the server refuses."""
        gtid, table = (change.gtid or None, change.table) if change is not None else (None, None)
        if failed.error.state == _FOREIGN_KEY:
            cause = (
                "after the undo, a row would refer to a row that does not exist: a change that the logs do not hold made one of the two;"
                " name all logs up to now, or change that row first"
                if change is None
                else "the foreign key is checked with each statement, but an undo may change its two tables one after the other; let it be"
                " checked at the end with ALTER TABLE ... ALTER CONSTRAINT ... DEFERRABLE, or name all logs up to now"
            )
            return UndoRefused(
                f"PostgreSQL: {failed.error.message}; nothing was changed: {cause}", table=table, key=key_in(failed.error.detail), gtid=gtid
            )
        error = failure(failed.error, gtid=gtid, table=table)
        error.message += "; nothing was changed"
        return error

    def _key(self, changes: Sequence[Change], index: int) -> str:
        """Return the key of the row that a statement did not find: the statements before it are run again."""
        change = changes[index]
        if len(change.keys) == 1:
            return change.keys[0]
        self._run([b"ROLLBACK TO SAVEPOINT paraply_undo", *(text.encode() for text in texts(changes[:index]))])
        if change.fill is not None and change.search is not None:
            found = self._connection.run([change.fill.encode(), change.search.encode()])[1]
            return change.keys[int(found.get_value(0, 0) or b"0")] if found.ntuples else ""
        table = self._tables.of(change)
        if table is None:
            return ""
        for key, part in zip(change.keys, change.conditions, strict=True):
            if not self._connection.run([f"SELECT 1 FROM {table} WHERE {part}".encode()])[0].ntuples:
                return key
        return ""
