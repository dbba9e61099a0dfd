"""A log's schema changes as PostgreSQL DDL, from a comparison of a table's definition before and after.

The source's statement is not translated. Only its effect on the tables matters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from paraply.errors import LogNotUnderstood
from paraply.schema.ddl import change as ch
from paraply.schema.model import Column, Table
from paraply.targets.postgres.ddl.defaults import fill_of
from paraply.targets.postgres.ddl.retype import keeps_values, retype
from paraply.targets.postgres.keys import CarriedKey, carried_keys, index_name
from paraply.targets.postgres.types import ColumnMapping, TableMapping, check_schema_name, map_table, quote_identifier

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from paraply.targets.postgres.ddl.statement_time import StatementTime

__all__ = ["DdlPlan", "MustBeEmpty", "MustLack", "create_table", "parents", "plan_changes"]

_ADVICE = "make the change by hand in the target and start again with --ddl-done, or load the table again"
TableKey = tuple[str, str]
"""Database and table."""


@dataclass(frozen=True, slots=True)
class MustBeEmpty:
    """A condition between the statements: the table has no rows, because the target cannot compute their new values.

    Attributes:
        table: The source's table as ``database.table``.
        target: The target's table as an identifier in SQL.
        reason: Why.
    """

    table: str
    target: str
    reason: str

    @property
    def query(self) -> str:
        """The query that finds a row."""
        return f"SELECT 1 FROM {self.target} LIMIT 1"

    def refusal(self) -> LogNotUnderstood:
        """Return the error for a table with rows."""
        return LogNotUnderstood(f"{self.reason}, and the table has rows; {_ADVICE}", table=self.table)


@dataclass(frozen=True, slots=True)
class MustLack:
    """A condition between the statements: the table has no rows of a kind that the source changed without logging them.

    Attributes:
        table: The source's table as ``database.table``.
        target: The target's table as an identifier in SQL.
        reason: Why.
        where: Condition in SQL that selects these rows.
    """

    table: str
    target: str
    reason: str
    where: str

    @property
    def query(self) -> str:
        """The query that finds such a row."""
        return f"SELECT 1 FROM {self.target} WHERE {self.where} LIMIT 1"

    def refusal(self) -> LogNotUnderstood:
        """Return the error for a table with such rows."""
        return LogNotUnderstood(f"{self.reason}, and the table has such rows; {_ADVICE}", table=self.table)


Step = str | MustBeEmpty | MustLack
"""A statement or a condition."""


@dataclass(slots=True)
class DdlPlan:
    """The effect of a DDL of the log on the target.

    Attributes:
        steps: Statements and conditions in order.
        define: New definitions of the source.
        forget: Dropped tables; they are removed before ``define`` takes effect.
    """

    steps: list[Step] = field(default_factory=list)
    define: dict[TableKey, Table] = field(default_factory=dict)
    forget: set[TableKey] = field(default_factory=set)

    def put(self, table: Table) -> None:
        """Add or replace a table's definition."""
        self.define[table.database, table.name] = table

    def remove(self, key: TableKey) -> None:
        """Remove a table."""
        self.define.pop(key, None)
        self.forget.add(key)


def plan_changes(changes: Sequence[ch.SchemaChange], known: Mapping[TableKey, Table], time: StatementTime | None = None) -> DdlPlan:
    """Return the steps for the changes of one statement.

    Args:
        changes: Changes of the statement, in order.
        known: The source's tables before the statement, as far as the target has them.
        time: Time of the statement; None if not known.

    Raises:
        LogNotUnderstood: A change is unknown, or PostgreSQL cannot reproduce it exactly.
        TypeNotMapped: A column type has no counterpart.
    """
    plan = DdlPlan()
    for change in changes:
        plan.steps.extend(_steps(change, plan, known, time))
    return plan


def _steps(change: ch.SchemaChange, plan: DdlPlan, known: Mapping[TableKey, Table], time: StatementTime | None) -> Iterator[Step]:
    match change:
        case ch.CreateDatabase(database=database):
            yield f"CREATE SCHEMA IF NOT EXISTS {quote_identifier(check_schema_name(database))}"
        case ch.DropDatabase(database=database):
            yield from _drop_database(database, plan, known)
        case ch.CreateTable(table=table, replaced=replaced):
            if replaced:
                yield f"DROP TABLE IF EXISTS {_target(table.database, table.name)}"
            plan.put(table)
            yield from create_table(table)
        case ch.DropTable(database=database, name=name):
            if (database, name) in known or (database, name) in plan.define:
                plan.remove((database, name))
                yield f"DROP TABLE IF EXISTS {_target(database, name)}"
        case ch.TruncateTable(database=database, name=name):
            yield f"TRUNCATE TABLE {_target(database, name)}"
        case ch.RenameTable(old_database=old_database, old_name=old_name, table=table):
            plan.remove((old_database, old_name))
            plan.put(table)
            yield from _rename_table(old_database, old_name, table)
        case ch.AlterTable():
            plan.remove((change.old.database, change.old.name))
            plan.put(change.new)
            if not change.consequence:
                yield from _alter_table(change, time)
        case ch.Unknown(reason=reason):
            raise LogNotUnderstood(f"a statement whose effect on the schema is not known: {reason}")
        case ch.AlterDatabase() | ch.Irrelevant():
            return


def _target(database: str, name: str) -> str:
    return f"{quote_identifier(database)}.{quote_identifier(name)}"


def _drop_database(database: str, plan: DdlPlan, known: Mapping[TableKey, Table]) -> Iterator[str]:
    """Yield the statements that drop the log's tables and then the schema. The target refuses a schema with other objects."""
    for key in sorted({*known, *plan.define} - plan.forget):
        if key[0] == database:
            plan.remove(key)
            yield f"DROP TABLE IF EXISTS {_target(*key)}"
    yield f"DROP SCHEMA IF EXISTS {quote_identifier(check_schema_name(database))}"


def create_table(table: Table) -> Iterator[str]:
    """Yield the statements that create a table and its schema.

    Raises:
        TypeNotMapped: A column type has no counterpart.
    """
    mapping = map_table(table)
    yield f"CREATE SCHEMA IF NOT EXISTS {quote_identifier(mapping.schema)}"
    columns = ", ".join(column.definition for column in mapping.columns)
    yield f"CREATE TABLE {mapping.target} ({columns})"
    for key in carried_keys(table, mapping).values():
        yield key.create(mapping)


def parents(table: Table) -> set[TableKey]:
    """Return the tables that the table's foreign keys refer to."""
    return {(key.parent_database, key.parent_table) for key in table.foreign_keys}


def _rename_table(old_database: str, old_name: str, table: Table) -> Iterator[str]:
    """Yield the statements that rename a table, move it to another schema, and rename its keys after it."""
    mapping = map_table(table)
    keys = list(carried_keys(table, mapping).values())
    if old_database != table.database:
        yield from _move_table(old_database, old_name, mapping, keys)
    elif old_name != table.name:
        yield f"ALTER TABLE {_target(old_database, old_name)} RENAME TO {quote_identifier(mapping.table)}"
        for key in keys:
            yield key.rename(mapping.schema, index_name(old_name, key.name), index_name(mapping.table, key.name))


def _move_table(old_database: str, old_name: str, mapping: TableMapping, keys: Sequence[CarriedKey]) -> Iterator[str]:
    """Yield the statements that move a table to another schema under temporary names.

    A table of the old name there may have keys of the same names.
    """
    check_schema_name(old_database)
    passing = "paraply_passing"
    yield f"CREATE SCHEMA IF NOT EXISTS {quote_identifier(mapping.schema)}"
    for number, key in enumerate(keys):
        yield key.rename(old_database, index_name(old_name, key.name), f"{passing}_{number}")
    yield f"ALTER TABLE {_target(old_database, old_name)} RENAME TO {quote_identifier(passing)}"
    yield f"ALTER TABLE {_target(old_database, passing)} SET SCHEMA {quote_identifier(mapping.schema)}"
    yield f"ALTER TABLE {_target(mapping.schema, passing)} RENAME TO {quote_identifier(mapping.table)}"
    for number, key in enumerate(keys):
        yield key.rename(mapping.schema, f"{passing}_{number}", index_name(mapping.table, key.name))


def _alter_table(change: ch.AlterTable, time: StatementTime | None) -> Iterator[Step]:
    """Yield the steps of an ALTER TABLE, renames first, so that all other steps use the new name."""
    old, new = map_table(change.old), map_table(change.new)
    yield from _without_rows(change)
    if change.old.full_name != change.new.full_name:
        moved = Table(change.new.database, change.new.name, change.old.columns, change.old.keys)
        yield from _rename_table(change.old.database, change.old.name, moved)
    origin = _origins(change)
    kept, dropped_keys = _compare_keys(change, old, new, origin)
    for key in dropped_keys:
        yield key.drop(new)
    yield from _drop_and_rename_columns(old, new, origin)
    for column in new.columns:
        before = origin.get(column.name.lower())
        if before is not None:
            yield from _change_column(change, old.column(before), column, new)
    yield from _add_columns(change, new, origin, time)
    for name, key in carried_keys(change.new, new).items():
        if name not in kept:
            yield key.create(new)


def _without_rows(change: ch.AlterTable) -> Iterator[MustBeEmpty]:
    """Yield the conditions that tables are empty, for a statement that changes rows without logging them.

    Raises:
        LogNotUnderstood: The statement takes rows from a file.
    """
    if change.ignores:
        reason = "ALTER IGNORE may leave out rows without logging them, in a way that PostgreSQL cannot follow exactly"
        yield MustBeEmpty(change.old.full_name, _target(change.old.database, change.old.name), reason)
    if not change.unlogged:
        return
    reason = f"{change.unlogged} changes rows without logging them"
    if change.unlogged.startswith("IMPORT"):
        raise LogNotUnderstood(f"{reason}: load the table again, and go on after this statement", table=change.old.full_name)
    for database, name in ((change.old.database, change.old.name), *change.with_tables):
        yield MustBeEmpty(f"{database}.{name}", _target(database, name), reason)


def _origins(change: ch.AlterTable) -> dict[str, str]:
    """Return the old name of each column that existed before, by its new name in lower case."""
    renames = {new.lower(): old for new, old in change.column_renames.items()}
    added = {name.lower() for name in change.added}
    gone = {old.lower() for old in renames.values()}
    old_names = {column.name.lower(): column.name for column in change.old.columns}
    origin: dict[str, str] = {}
    for column in change.new.columns:
        name = column.name.lower()
        if name in renames:
            origin[name] = renames[name]
        elif name in old_names and name not in added and name not in gone:
            origin[name] = old_names[name]
    return origin


def _compare_keys(change: ch.AlterTable, old: TableMapping, new: TableMapping, origin: dict[str, str]) -> tuple[set[str], list[CarriedKey]]:
    """Return the lower-case names of the keys that stay, and the keys to drop."""
    successor = {before.lower(): after for after, before in origin.items()}
    new_keys = carried_keys(change.new, new)
    kept: set[str] = set()
    dropped: list[CarriedKey] = []
    for name, key in carried_keys(change.old, old).items():
        columns = [successor.get(column.lower()) for column in key.columns]
        after = new_keys.get(name)
        same = after is not None and [column.lower() for column in after.columns] == columns and after.unique == key.unique
        if same:
            kept.add(name)
        else:
            dropped.append(key)
    return kept, dropped


def _drop_and_rename_columns(old: TableMapping, new: TableMapping, origin: dict[str, str]) -> Iterator[str]:
    survivors = {before.lower() for before in origin.values()}
    for column in old.columns:
        if column.name.lower() not in survivors:
            yield f"ALTER TABLE {new.target} DROP COLUMN {quote_identifier(column.name)}"
    pairs = [(origin[column.name.lower()], column.name) for column in new.columns if column.name.lower() in origin]
    renames = [(before, after) for before, after in pairs if before != after]
    swapped = {before for before, _ in renames} & {after for _, after in renames}
    for number, (before, after) in enumerate(renames):
        yield _rename_column(new, before, f"paraply_passing_{number}" if swapped else after)
    if swapped:
        for number, (_, after) in enumerate(renames):
            yield _rename_column(new, f"paraply_passing_{number}", after)


def _rename_column(table: TableMapping, before: str, after: str) -> str:
    return f"ALTER TABLE {table.target} RENAME COLUMN {quote_identifier(before)} TO {quote_identifier(after)}"


def _change_column(change: ch.AlterTable, before: ColumnMapping | None, after: ColumnMapping, table: TableMapping) -> Iterator[Step]:
    """Yield the steps for type and nullability of a column that stays."""
    if before is None:
        return
    yield from _change_type(change, before, after, table)
    # Without explicit_defaults_for_timestamp a TIMESTAMP gets the time of the statement, whatever sql_mode is.
    replaces = not change.strict or after.kind == "timestamptz"
    if before.nullable and not after.nullable and replaces and not change.ignores:
        reason = f"column {after.name} does not take NULL any more, and the source replaced NULL by values that only the source can compute"
        yield MustLack(change.new.full_name, table.target, reason, f"{quote_identifier(after.name)} IS NULL")
    if before.nullable != after.nullable:
        verb = "DROP" if after.nullable else "SET"
        yield f"ALTER TABLE {table.target} ALTER COLUMN {quote_identifier(after.name)} {verb} NOT NULL"


def _change_type(change: ch.AlterTable, before: ColumnMapping, after: ColumnMapping, table: TableMapping) -> Iterator[Step]:
    was, now = _column(change.old, before.name), _column(change.new, after.name)
    new_expression = after.generated and (not before.generated or _computes_otherwise(was, now))
    padded = change.pads_char and was.type == "char" and now.type != "char"
    using = retype(before, after) if not padded and keeps_values(was, now, strict=change.strict or change.ignores) else None
    if using is not None and now.type == "char" and was.type != "char":
        using = f"rtrim({using}, ' ')"  # a CHAR returns its values without trailing spaces
    if using is None or new_expression:
        what = "it is computed now" if new_expression else f"from {before.sql_type} to {after.sql_type}"
        reason = f"column {after.name} changed ({what}) in a way that PostgreSQL cannot follow exactly"
        yield MustBeEmpty(change.new.full_name, table.target, reason)
    unchanged = before.sql_type == after.sql_type and before.is_text == after.is_text and using == quote_identifier(after.name)
    if unchanged:
        return
    alter = f"ALTER TABLE {table.target} ALTER COLUMN {quote_identifier(after.name)}"
    if using is None:
        # The table is empty, so any conversion is correct.
        yield f"{alter} TYPE {after.sql_type}{_collate(after)} USING NULL::{after.sql_type}"
    elif using == quote_identifier(after.name):
        yield f"{alter} TYPE {after.sql_type}{_collate(after)}"
    else:
        yield f"{alter} TYPE {after.sql_type}{_collate(after)} USING {using}"


def _computes_otherwise(was: Column, now: Column) -> bool:
    """Return True if a generated column may have got another expression, which changes the values of all rows."""
    return now.expression is not None and was.expression is not None and _plain(was.expression) != _plain(now.expression)


def _plain(expression: str) -> str:
    """Return an expression without spaces, backticks and case, which have no meaning in an expression without strings."""
    return expression if "'" in expression or '"' in expression else re.sub(r"[\s`]", "", expression).lower()


def _column(table: Table, name: str) -> Column:
    """Return the source's column of that name, which must exist."""
    return next(column for column in table.columns if column.name.lower() == name.lower())


def _collate(column: ColumnMapping) -> str:
    return ' COLLATE "C"' if column.is_text else ""


def _add_columns(change: ch.AlterTable, table: TableMapping, origin: dict[str, str], time: StatementTime | None) -> Iterator[Step]:
    for source, column in zip(change.new.columns, table.columns, strict=True):
        if column.name.lower() not in origin:
            yield from _add_column(change, source, column, table, time)


def _add_column(
    change: ch.AlterTable, source: Column, column: ColumnMapping, table: TableMapping, time: StatementTime | None
) -> Iterator[Step]:
    """Yield the steps that add a column. Existing rows get the same value as on the source; the default itself is not copied."""
    fill = fill_of(source, column, time)
    add = f"ALTER TABLE {table.target} ADD COLUMN {column.definition}"
    if fill is None:
        reason = f"the new column {column.name} gets values that only the source can compute"
        if source.default is not None and source.default.form == "now" and time is not None and time.unknown_zone:
            reason += f" (the local time in its time zone {time.unknown_zone}, which the log does not tell)"
        yield MustBeEmpty(change.new.full_name, table.target, reason)
        yield add
    elif fill == "NULL":
        yield add
    else:
        yield f"{add} DEFAULT {fill}"
        yield f"ALTER TABLE {table.target} ALTER COLUMN {quote_identifier(column.name)} DROP DEFAULT"
