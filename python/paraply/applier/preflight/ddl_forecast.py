"""What of a log's DDL a target could not take, known before anything is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.errors import LogNotUnderstood, ParaplyError
from paraply.logs.statement_text import decode_statement
from paraply.schema.advance import advance
from paraply.schema.ddl.change import AlterTable, CreateTable, DropDatabase, DropTable, RenameTable, TruncateTable, Unknown
from paraply.targets.protocol import Forecast, RowForecast

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from paraply._native import TableMap, Transaction
    from paraply.schema.catalog import SchemaCatalog
    from paraply.schema.ddl.change import SchemaChange
    from paraply.targets.protocol import ApplyPlan, Standing, Target

__all__ = ["Foresight"]


class Foresight:
    """Follows a log's DDL as the apply would, from the definitions that it would begin with.

    What depends on rows is judged by the tables that have rows in the target or get some from the log; that all of them are deleted
    again is not seen.

    Args:
        target: Where the log would go.
        schema: The definitions that the apply begins with.
        standing: What the target holds of the log; its definitions count behind what is applied already.
        plan: As the target would be opened with it.
    """

    def __init__(self, target: Target, schema: SchemaCatalog, standing: Standing, plan: ApplyPlan) -> None:
        self._target = target
        self._schema = schema
        self._standing: Standing | None = standing
        self._plan = plan
        self._written: set[str] = set()
        self._changed: set[str] = set()
        self._seen: set[str] = set()
        self._names = schema.lower_case_table_names

    def adopt(self) -> None:
        """Take the kept definitions over: called with the first transaction that is not applied yet, and of no effect later."""
        if self._standing is None:
            return
        for table in self._standing.tables:
            self._schema.put(table)
        self._written = set(self._standing.written)
        self._standing = None

    def note_rows(self, transaction: Transaction) -> None:
        """Keep which tables a transaction changes rows of."""
        self._written.update(transaction.tables)

    def row_problems(self, transaction: Transaction, maps: Sequence[TableMap]) -> Iterator[tuple[str, str]]:
        """Check the tables whose first rows, or first rows behind a change of the table, a transaction holds.

        Args:
            transaction: The transaction.
            maps: Table maps of the transactions around it.

        Yields:
            ``database.table``, and why the apply would stop there.
        """
        for name in transaction.tables:
            found = next((table for table in maps if f"{table.database}.{table.table}" == name), None)
            if name in self._seen or found is None:
                continue
            self._seen.add(name)
            table = self._schema.table(found.database, found.table)
            try:
                self._target.foresee_rows(RowForecast(found, table, transaction.format, name in self._changed, self._plan))
            except ParaplyError as error:
                yield name, error.message

    def problem(self, transaction: Transaction, *, runs: bool = True) -> str:
        """Follow a transaction's statements.

        Args:
            transaction: The next one with statements.
            runs: Whether it would be run; else it is only followed.

        Returns:
            Why the apply would stop there; empty if it would not, as far as that can be known.
        """
        log, changes = transaction.format, []
        known = {(table.database, table.name): table for table in self._schema}
        try:
            for statement in transaction.statements:
                sql = decode_statement(statement, mariadb=log.mariadb, file=transaction.file)
                changes += advance(self._schema, sql, statement.database, statement.context, mariadb=log.mariadb, version=log.version)
        except LogNotUnderstood as error:
            return error.message
        found = ""
        if runs:
            try:
                self._target.foresee(Forecast(transaction, changes, known, frozenset(self._written), self._names))
            except ParaplyError as error:
                found = error.message
        for change in changes:
            self._carry(change)
            if runs:
                self._note_changed(change)
        return found

    def _note_changed(self, change: SchemaChange) -> None:
        """Keep which tables the log itself makes or changes: what the target holds of them now does not count any more."""
        names: set[str] = set()
        match change:
            case CreateTable(table=table) | AlterTable(new=table) | RenameTable(table=table):
                names = {table.full_name}
            case DropTable(database=database, name=name):
                names = {f"{database}.{name}"}
            case Unknown(tables=tables):
                names = {f"{database}.{name}" for database, name in tables}
        self._changed |= names
        self._seen -= names

    def _carry(self, change: SchemaChange) -> None:
        """Follow which tables have rows."""
        match change:
            case CreateTable(table=table):
                self._written.discard(table.full_name)
            case DropTable(database=database, name=name) | TruncateTable(database=database, name=name):
                self._written.discard(f"{database}.{name}")
            case RenameTable(old_database=database, old_name=name, table=table):
                self._rename(f"{database}.{name}", table.full_name)
            case AlterTable(old=old, new=new, consequence=False):
                self._rename(old.full_name, new.full_name)
            case DropDatabase(database=database):
                self._written = {name for name in self._written if not name.startswith(f"{database}.")}

    def _rename(self, old: str, new: str) -> None:
        if old in self._written and old != new:
            self._written.discard(old)
            self._written.add(new)
