"""A run's status as a row in a MySQL or MariaDB target."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from paraply.errors import ParaplyError, ServerError
from paraply.targets.mysql.errors import explain
from paraply.targets.mysql.sql import Connection, bytes_literal, rows_of, text_literal, to_int

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["MySqlBoard", "open_board"]

_TABLE = """CREATE TABLE IF NOT EXISTS paraply.run (
  channel VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY COMMENT 'name of the channel',
  epoch BIGINT UNSIGNED NOT NULL COMMENT 'the epoch of the run that wrote this',
  updated DATETIME(6) NOT NULL COMMENT 'when, in UTC',
  status LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL COMMENT 'counters of that run, as JSON'
) ENGINE=InnoDB"""
_EXISTS = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema='paraply' AND table_name='run'"


class MySqlBoard:
    """Writes one channel's row; see ``StatusRow`` for the contract.

    Args:
        connection: A connection of its own, which stays out of the target's binlog.
        channel: Name of the channel.
        epoch: Ours.
    """

    def __init__(self, connection: Connection, channel: str, epoch: int) -> None:
        self._connection = connection
        self._begin = (
            f"INSERT INTO paraply.run (channel, epoch, updated, status) VALUES ({text_literal(channel)}, {epoch}, UTC_TIMESTAMP(6), "
        )
        # The epoch comes last: the other columns are compared with the old one.
        self._end = (
            ") ON DUPLICATE KEY UPDATE status=IF(epoch<=VALUES(epoch), VALUES(status), status),"
            " updated=IF(epoch<=VALUES(epoch), VALUES(updated), updated), epoch=GREATEST(epoch, VALUES(epoch))"
        )

    def publish(self, text: str) -> None:
        """Writes the row, unless another run has taken the channel over."""
        try:
            self._connection.query(f"{self._begin}CONVERT({bytes_literal(text.encode())} USING utf8mb4){self._end}")
        except ParaplyError as error:
            raise explain(error) from None

    def close(self) -> None:
        """Closes the connection."""
        with contextlib.suppress(ParaplyError):
            self._connection.close()


def open_board(connect: Callable[[], Connection], channel: str, epoch: int) -> MySqlBoard | None:
    """The row of a channel; None where the user may not make the table, or could not keep the row out of the target's binlog.

    Raises:
        ParaplyError: The target cannot be reached now.
    """
    connection = connect()
    try:
        if _prepare(connection):
            return MySqlBoard(connection, channel, epoch)
    except ServerError:
        pass
    except ParaplyError:
        connection.close()
        raise
    connection.close()
    return None


def _prepare(connection: Connection) -> bool:
    """Settles the session; false where the row would be logged."""
    try:
        connection.query("SET SESSION sql_log_bin=0")
    except ServerError:
        if to_int(rows_of(connection.query("SELECT @@GLOBAL.log_bin"))[0][0]):
            return False
    connection.query("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
    connection.query("SET SESSION autocommit=1, innodb_lock_wait_timeout=1")
    if not to_int(rows_of(connection.query(_EXISTS))[0][0]):
        connection.query(_TABLE)
    return True
