"""A replication connection of a MariaDB server, whose own applier commits paraply's transactions in order (``--via replication``)."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from paraply._native import GtidSet
from paraply.errors import ParaplyError, ServerError, UsageError
from paraply.runtime import runtime
from paraply.targets.mysql.errors import explain
from paraply.targets.mysql.gtid_mode import ACCESS_DENIED
from paraply.targets.mysql.gtid_position import held_by_replication
from paraply.targets.mysql.preflight.privileges import account
from paraply.targets.mysql.replication.common import (
    ChannelFault,
    ChannelWorker,
    change_settings,
    channel_name,
    check_maker,
    end_channel,
    plain_message,
    quoted,
    restore_settings,
    settings_are_changed,
    unless_gone,
)
from paraply.targets.mysql.sql import Connection, rows_of, to_int, to_text

if TYPE_CHECKING:
    from paraply.targets.mysql.server_version import ServerKind

__all__ = ["PRIVILEGES", "MariaDbChannel", "remove", "workers_of"]

PRIVILEGES = "REPLICATION SLAVE ADMIN, SLAVE MONITOR and RELOAD on *.*"
_PRECEDING_FAILED = frozenset({1964})
"""Error number of a worker that ended because an earlier transaction failed."""
_CONNECTING_SECONDS = 10.0
"""Time after which a receiver that cannot connect counts as stopped: the server itself tries for a day."""
_FILE_SYNC = "sync_master_info"
_IDLE = ("Waiting for work from SQL thread", "Waiting for work from main SQL threads", "")


def _statuses(connection: Connection) -> list[dict[str, str]]:
    """Return the status of each replication connection of the server."""
    names, rows, _ = connection.query("SHOW ALL SLAVES STATUS")[0]
    return [{name: to_text(value) for name, value in zip(names, row, strict=True)} for row in rows]


def remove(connection: Connection, channel: str) -> None:
    """Remove the replication connection and its relay log, if it exists; running transactions finish.

    Raises:
        UsageError: Somebody else made a connection of this name; or an earlier run may have left it, and the user may not see it.
    """
    name = channel_name(channel)
    with unless_gone():
        for status in _statuses(connection):
            if status["Connection_name"].lower() == name:
                check_maker(name, status["Master_User"])
    try:
        # A server that lost the connection's file runs a connection that its status does not show.
        with unless_gone(denied=False):
            connection.query(f"STOP SLAVE {quoted(name)}")
    except ServerError as error:
        if error.code not in ACCESS_DENIED:
            raise
        if settings_are_changed(connection):
            raise UsageError(
                f"an earlier apply --via replication was killed, and its replication connection {name} may still apply: GRANT {PRIVILEGES}"
                f" to {account(connection)}, or run STOP SLAVE '{name}' and RESET SLAVE '{name}' ALL, and then DELETE FROM paraply.setting"
            ) from None
        return
    with unless_gone():
        connection.query(f"RESET SLAVE {quoted(name)} ALL")


def workers_of(connection: Connection, channel: str) -> list[ChannelWorker]:  # noqa: ARG001 - the pool is the server's
    """Return the state of each worker of the server's pool; empty if the user cannot see it. The server does not show their GTIDs."""
    sql = "SELECT id, COALESCE(state, '') FROM information_schema.processlist WHERE command='Slave_worker' ORDER BY id"
    try:
        rows = rows_of(connection.query(sql))
    except ServerError:
        return []
    return [ChannelWorker(to_int(number), "", 0, "", busy=to_text(state) not in _IDLE) for number, state in rows]


class MariaDbChannel:
    """A replication connection that paraply creates, monitors and removes, on a connection of its own.

    Args:
        connection: Connection that nothing else uses.
        server: Family and version of the server.
        channel: Paraply's channel.
        workers: Number of workers of the server's applier.
    """

    def __init__(self, connection: Connection, server: ServerKind, channel: str, workers: int) -> None:  # noqa: ARG002
        self._connection = connection
        self._channel = channel
        self._name = channel_name(channel)
        self._settings = {
            "slave_parallel_threads": str(workers),
            "slave_domain_parallel_threads": "0",
            "slave_exec_mode": "STRICT",
            # By default the server's applier makes CREATE TABLE to CREATE OR REPLACE TABLE, and ignores that a dropped one is missing.
            "slave_ddl_exec_mode": "STRICT",
            "slave_run_triggers_for_rbr": "NO",
            "slave_type_conversions": "",
        }
        self._connecting_since: float | None = None

    def remove(self) -> None:
        """Remove the connection and its relay log, after running transactions have finished."""
        remove(self._connection, self._channel)

    def begin(self, host: str, port: int, user: str, password: str) -> None:
        """Create the connection with this source and start it; remove an earlier one of that name first.

        Raises:
            UsageError: The user lacks a privilege.
            ParaplyError: The server refused it.
        """
        try:
            self._make(host, port, user, password)
        except ServerError as error:
            with contextlib.suppress(ParaplyError):
                self.end()
            raise self._denied(error) from None

    def _make(self, host: str, port: int, user: str, password: str) -> None:
        query, name = self._connection.query, quoted(self._name)
        query("SET SESSION sql_log_bin=0")
        remove(self._connection, self._channel)
        # A MariaDB does not start with the file of a named connection that is empty, so it is written through to the disk.
        change_settings(self._connection, {**self._settings, _FILE_SYNC: "1"})
        query(
            f"CHANGE MASTER {name} TO MASTER_HOST={quoted(host)}, MASTER_PORT={port}, MASTER_USER={quoted(user)},"
            f" MASTER_PASSWORD={quoted(password)}, MASTER_USE_GTID=slave_pos, MASTER_SSL=0, MASTER_SSL_VERIFY_SERVER_CERT=0,"
            " MASTER_CONNECT_RETRY=1, MASTER_HEARTBEAT_PERIOD=5"
        )
        restore_settings(self._connection, _FILE_SYNC)
        query(f"SET SESSION default_master_connection={name}")
        query("SET GLOBAL slave_parallel_mode='optimistic'")
        query(f"START SLAVE {name}")
        self._connecting_since = None

    def go_on(self) -> bool:
        """Return True if the connection can continue without being created again.

        A server that was killed and restarted still has the connection, but not the settings. A receiver that has stopped never goes on:
        paraply sends the transactions of one creation once.
        """
        values = rows_of(self._connection.query("SELECT " + ", ".join(f"@@GLOBAL.{name}" for name in self._settings)))[0]
        return [to_text(value) for value in values] == list(self._settings.values()) and self.fault() is None

    def executed(self) -> GtidSet:
        """Return the position of the server's applier: the last committed transaction of each domain."""
        return GtidSet(to_text(rows_of(self._connection.query("SELECT @@GLOBAL.gtid_slave_pos"))[0][0]))

    def held(self) -> GtidSet:
        """Return the GTIDs that the server holds by its own account; only while the connection does not exist."""
        return GtidSet(held_by_replication(self._connection))

    def wait_for(self, gtid: str, seconds: float) -> None:
        """Wait until this transaction is committed, or the time is over."""
        self._connection.query(f"SELECT MASTER_GTID_WAIT({quoted(gtid)}, {seconds:.3f})")

    def fault(self) -> ChannelFault | None:
        """Return the reason why the connection has stopped, or None if it runs."""
        statuses = {status["Connection_name"].lower(): status for status in _statuses(self._connection)}
        status = statuses.pop(self._name, None)
        if status is None:
            return ChannelFault(ServerError("the replication connection does not exist any more: somebody has reset it", 1617))
        others = [name for name, other in statuses.items() if other["Slave_SQL_Running"] != "No"]
        if others:
            name = others[0] or "without a name"
            return ChannelFault(ServerError(f"somebody has started the replication connection {name} beside that of this apply", 1198))
        if status["Slave_SQL_Running"] == "No":
            number = to_int(status["Last_SQL_Errno"])
            message = status["Last_SQL_Error"] or "the replication connection's applier was stopped by somebody else"
            return ChannelFault(ServerError(plain_message(message), number or 1872))
        if status["Slave_IO_Running"] == "No" or self._cannot_connect(status):
            number = to_int(status["Last_IO_Errno"])
            message = status["Last_IO_Error"] or "the replication connection's receiver was stopped by somebody else"
            return ChannelFault(ServerError(message, number or 1872), receiving=True)
        return None

    def end(self) -> None:
        """Remove the connection and its relay log, after running transactions have finished, and restore the settings."""
        end_channel(self._connection, self._channel, remove)

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(ParaplyError):
            self._connection.close()

    def _cannot_connect(self, status: dict[str, str]) -> bool:
        if status["Slave_IO_Running"] != "Connecting" or not to_int(status["Last_IO_Errno"]):
            self._connecting_since = None
            return False
        now = runtime.monotonic()
        self._connecting_since = self._connecting_since or now
        return now - self._connecting_since > _CONNECTING_SECONDS

    def _denied(self, error: ServerError) -> ParaplyError:
        if error.code not in ACCESS_DENIED:
            return explain(error)
        return UsageError(
            f"--via replication needs more privileges: GRANT {PRIVILEGES} to {account(self._connection)}, or use --via sessions"
            f" ({error.message})"
        )
