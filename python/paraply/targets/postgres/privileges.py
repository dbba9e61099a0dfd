"""What the target's user may do on PostgreSQL, found out before the first write; each gap with the GRANT that closes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paraply.errors import ApplyFailed, UsageError
from paraply.targets.postgres.types import quote_identifier, quote_literal

if TYPE_CHECKING:
    from paraply.targets.postgres.connection import PgConnection
    from paraply.targets.postgres.types import TableMapping

__all__ = ["check_table_privileges", "check_user"]

PROGRESS_TABLES = ("channel", "progress", "source_table", "left_out_xa")
_ROWS = ("SELECT", "INSERT", "UPDATE", "DELETE")
_SCHEMA = (
    "SELECT current_user, current_database(), has_database_privilege(current_database(), 'CREATE'),"
    " (SELECT oid FROM pg_namespace WHERE nspname = {schema}),"
    " (SELECT has_schema_privilege(oid, 'USAGE') FROM pg_namespace WHERE nspname = {schema}),"
    " (SELECT has_schema_privilege(oid, 'CREATE') FROM pg_namespace WHERE nspname = {schema})"
)
_ON_TABLE = ", ".join(f"has_table_privilege(c.oid, '{name}')" for name in _ROWS)


def check_user(connection: PgConnection) -> None:
    """Looks for what an apply needs to keep its progress; writes nothing.

    Raises:
        UsageError: Something is missing; names it, and the GRANT.
    """
    user, database, may_make, schema, usage, create = _rows(connection, _SCHEMA.format(schema="'paraply'"))[0]
    if schema is None:
        if may_make != "t":
            raise UsageError(_message(user, ["CREATE"], f"DATABASE {quote_identifier(database)}", "to make the schema of the progress"))
        return
    if usage != "t":
        raise UsageError(_message(user, ["USAGE"], "SCHEMA paraply", "to keep the progress"))
    tables = _rows(connection, f"SELECT c.relname, {_ON_TABLE} FROM pg_class c WHERE c.relnamespace = {schema} AND c.relkind = 'r'")
    there = {name: allowed for name, *allowed in tables}
    if create != "t" and not set(PROGRESS_TABLES) <= set(there):
        raise UsageError(_message(user, ["CREATE"], "SCHEMA paraply", "to make the tables of the progress"))
    for table in PROGRESS_TABLES:
        lacking = _lacking(there.get(table, []))
        if lacking:
            raise UsageError(_message(user, lacking, f"paraply.{table}", "to keep the progress"))


def check_table_privileges(connection: PgConnection, mapping: TableMapping) -> None:
    """Looks whether the user may change the rows of a table that is there.

    Raises:
        ApplyFailed: Something is missing; names it, and the GRANT.
    """
    user, *_, usage, _ = _rows(connection, _SCHEMA.format(schema=quote_literal(mapping.schema)))[0]
    name = f"{mapping.database}.{mapping.name}"
    if usage != "t":
        raise ApplyFailed(_message(user, ["USAGE"], f"SCHEMA {quote_identifier(mapping.schema)}", "for rows of the log"), table=name)
    select = (
        f"SELECT {_ON_TABLE} FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        f" WHERE c.relname = {quote_literal(mapping.table)} AND n.nspname = {quote_literal(mapping.schema)}"
    )
    lacking = _lacking(_rows(connection, select)[0])
    if lacking:
        raise ApplyFailed(_message(user, lacking, mapping.target, "for rows of the log"), table=name)


def _lacking(allowed: list[Any]) -> list[str]:
    return [name for name, value in zip(_ROWS, allowed, strict=False) if value != "t"]


def _message(user: str, privileges: list[str], scope: str, purpose: str) -> str:
    names = ", ".join(privileges)
    role = quote_identifier(user)
    return f"the target's user {user} lacks {names} on {scope} ({purpose}): run there GRANT {names} ON {scope} TO {role}"


def _rows(connection: PgConnection, select: str) -> list[list[Any]]:
    """Rows as text; NULL is None."""
    result = connection.run([select.encode()])[0]
    values = [[result.get_value(row, column) for column in range(result.nfields)] for row in range(result.ntuples)]
    return [[None if value is None else value.decode() for value in row] for row in values]
