"""The record of tables that differ from the log because a statement was skipped, on PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.logs.skipping import Diverged
from paraply.targets.postgres.connection import PgConnection, StatementFailed
from paraply.targets.postgres.errors import failure
from paraply.targets.postgres.types import quote_literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paraply.targets.postgres.progress.store import Channel

__all__ = ["read_diverged", "write_diverged"]

_TABLE = (
    b"CREATE TABLE IF NOT EXISTS paraply.diverged_table (channel text NOT NULL, database text NOT NULL, name text NOT NULL,"
    b" gtid text NOT NULL, PRIMARY KEY (channel, database, name))"
)


def read_diverged(connection: PgConnection, channel: str) -> tuple[Diverged, ...]:
    """Return the record of a channel; empty if there is none."""
    there = connection.run([b"SELECT to_regclass('paraply.diverged_table') IS NOT NULL"])[0]
    if there.get_value(0, 0) != b"t":
        return ()
    query = f"SELECT database, name, gtid FROM paraply.diverged_table WHERE channel = {quote_literal(channel)} ORDER BY 1, 2"
    rows = connection.run([query.encode()])[0]
    values = [[rows.get_value(row, column) or b"" for column in range(3)] for row in range(rows.ntuples)]
    return tuple(Diverged(*(value.decode() for value in row)) for row in values)


def write_diverged(connection: PgConnection, channel: Channel, tables: Sequence[Diverged]) -> None:
    """Replace the record of a channel.

    Raises:
        AlreadyRunning: Another apply has taken over the channel.
    """
    name = quote_literal(channel.name)
    delete = f"DELETE FROM paraply.diverged_table WHERE channel = {name} AND {channel.owner_condition}"
    inserts = [
        f"INSERT INTO paraply.diverged_table SELECT {name}, {quote_literal(table.database)}, {quote_literal(table.table)},"
        f" {quote_literal(table.gtid)} WHERE {channel.owner_condition}"
        for table in tables
    ]
    try:
        results = connection.run([*channel.begin(), _TABLE, delete.encode(), *(insert.encode() for insert in inserts), b"COMMIT"])
    except StatementFailed as failed:
        connection.run([b"ROLLBACK"])
        raise failure(failed.error) from failed
    for made in results[-1 - len(inserts) : -1]:
        channel.check(made.command_tuples)
