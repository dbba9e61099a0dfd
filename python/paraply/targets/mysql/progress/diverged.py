"""The record of tables that differ from the log because a statement was skipped, on MySQL and MariaDB."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.logs.skipping import Diverged
from paraply.targets.mysql.sql import Connection, must_find, query_each, rows_of, text_literal, to_int, to_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paraply.targets.mysql.progress.store import ProgressStore

__all__ = ["read_diverged", "write_diverged"]

_TABLE = """CREATE TABLE IF NOT EXISTS paraply.diverged_table (
  channel VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL COMMENT 'name of the channel',
  table_database VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL COMMENT 'database of the table',
  table_name VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL COMMENT 'a table that differs from the log',
  gtid VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'the skipped statement since which it differs',
  PRIMARY KEY (channel, table_database, table_name)
) ENGINE=InnoDB"""


def read_diverged(connection: Connection, channel: str) -> tuple[Diverged, ...]:
    """Return the record of a channel; empty if there is none."""
    exists = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema='paraply' AND table_name='diverged_table'"
    if not to_int(rows_of(connection.query(exists))[0][0]):
        return ()
    query = f"SELECT table_database, table_name, gtid FROM paraply.diverged_table WHERE channel={text_literal(channel)}"
    return tuple(Diverged(*map(to_text, row)) for row in rows_of(connection.query(query)))


def write_diverged(connection: Connection, store: ProgressStore, epoch: int, tables: Sequence[Diverged]) -> None:
    """Replace the record of a channel.

    Raises:
        AlreadyRunning: Another apply has taken over the channel.
    """
    connection.query(_TABLE)
    name = text_literal(store.channel)
    values = ", ".join(
        f"({name}, {text_literal(table.database)}, {text_literal(table.table)}, {text_literal(table.gtid)})" for table in tables
    )
    statements = ["START TRANSACTION", store.fence(), f"DELETE FROM paraply.diverged_table WHERE channel={name}"]
    if tables:
        statements.append(f"INSERT INTO paraply.diverged_table VALUES {values}")
    results = query_each(connection, statements)
    store.checked(results, epoch, connection, at=1)
    must_find(results[3:4])
    connection.query("COMMIT")
