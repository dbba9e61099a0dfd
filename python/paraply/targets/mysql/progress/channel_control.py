"""Pausing, resuming and forgetting of channels in a MySQL or MariaDB target, past its binlog."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from paraply.errors import AlreadyRunning, ParaplyError, ServerError, UsageError
from paraply.targets.mysql.errors import LOCK_WAIT_TIMEOUT, explain
from paraply.targets.mysql.progress.status_row import stays_out_of_binlog
from paraply.targets.mysql.sql import rows_of, text_literal, to_text
from paraply.targets.mysql.xa.store import LEFT_OUT

if TYPE_CHECKING:
    from collections.abc import Callable

    from paraply.targets.mysql.sql import Connection

__all__ = ["MySqlChannelControl", "open_control"]

_TABLE = """CREATE TABLE IF NOT EXISTS paraply.pause (
  channel VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY COMMENT 'name of the channel',
  paused_by VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL COMMENT 'user and machine',
  since DATETIME NOT NULL COMMENT 'when, in UTC'
) ENGINE=InnoDB"""
_TABLES = "SELECT table_name FROM information_schema.tables WHERE table_schema='paraply'"
_OF_A_CHANNEL = "SELECT table_name FROM information_schema.columns WHERE table_schema='paraply' AND LOWER(column_name)='channel'"
"""Tables with a column ``channel``, beside ``channel`` itself."""


class MySqlChannelControl:
    """A connection that changes the state of channels; see ``ChannelControl`` for the contract."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def pause(self, channel: str, by: str) -> None:
        """Note a pause."""
        if "pause" not in self._tables():
            self._run(_TABLE)
        values = f"{text_literal(channel)}, {text_literal(by[:255])}, UTC_TIMESTAMP()"
        self._run(f"INSERT IGNORE INTO paraply.pause (channel, paused_by, since) VALUES ({values})")

    def resume(self, channel: str) -> bool:
        """Remove the pause; return False if there was none."""
        if "pause" not in self._tables():
            return False
        return self._run(f"DELETE FROM paraply.pause WHERE channel={text_literal(channel)}") > 0

    def forget(self, channel: str) -> None:
        """Remove the channel's progress, in one transaction."""
        name = text_literal(channel)
        tables, has_progress = self._tables(_OF_A_CHANNEL), "channel" in self._tables()
        self._run("START TRANSACTION")
        try:
            if has_progress:
                self._run(f"SELECT epoch FROM paraply.channel WHERE name={name} FOR UPDATE")
            if "xa" in tables:
                self._check_prepared(channel)
            for table in sorted(tables):
                self._run(f"DELETE FROM paraply.{table} WHERE channel={name}")
            if has_progress:
                self._run(f"DELETE FROM paraply.channel WHERE name={name}")
            self._run("COMMIT")
        except BaseException:
            with contextlib.suppress(ParaplyError):
                self._connection.query("ROLLBACK")
            raise

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(ParaplyError):
            self._connection.close()

    def _check_prepared(self, channel: str) -> None:
        left_out = text_literal(LEFT_OUT)
        open_ones = f"SELECT xid FROM paraply.xa WHERE channel={text_literal(channel)} AND state<>{left_out} ORDER BY xid"
        xids = [to_text(row[0]) for row in rows_of(self._connection.query(open_ones))]
        if xids:
            raise UsageError(
                f"channel {channel} has XA transactions that are not ended: {', '.join(xids)}; see XA RECOVER on the target, end them, and"
                " remove their rows from paraply.xa"
            )

    def _tables(self, query: str = _TABLES) -> set[str]:
        return {to_text(row[0]).lower() for row in rows_of(self._connection.query(query))}

    def _run(self, statement: str) -> int:
        """Run a statement and return the number of affected rows."""
        try:
            return self._connection.query(statement)[0][2]
        except ServerError as error:
            if error.code == LOCK_WAIT_TIMEOUT:
                raise AlreadyRunning("a transaction of the channel is still open on the target; end its apply first") from None
            raise explain(error) from None


def open_control(connect: Callable[[], Connection]) -> MySqlChannelControl:
    """Return a connection that changes the state of channels.

    Raises:
        UsageError: The user may not keep these changes out of the target's binlog.
    """
    connection = connect()
    try:
        if not stays_out_of_binlog(connection):
            raise UsageError(
                "this change would be written to the target's binlog, and its replicas would get it: use an account that may set"
                " sql_log_bin (SYSTEM_VARIABLES_ADMIN on MySQL, BINLOG ADMIN on MariaDB)"
            )
        connection.query("SET SESSION autocommit=1, innodb_lock_wait_timeout=5")
    except ParaplyError as error:
        connection.close()
        raise explain(error) from None
    return MySqlChannelControl(connection)
