"""The status of a run, stored as a row in a MySQL or MariaDB target."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from paraply.errors import ParaplyError, ServerError
from paraply.targets.channel_status import Pause
from paraply.targets.mysql.errors import explain
from paraply.targets.mysql.gtid_mode import ACCESS_DENIED
from paraply.targets.mysql.sql import Connection, bytes_literal, query_each, rows_of, text_literal, to_int, to_text

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["MySqlStatusRow", "open_status_row", "read_pause", "stays_out_of_binlog"]

_TABLE = """CREATE TABLE IF NOT EXISTS paraply.run (
  channel VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY COMMENT 'name of the channel',
  epoch BIGINT UNSIGNED NOT NULL COMMENT 'the epoch of the run that wrote this',
  updated DATETIME(6) NOT NULL COMMENT 'when, in UTC',
  status LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL COMMENT 'counters of that run, as JSON'
) ENGINE=InnoDB"""
_PAUSES = "SELECT paused_by, DATE_FORMAT(since, '%Y-%m-%dT%H:%i:%sZ') FROM paraply.pause WHERE channel="
_NO_TABLE = frozenset({1049, 1146, *ACCESS_DENIED})
_EXISTS = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema='paraply' AND table_name='run'"


class MySqlStatusRow:
    """The status row of one channel; see ``StatusRowConnection`` for the contract.

    Args:
        connection: A connection for this purpose only, which stays out of the target's binlog.
        channel: Name of the channel.
        epoch: Epoch of this run.
    """

    def __init__(self, connection: Connection, channel: str, epoch: int) -> None:
        self._connection = connection
        self._channel = channel
        self._begin = (
            f"INSERT INTO paraply.run (channel, epoch, updated, status) VALUES ({text_literal(channel)}, {epoch}, UTC_TIMESTAMP(6), "
        )
        # The epoch is assigned last, because the other assignments compare with its old value.
        self._end = (
            ") ON DUPLICATE KEY UPDATE status=IF(epoch<=VALUES(epoch), VALUES(status), status),"
            " updated=IF(epoch<=VALUES(epoch), VALUES(updated), updated), epoch=GREATEST(epoch, VALUES(epoch))"
        )

    def publish(self, text: str) -> None:
        """Write the row, unless another run has taken over the channel."""
        try:
            self._connection.query(f"{self._begin}CONVERT({bytes_literal(text.encode())} USING utf8mb4){self._end}")
        except ParaplyError as error:
            raise explain(error) from None

    def paused(self) -> Pause | None:
        """Return the pause of the channel; None without one."""
        try:
            return read_pause(self._connection, self._channel)
        except ParaplyError as error:
            raise explain(error) from None

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(ParaplyError):
            self._connection.close()


def open_status_row(connect: Callable[[], Connection], channel: str, epoch: int) -> MySqlStatusRow | None:
    """Return the status row of a channel; None if the user may not create the table, or cannot keep the row out of the target's binlog.

    Raises:
        ParaplyError: The target cannot be reached now.
    """
    connection = connect()
    try:
        if _prepare(connection):
            return MySqlStatusRow(connection, channel, epoch)
    except ServerError:
        pass
    except ParaplyError:
        connection.close()
        raise
    connection.close()
    return None


def read_pause(connection: Connection, channel: str) -> Pause | None:
    """Return the pause of a channel; None without one, or if nobody has ever paused a channel of this target."""
    try:
        rows = rows_of(connection.query(f"{_PAUSES}{text_literal(channel)}"))
    except ServerError as error:
        if error.code in _NO_TABLE:
            return None
        raise
    return Pause(to_text(rows[0][0]), to_text(rows[0][1])) if rows else None


def stays_out_of_binlog(connection: Connection) -> bool:
    """Keep the session's changes out of the binlog; return False if the user may not."""
    try:
        connection.query("SET SESSION sql_log_bin=0")
    except ServerError:
        return not to_int(rows_of(connection.query("SELECT @@GLOBAL.log_bin"))[0][0])
    return True


def _prepare(connection: Connection) -> bool:
    """Prepare the session and the table; return False if the row would be logged."""
    if not stays_out_of_binlog(connection):
        return False
    connection.query("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
    connection.query("SET SESSION autocommit=1, innodb_lock_wait_timeout=1")
    if not to_int(rows_of(connection.query(_EXISTS))[0][0]):
        query_each(connection, ["CREATE DATABASE IF NOT EXISTS paraply", _TABLE])
    return True
