"""Conflicts of rows with a MySQL or MariaDB target: rows one by one, and the table of conflicts.

A ``BINLOG`` statement that fails inside of a transaction takes back its own rows only (observed on MySQL 9.7 and MariaDB 10.5 to 11.8), so
no savepoint is needed.

In GTID mode ``preserve`` the transaction belongs to the source's GTID, and replicas of the target get all of it. The conflicts are no part
of it then. A connection that is not logged writes them right before the commit; if that does not follow, the next start removes them.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from paraply.errors import ServerError
from paraply.runtime import runtime
from paraply.targets.conflicts import DUPLICATE, MISSING, Misfit, OnConflict, Resolver, insert_statements
from paraply.targets.mysql.errors import DUPLICATE_KEY, NO_SUCH_ROW
from paraply.targets.mysql.rows.sequences import row_statements
from paraply.targets.mysql.sql import Connection, query_all, query_each, rows_of, text_literal, to_int, to_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from paraply._native import Block, GtidSet
    from paraply.schema.model import Table
    from paraply.targets.conflicts import Conflict
    from paraply.targets.mysql.context import MySqlContext
    from paraply.targets.mysql.gtid_mode import GtidMode
    from paraply.targets.protocol import ApplyPlan

__all__ = ["begin_conflicts", "definitions_of", "record_along", "record_apart", "resolve_rows"]

_TABLE = """CREATE TABLE IF NOT EXISTS paraply.conflict (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  channel_name VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL COMMENT 'name of the channel',
  gtid VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'GTID of the source transaction',
  log_file VARCHAR(512) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL COMMENT 'its log file',
  log_position BIGINT UNSIGNED NOT NULL COMMENT 'offset of its first event',
  committed_at DATETIME(6) NULL COMMENT 'its commit on the source, in UTC',
  found_at DATETIME(6) NOT NULL COMMENT 'when the conflict was found, in UTC',
  table_database VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL COMMENT 'database of the table',
  table_name VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL COMMENT 'the table',
  operation VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'insert, update or delete',
  cause VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'missing row or duplicate key',
  outcome VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'left, replaced, inserted or none',
  detail LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL COMMENT 'words of this server',
  row_key LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL COMMENT 'key of the row, a JSON object',
  row_before LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL COMMENT 'the row before the change, a JSON object',
  row_after LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL COMMENT 'the row after the change, a JSON object',
  KEY (channel_name, gtid)
) ENGINE=InnoDB"""
_EXISTS = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema='paraply' AND table_name='conflict'"


class _Writer:
    """The open transaction of a session."""

    def __init__(self, context: MySqlContext, connection: Connection) -> None:
        self._context = context
        self._connection = connection

    def write(self, part: Block) -> Misfit | None:
        """Apply rows; return the reason if they do not fit."""
        try:
            for statement in row_statements(self._context, part):
                self._connection.query(statement)
        except ServerError as error:
            cause = MISSING if error.code == NO_SUCH_ROW else DUPLICATE if error.code in DUPLICATE_KEY else None
            if cause is None:
                raise
            if resets := self._context.checker.session.resets:
                query_all(self._connection, resets)
            return Misfit(cause, error.message)
        return None


def resolve_rows(
    context: MySqlContext, connection: Connection, block: Block, tables: dict[tuple[str, str], Table | None]
) -> list[Conflict]:
    """Apply the rows of a block in the open transaction, and return the changes that did not fit.

    Args:
        context: The target.
        connection: The session's connection.
        block: The block.
        tables: Definitions of its tables.
    """
    return Resolver(context.on_conflict, _Writer(context, connection), lambda *name: tables.get(name)).resolve(block)


def definitions_of(context: MySqlContext, connection: Connection, block: Block) -> dict[tuple[str, str], Table | None]:
    """Return the definitions of a block's tables."""
    return {
        (found.database, found.table): context.conflict_tables.find(connection, found.database, found.table, len(found.columns))
        for found in block.table_maps()
    }


def begin_conflicts(connection: Connection, plan: ApplyPlan, mode: GtidMode, executed: GtidSet) -> None:
    """Create the table of conflicts if the run may write to it, and remove what an earlier run recorded and did not commit.

    Args:
        connection: A connection that is not logged.
        plan: The run, which has taken over its channel.
        mode: Its GTID mode. Under ``preserve`` conflicts are recorded before their transaction is committed.
        executed: The GTIDs that the target holds.
    """
    if plan.on_conflict is not OnConflict.STOP and not _exists(connection):
        connection.query(_TABLE)
    if mode.name == "preserve":
        _remove_uncommitted(connection, plan.channel, executed)


def record_along(context: MySqlContext, connection: Connection, block: Block, conflicts: Sequence[Conflict]) -> None:
    """Record conflicts in the open transaction of their block."""
    for insert in _inserts(context, block, conflicts):
        connection.query(insert)


def record_apart(context: MySqlContext, block: Block, conflicts: Sequence[Conflict]) -> None:
    """Record conflicts in a transaction that is not logged, in place of those that an earlier attempt at the block recorded."""
    with closing(context.connect()) as connection:
        query_each(connection, context.quiet_settings)
        results = query_each(connection, ["START TRANSACTION", context.store.fence()])
        context.store.checked(results, context.epoch, connection, at=1)
        gtid = text_literal(block.first_gtid or "")
        connection.query(f"DELETE FROM paraply.conflict WHERE channel_name={text_literal(context.store.channel)} AND gtid={gtid}")
        record_along(context, connection, block, conflicts)
        connection.query("COMMIT")


def _remove_uncommitted(connection: Connection, channel: str, executed: GtidSet) -> None:
    if not _exists(connection):
        return
    name = text_literal(channel)
    rows = rows_of(connection.query(f"SELECT DISTINCT gtid FROM paraply.conflict WHERE channel_name={name} AND gtid IS NOT NULL"))
    gone = [gtid for gtid in (to_text(row[0]) for row in rows) if gtid not in executed]
    for gtid in gone:
        connection.query(f"DELETE FROM paraply.conflict WHERE channel_name={name} AND gtid={text_literal(gtid)}")


def _exists(connection: Connection) -> bool:
    return bool(to_int(rows_of(connection.query(_EXISTS))[0][0]))


def _inserts(context: MySqlContext, block: Block, conflicts: Sequence[Conflict]) -> Iterator[str]:
    """Yield statements that record conflicts."""
    committed = "NULL" if block.committed_at is None else _moment(block.committed_at)
    found = _moment(int(runtime.now() * 1e6))  # the session's own clock is the source's, set by SET timestamp
    yield from insert_statements(context.store.channel, block, conflicts, committed=committed, found=found, literal=text_literal)


def _moment(microseconds: int) -> str:
    return f"TIMESTAMP'1970-01-01 00:00:00' + INTERVAL {microseconds} MICROSECOND"
