"""PostgreSQL as a target of an undo."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from paraply._native import PostgresRenderer
from paraply.errors import ParaplyError, SchemaMismatch, UndoRefused
from paraply.targets.postgres.connection import PgConnection, StatementFailed
from paraply.targets.postgres.definitions import SourceDefinitions
from paraply.targets.postgres.errors import failure
from paraply.targets.postgres.progress.source_tables import read_standing
from paraply.targets.postgres.table_check import check_table
from paraply.targets.postgres.types import map_table, quote_literal
from paraply.undo.writer import changed_row

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from paraply.schema.model import Table
    from paraply.undo.spool import Change

__all__ = ["PostgresWriter"]

_HISTORY = (
    "CREATE SCHEMA IF NOT EXISTS paraply",
    """CREATE TABLE IF NOT EXISTS paraply.undo_history (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  undone_at timestamptz NOT NULL DEFAULT now(), transactions text NOT NULL)""",
)


class PostgresWriter:
    """A PostgreSQL in which changes are taken back.

    Args:
        uri: URL of the database.
        channel: The channel that holds the source's definitions.
        schema: Definitions that are used where the channel has none.
    """

    settings = ("SET client_encoding TO 'UTF8'", "SET standard_conforming_strings TO on", "SET TimeZone TO 'UTC'")

    def __init__(self, uri: str, channel: str, schema: Iterable[Table] = ()) -> None:
        self._connection = PgConnection(uri, lock_timeout_ms=50_000, name="paraply undo")
        self.renderer = PostgresRenderer()
        self._definitions = SourceDefinitions(self.renderer)
        tables = {(table.database, table.name): table for table in schema}
        tables |= {(table.database, table.name): table for table in read_standing(self._connection, channel).tables}
        for table in tables.values():
            self._definitions.put(table)
        self._channel = channel

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
            try:
                check_table(self._connection, map_table(table, self._definitions.all()))
            except SchemaMismatch as mismatch:
                raise UndoRefused(mismatch.message, table=mismatch.table) from None

    def begin(self, note: str) -> None:
        """Begin the transaction, and record the undo in it."""
        insert = f"INSERT INTO paraply.undo_history (transactions) VALUES ({quote_literal(note)})"
        self._run([*(statement.encode() for statement in _HISTORY), b"BEGIN", insert.encode()])

    def write(self, changes: Sequence[Change]) -> None:
        """Change rows back, in one round trip.

        Raises:
            RowNotFound: A row is not as the undone transactions left it.
            ApplyFailed: The server refuses a statement.
        """
        try:
            results = self._connection.run([b"SAVEPOINT paraply_undo", *(change.sql.encode() for change in changes)])[1:]
        except StatementFailed as failed:
            change = changes[max(failed.index - 1, 0)]
            error = failure(failed.error, gtid=change.gtid or None, table=change.table)
            error.message += "; nothing was changed"
            raise error from None
        for index, (change, result) in enumerate(zip(changes, results, strict=True)):
            if int(result.command_tuples or 0) != len(change.keys):
                raise changed_row(change, self._key(changes, index))

    def commit(self) -> None:
        """Commit."""
        self._run([b"COMMIT"])

    def close(self) -> None:
        """Roll back what is not committed, and disconnect."""
        if self._connection.in_transaction:
            with suppress(ParaplyError, StatementFailed):
                self._connection.run([b"ROLLBACK"])
        self._connection.close()

    def _run(self, statements: Sequence[bytes]) -> None:
        try:
            self._connection.run(statements)
        except StatementFailed as failed:
            raise failure(failed.error) from None

    def _key(self, changes: Sequence[Change], index: int) -> str:
        """Return the key of the row that a statement did not find: the statements before it are run again."""
        change = changes[index]
        if len(change.keys) == 1:
            return change.keys[0]
        self._run([b"ROLLBACK TO SAVEPOINT paraply_undo", *(earlier.sql.encode() for earlier in changes[:index])])
        table = change.sql.split(" WHERE ", 1)[0].removeprefix("DELETE FROM ")
        for key, part in zip(change.keys, change.parts, strict=True):
            if not self._connection.run([f"SELECT 1 FROM {table} WHERE {part}".encode()])[0].ntuples:
                return key
        return ""
