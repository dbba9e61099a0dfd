"""The source's table definitions, stored in the target beside the progress.

An apply that resumes in the middle of a log has not seen the earlier DDL. The target's own tables lack details of the source's tables
(signs, labels, character sets), so the source's definitions are stored. A table that the log has dropped or renamed is stored with its
name only, so that an older dump does not create it again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.schema.table_json import from_json, to_json
from paraply.targets.postgres.connection import StatementFailed
from paraply.targets.postgres.errors import failure
from paraply.targets.postgres.types import quote_identifier, quote_literal
from paraply.targets.protocol import Standing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from paraply.schema.model import Table
    from paraply.targets.postgres.connection import PgConnection

__all__ = ["drop_table", "load_tables", "other_case", "read_standing", "store_table"]


def store_table(channel: str, table: Table) -> bytes:
    """Return the statement that stores a definition."""
    values = ", ".join(quote_literal(value) for value in (channel, table.database, table.name, to_json(table)))
    return (
        f"INSERT INTO paraply.source_table VALUES ({values}) ON CONFLICT (channel, database, name)"
        " DO UPDATE SET definition = excluded.definition"
    ).encode()


def drop_table(channel: str, database: str, name: str) -> bytes:
    """Return the statement that stores that the log has dropped a table."""
    values = ", ".join(quote_literal(value) for value in (channel, database, name))
    return (
        f"INSERT INTO paraply.source_table VALUES ({values}, 'null') ON CONFLICT (channel, database, name)"
        " DO UPDATE SET definition = excluded.definition"
    ).encode()


def load_tables(connection: PgConnection, channel: str) -> tuple[list[Table], set[tuple[str, str]]]:
    """Return all definitions of a channel, and the databases and names of the tables that the log has dropped."""
    select = f"SELECT database, name, definition FROM paraply.source_table WHERE channel = {quote_literal(channel)} ORDER BY database, name"
    try:
        result = connection.run([select.encode()])[0]
    except StatementFailed as failed:
        raise failure(failed.error) from failed
    tables: list[Table] = []
    dropped: set[tuple[str, str]] = set()
    for row in range(result.ntuples):
        database, name, definition = (result.get_value(row, column) or b"" for column in range(3))
        if definition == b"null":
            dropped.add((database.decode(), name.decode()))
        else:
            tables.append(from_json(definition))
    return tables, dropped


def read_standing(connection: PgConnection, channel: str) -> Standing:
    """Return the definitions of a channel, and which of the tables have rows; nothing if there is no channel."""
    try:
        there = connection.run([b"SELECT to_regclass('paraply.source_table') IS NOT NULL"])[0]
        if there.get_value(0, 0) != b"t":
            return Standing()
        tables, _ = load_tables(connection, channel)
        written = {table.full_name for table in tables if _has_rows(connection, table)}
    except StatementFailed as failed:
        raise failure(failed.error) from failed
    return Standing(tuple(tables), frozenset(written))


def _has_rows(connection: PgConnection, table: Table) -> bool:
    name = f"{quote_identifier(table.database)}.{quote_identifier(table.name)}"
    there = connection.run([f"SELECT to_regclass({quote_literal(name)}) IS NOT NULL".encode()])[0]
    return there.get_value(0, 0) == b"t" and bool(connection.run([f"SELECT 1 FROM {name} LIMIT 1".encode()])[0].ntuples)


def other_case(known: set[str], names: Iterable[str]) -> str:
    """Return advice if exactly one known table differs from one of these names only in upper and lower case; else an empty text."""
    for name in names:
        others = [other for other in known if other.lower() == name.lower()]
        if name not in known and len(others) == 1:
            return (
                f"; {others[0]} is known, which differs only in upper and lower case: a source with lower_case_table_names=1 logs its"
                " rows so; begin in an empty database with --lower-case-table-names 1"
            )
    return ""
