"""Creation of tables from the definitions in a dump."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.errors import AlreadyRunning
from paraply.targets.postgres.connection import StatementFailed
from paraply.targets.postgres.ddl.schema_change import create_table
from paraply.targets.postgres.errors import failure
from paraply.targets.postgres.progress.source_tables import store_table
from paraply.targets.postgres.table_check import check_table, table_exists
from paraply.targets.postgres.types import map_table

if TYPE_CHECKING:
    from paraply.schema.model import Table
    from paraply.targets.postgres.connection import PgConnection
    from paraply.targets.postgres.progress.store import Channel

__all__ = ["create_source_table"]


def create_source_table(control: PgConnection, channel: Channel, table: Table) -> None:
    """Create a table, or check the existing one, and store its definition, in one transaction.

    Args:
        control: The connection.
        channel: The channel; its epoch is checked.
        table: The source's definition.

    Raises:
        TypeNotMapped: A column has no counterpart.
        SchemaMismatch: The table exists and differs.
        AlreadyRunning: Another process has taken over the channel.
    """
    mapping = map_table(table)
    exists = table_exists(control, mapping)
    if exists:
        check_table(control, mapping)
    statements = [] if exists else [statement.encode() for statement in create_table(table)]
    try:
        answer = control.run([*channel.begin(), f"SELECT {channel.owner_condition}".encode()])[-1]
        channel.check(1 if answer.get_value(0, 0) == b"t" else 0)
        control.run([*statements, store_table(channel.name, table), b"COMMIT"])
    except StatementFailed as failed:
        control.run([b"ROLLBACK"])
        raise failure(failed.error, table=table.full_name) from failed
    except AlreadyRunning:
        control.run([b"ROLLBACK"])
        raise
