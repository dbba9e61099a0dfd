"""Checks of a table's rows against PostgreSQL, before anything is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.errors import SchemaMismatch
from paraply.targets.mysql.server_version import ServerKind
from paraply.targets.postgres.connection import PgConnection, StatementFailed
from paraply.targets.postgres.errors import failure
from paraply.targets.postgres.privileges import check_table_privileges
from paraply.targets.postgres.table_check import check_generated, check_recomputed, check_table, table_exists
from paraply.targets.postgres.types import check_schema_name, map_table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from paraply.schema.model import Table
    from paraply.targets.protocol import RowForecast

__all__ = ["check_definitions", "check_rows"]


def check_definitions(tables: Iterable[Table], uri: str | None) -> None:
    """Compare the definitions of a dump with PostgreSQL's types, and with the tables of the target.

    Args:
        tables: The definitions.
        uri: URL of the target; None if there is no server yet.

    Raises:
        TypeNotMapped: A column type has no counterpart.
        SchemaMismatch: A table exists and differs.
    """
    mappings = [map_table(table) for table in tables]
    if uri is None or not mappings:
        return
    connection = PgConnection(uri, name="paraply dry run")
    try:
        for mapping in mappings:
            if table_exists(connection, mapping):
                check_table(connection, mapping)
    except StatementFailed as failed:
        raise failure(failed.error) from failed
    finally:
        connection.close()


def check_rows(forecast: RowForecast, uri: str | None) -> None:
    """Compare the source's definition with PostgreSQL's types, and with the table of the target.

    Args:
        forecast: The first rows of a table.
        uri: URL of the target; None if there is no server yet.

    Raises:
        SchemaMismatch: The definition is unknown, the table differs, or values of a generated column cannot be determined.
        TypeNotMapped: A column type has no counterpart.
        ApplyFailed: The user lacks a privilege.
    """
    check_schema_name(forecast.table_map.database)
    if forecast.table is None:
        raise SchemaMismatch(f"the definition of table {forecast.name} is not known; give it with --schema", table=forecast.name)
    mapping = map_table(forecast.table)
    check_recomputed(forecast.table)
    if ServerKind(forecast.log.mariadb, forecast.log.version).leaves_generated_out:
        check_generated(forecast.table)
    if forecast.changed or uri is None:
        return
    connection = PgConnection(uri, name="paraply dry run")
    try:
        if table_exists(connection, mapping):  # otherwise the apply creates it from --schema
            check_table(connection, mapping)
            check_table_privileges(connection, mapping)
    except StatementFailed as failed:
        raise failure(failed.error) from failed
    finally:
        connection.close()
