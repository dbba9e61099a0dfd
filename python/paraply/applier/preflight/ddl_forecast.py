"""Forecast of the DDL that a target would refuse, made before anything is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from paraply.errors import LogNotUnderstood, ParaplyError
from paraply.logs.statement_text import decode_or_advise
from paraply.schema.advance import advance
from paraply.schema.ddl.change import AlterTable, CreateTable, DropDatabase, DropTable, RenameTable, TruncateTable, Unknown
from paraply.targets.ddl_answer import name_way_on
from paraply.targets.protocol import Forecast, RowForecast

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from paraply._native import TableMap, Transaction
    from paraply.logs.skipping import Skipping
    from paraply.schema.catalog import SchemaCatalog
    from paraply.schema.ddl.change import SchemaChange
    from paraply.schema.model import Table
    from paraply.targets.protocol import ApplyPlan, Standing, Target

__all__ = ["DdlForecast", "StatementOutcome"]


@dataclass(frozen=True, slots=True)
class StatementOutcome:
    """Outcome of a transaction's statements, as far as it can be known before they run.

    Attributes:
        problem: Reason why the apply would stop there; empty if it would not.
        skipped: True if the target has no counterpart of the statements.
    """

    problem: str = ""
    skipped: bool = False


class DdlForecast:
    """Forecast that follows a log's DDL as the apply would, beginning with the same definitions.

    DDL whose outcome depends on rows is judged by the tables that have rows in the target or get rows from the log. It is not noticed
    when a table loses all its rows again.

    Args:
        target: The target of the apply.
        schema: Definitions at the start of the apply.
        standing: State of the target; its definitions count after the transactions that are applied already.
        plan: The plan that would open the target.
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
        self.skips: Skipping | None = None
        """Decisions about skipped statements, which the target does not run."""
        self.made: dict[str, Table] = {}
        """Tables that the log makes or changes, by ``database.table``; those that it drops later too."""

    def adopt(self) -> None:
        """Use the target's stored definitions from the first unapplied transaction on; later calls have no effect."""
        if self._standing is None:
            return
        for table in self._standing.tables:
            self._schema.put(table)
        self._written = set(self._standing.written)
        self._standing = None
        if self.skips is not None:
            self.skips.start(self._schema)

    def note_rows(self, transaction: Transaction) -> None:
        """Remember the tables whose rows a transaction changes."""
        self._written.update(transaction.tables)

    def row_problems(self, transaction: Transaction, maps: Sequence[TableMap], *, compares: bool) -> Iterator[tuple[str, str]]:
        """Check the tables that get their first rows in a transaction, or their first rows after a change of the table.

        Args:
            transaction: The transaction.
            maps: Table maps of the transactions around it.
            compares: True if the applier compares the tables with the log, and not the target's own replication.

        Yields:
            ``database.table``, and why the apply would stop there.
        """
        for name in transaction.tables:
            found = next((table for table in maps if f"{table.database}.{table.table}" == name), None)
            if name in self._seen or found is None:
                continue
            self._seen.add(name)
            table = self._schema.table(found.database, found.table)
            refusal = self.skips.refusal(transaction, [found]) if self.skips is not None else None
            if refusal is not None:
                yield name, refusal.message
            if refusal is not None or not compares:
                continue
            try:
                self._target.check_rows(RowForecast(found, table, transaction.format, name in self._changed, self._plan))
            except ParaplyError as error:
                yield name, error.message

    def leave_out(self, transaction: Transaction) -> None:
        """Pass a skipped transaction, which the target does not run."""
        if self.skips is not None and transaction.statements:
            self.skips.leave_out(transaction, self._schema)
            self._seen -= {f"{table.database}.{table.table}" for table in self.skips.take_change() or ()}

    def problem(self, transaction: Transaction, *, runs: bool = True) -> str:
        """Follow a transaction's statements and return the reason why the apply would stop there; see ``forecast``."""
        return self.forecast(transaction, runs=runs).problem

    def forecast(self, transaction: Transaction, *, runs: bool = True) -> StatementOutcome:
        """Follow a transaction's statements and return their outcome.

        Args:
            transaction: The next transaction with statements.
            runs: False if the filters leave it out, so that it is only followed.
        """
        log, changes = transaction.format, []
        known = {(table.database, table.name): table for table in self._schema}
        try:
            for statement in transaction.statements:
                sql = decode_or_advise(statement, transaction)
                changes += advance(self._schema, sql, statement.database, statement.context, mariadb=log.mariadb, version=log.version)
        except LogNotUnderstood as error:
            return StatementOutcome(error.message)
        found = ""
        if runs:
            try:
                self._target.check_ddl(Forecast(transaction, changes, known, frozenset(self._written), self._names))
            except ParaplyError as error:
                name_way_on(error)
                found = error.message
        if self.skips is not None:
            self.skips.follow(transaction, self._schema)
        for change in changes:
            self._carry(change)
            if runs:
                self._note_changed(change)
            if isinstance(change, CreateTable):
                self.made[change.table.full_name] = change.table
            elif isinstance(change, AlterTable | RenameTable):
                table = change.new if isinstance(change, AlterTable) else change.table
                self.made[table.full_name] = table
        return StatementOutcome(found, self._target.skips(changes))

    def _note_changed(self, change: SchemaChange) -> None:
        """Remember the tables that the log makes or changes, because their present rows and definitions in the target count no more."""
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
        """Update the set of tables with rows after a schema change."""
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
