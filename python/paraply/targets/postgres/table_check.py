"""Checks that a table in the target is the counterpart of the source's table (R31, R32)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.errors import SchemaMismatch, UsageError
from paraply.targets.postgres.privileges import check_table_privileges
from paraply.targets.postgres.types import ColumnMapping, TableMapping, map_table, over_automatic, quote_literal

if TYPE_CHECKING:
    from paraply.schema.model import Table
    from paraply.targets.postgres.connection import PgConnection
    from paraply.targets.protocol import ApplyPlan

__all__ = ["check_counterpart", "check_generated", "check_recomputed", "check_table", "refuse_preserve", "table_exists"]


def refuse_preserve(plan: ApplyPlan) -> None:
    """Refuse mode ``preserve``, because PostgreSQL has no GTIDs.

    Raises:
        UsageError: The plan has mode ``preserve``.
    """
    if plan.gtid_mode == "preserve":
        raise UsageError("--gtid preserve needs a MySQL or MariaDB target: PostgreSQL has no GTIDs")


def _relation(mapping: TableMapping) -> str:
    return f"c.relname = {quote_literal(mapping.table)} AND n.nspname = {quote_literal(mapping.schema)}"


def _texts(connection: PgConnection, select: str) -> list[list[str]]:
    result = connection.run([select.encode()])[0]
    return [[(result.get_value(row, i) or b"").decode() for i in range(result.nfields)] for row in range(result.ntuples)]


def table_exists(connection: PgConnection, mapping: TableMapping) -> bool:
    """Return True if the target has a table or a view of that name."""
    select = f"SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE {_relation(mapping)}"
    return bool(_texts(connection, select))


def check_counterpart(connection: PgConnection, table: Table, *, incomplete: bool) -> bool:
    """Check that rows of a table of the source can be written; return True if the target keeps the key of its rows unique.

    Args:
        connection: Any connection to the target.
        table: The source's table.
        incomplete: True if the log may omit generated columns of changed rows.

    Raises:
        SchemaMismatch: The table is missing or differs, or values of a generated column cannot be determined.
        ApplyFailed: The user lacks a privilege.
    """
    mapping = map_table(table)
    check_table(connection, mapping)
    check_table_privileges(connection, mapping)
    check_recomputed(table)
    if incomplete:
        check_generated(table)
    return not mapping.keys or _is_unique(connection, mapping)


def _is_unique(connection: PgConnection, mapping: TableMapping) -> bool:
    """Return True if the target has a unique index on columns of the best key, which is checked with each row."""
    names = ", ".join(quote_literal(mapping.columns[place].name) for place in mapping.keys[0])
    select = (
        "SELECT 1 FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace"
        f" WHERE {_relation(mapping)} AND i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL"
        " AND (SELECT array_agg(a.attname::text) FROM pg_attribute a WHERE a.attrelid = i.indrelid"
        f" AND a.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1])) <@ ARRAY[{names}]"
    )
    return bool(_texts(connection, select))


def check_table(connection: PgConnection, mapping: TableMapping) -> None:
    """Compare the target's table with its mapping.

    Rows are written by column name, so the order of the columns may differ from the source, and the target may have further columns that
    it fills itself.

    Raises:
        SchemaMismatch: The table is missing, its columns differ, or rules or triggers in the target would change the written rows.
    """
    name = f"{mapping.database}.{mapping.name}"
    select = (
        "SELECT c.oid, c.relkind, c.relhasrules, c.relrowsecurity FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        f" WHERE {_relation(mapping)}"
    )
    found = _texts(connection, select)
    if not found:
        raise SchemaMismatch(f"the target has no table {mapping.target}; create it, or give the source's schema with --schema", table=name)
    oid, kind, rules, row_security = found[0]
    if kind not in {"r", "p"}:
        raise SchemaMismatch(f"{mapping.target} is not a table in the target", table=name)
    if rules == "t" or row_security == "t":
        raise SchemaMismatch(f"{mapping.target} has rewrite rules or row security in the target; disable them", table=name)
    _check_columns(connection, mapping, oid, name)
    _check_triggers(connection, mapping, oid, name)


#: Explanation and advice of an expression that is not understood.
_NOT_COMPUTED = (
    "is none that is computed here (+ - * % of integer columns, IF, CASE, IFNULL, COALESCE; a copy of a text column); leave the table out"
    " with a filter, or drop the column in the source and copy the database again"
)


def check_recomputed(table: Table) -> None:
    """Check that generated columns over an AUTO_INCREMENT column can be computed: the log has other values of them.

    Raises:
        SchemaMismatch: The expression of a column cannot be computed.
    """
    from paraply._native import PostgresRenderer

    over = [table.columns[index].name for index in over_automatic(table.columns)]
    unknown = [name for name in PostgresRenderer.uncomputed(table) if name in over] if over else []
    if unknown:
        raise SchemaMismatch(
            f"generated column {unknown[0]} reads the AUTO_INCREMENT column, and MariaDB logs the value that it had before the row got its"
            f" number; the column's expression {_NOT_COMPUTED}",
            table=table.full_name,
        )


def check_generated(table: Table) -> None:
    """Check that the values of generated columns that the log omits can be computed.

    Raises:
        SchemaMismatch: The expression of a column cannot be computed.
    """
    from paraply._native import PostgresRenderer

    unknown = PostgresRenderer.uncomputed(table)
    if unknown:
        raise SchemaMismatch(
            f"the log leaves out generated column {unknown[0]} of changed rows, as MariaDB from version 11 on does, and the column's"
            f" expression {_NOT_COMPUTED}",
            table=table.full_name,
        )


def _check_columns(connection: PgConnection, mapping: TableMapping, oid: str, name: str) -> None:
    select = (
        "SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.attgenerated, coalesce(l.collisdeterministic, true),"
        " a.attnotnull AND NOT a.atthasdef AND a.attidentity = ''"
        " FROM pg_attribute a LEFT JOIN pg_collation l ON l.oid = a.attcollation"
        f" WHERE a.attrelid = {oid} AND a.attnum > 0 AND NOT a.attisdropped"
    )
    there = {row[0]: row[1:] for row in _texts(connection, select)}
    for column in mapping.columns:
        problem = _column_problem(column, there.pop(column.name, None))
        if problem is not None:
            raise SchemaMismatch(f"column {column.name} of {mapping.target} {problem}", table=name)
    needed = sorted(column for column, row in there.items() if row[-1] == "t")
    if needed:
        problem = "has columns that the source's table has not, and that need a value"
        advice = "give them a default, or let them be NULL"
        raise SchemaMismatch(f"{mapping.target} {problem}: {', '.join(needed)}; {advice}", table=name)


def _column_problem(column: ColumnMapping, there: list[str] | None) -> str | None:
    if there is None:
        return "is missing in the target"
    sql_type, generated, deterministic, _ = there
    if sql_type != column.sql_type:
        return f"is {sql_type} in the target, {column.sql_type} is needed"
    if generated:
        return "is a generated column in the target; a plain one is needed, the source's values are stored"
    if deterministic != "t":
        return "has a nondeterministic collation in the target, which calls different values equal"
    return None


def _check_triggers(connection: PgConnection, mapping: TableMapping, oid: str, name: str) -> None:
    """Refuse triggers and cascading foreign keys, because they would repeat changes that are in the log's rows."""
    triggers = _texts(connection, f"SELECT tgname FROM pg_trigger WHERE tgrelid = {oid} AND NOT tgisinternal AND tgenabled <> 'D'")
    if triggers:
        names = ", ".join(row[0] for row in triggers)
        advice = "disable them with ALTER TABLE ... DISABLE TRIGGER"
        raise SchemaMismatch(f"{mapping.target} has triggers in the target ({names}); {advice}", table=name)
    cascades = _texts(
        connection,
        f"SELECT conname FROM pg_constraint WHERE confrelid = {oid} AND contype = 'f'"
        " AND (confdeltype IN ('c','n','d') OR confupdtype IN ('c','n','d'))",
    )
    if cascades:
        names = ", ".join(row[0] for row in cascades)
        problem = f"foreign keys in the target change other rows when rows of {mapping.target} change ({names}); drop them"
        raise SchemaMismatch(problem, table=name)
