"""A replication channel on a MySQL server, whose own applier commits paraply's transactions in order (``--via replication``)."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING

from paraply._native import GtidSet
from paraply.errors import ParaplyError, ServerError, UsageError
from paraply.targets.mysql.errors import explain
from paraply.targets.mysql.gtid_mode import ACCESS_DENIED
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
    unless_gone,
)
from paraply.targets.mysql.sql import Connection, rows_of, to_int, to_text
from paraply.targets.retrying import with_retries

if TYPE_CHECKING:
    from paraply.targets.mysql.server_version import ServerKind

__all__ = ["MySqlChannel", "remove", "workers_of"]

OLDEST = (8, 0, 27)
"""The first version whose channels can use GTIDs without file positions (``GTID_ONLY``)."""
_NO_TRANSACTION_STREAM = 1756
_HALF_MADE = 1872
"""Error number for starting a channel whose creation was killed midway. It disappears once the channel is removed."""
_NAMED = re.compile(r"failed executing transaction '(?P<gtid>[^']+)'")
_PRIVILEGES = "REPLICATION_SLAVE_ADMIN, SYSTEM_VARIABLES_ADMIN, REPLICATION CLIENT and RELOAD on *.*, and SELECT on performance_schema.*"


def remove(connection: Connection, channel: str) -> None:
    """Remove the channel and its relay log, if it exists; running transactions finish.

    Raises:
        UsageError: Somebody else made a channel of this name.
    """
    name = quoted(channel_name(channel))
    try:
        found = rows_of(
            connection.query(f"SELECT user FROM performance_schema.replication_connection_configuration WHERE channel_name={name}")
        )
    except ServerError:  # a server without channels, or a user that cannot have created one
        return
    if found:
        check_maker(channel_name(channel), to_text(found[0][0]))
        for statement in ("STOP REPLICA", "RESET REPLICA ALL"):
            with unless_gone():
                connection.query(f"{statement} FOR CHANNEL {name}")


class MySqlChannel:
    """A replication channel that paraply creates, monitors and removes, on a connection of its own.

    Args:
        connection: Connection that nothing else uses.
        server: Family and version of the server.
        channel: Paraply's channel.
        workers: Number of workers of the server's applier.

    Raises:
        UsageError: The server does not support it; the message gives the reason.
    """

    def __init__(self, connection: Connection, server: ServerKind, channel: str, workers: int) -> None:
        self._connection = connection
        self._channel = channel
        self._name = quoted(channel_name(channel))
        self._for = f" FOR CHANNEL {self._name}"
        self._settings = {
            "replica_parallel_workers": str(workers),
            "replica_preserve_commit_order": "1",
            "replica_exec_mode": "STRICT",
        }
        if server.version < OLDEST:
            oldest, version = (".".join(map(str, numbers)) for numbers in (OLDEST, server.version))
            raise UsageError(f"--via replication needs a target of MySQL {oldest} or later, or a MariaDB, and this is MySQL {version}")
        try:
            self._check()
        except ServerError as error:
            raise self._denied(error) from None

    def remove(self) -> None:
        """Remove the channel and its relay log, after running transactions have finished."""
        remove(self._connection, self._channel)

    def begin(self, host: str, port: int, user: str, password: str) -> None:
        """Create the channel with this source and start it; remove an earlier channel of that name first.

        Raises:
            UsageError: The user lacks a privilege.
            ParaplyError: The server refused it.
        """
        try:
            with_retries(lambda: self._make(host, port, user, password), ServerError, lambda error: getattr(error, "code", 0) == _HALF_MADE)
        except ServerError as error:
            with contextlib.suppress(ParaplyError):
                self.end()
            raise self._denied(error) from None

    def _make(self, host: str, port: int, user: str, password: str) -> None:
        query = self._connection.query
        remove(self._connection, self._channel)
        query("SET SESSION sql_log_bin=0")
        change_settings(self._connection, self._settings)
        query(
            f"CHANGE REPLICATION SOURCE TO SOURCE_HOST={quoted(host)}, SOURCE_PORT={port}, SOURCE_USER={quoted(user)},"
            f" SOURCE_PASSWORD={quoted(password)}, SOURCE_AUTO_POSITION=1, SOURCE_SSL=0, SOURCE_CONNECT_RETRY=1,"
            f" SOURCE_RETRY_COUNT=10, SOURCE_HEARTBEAT_PERIOD=5, REQUIRE_ROW_FORMAT=1, GTID_ONLY=1{self._for}"
        )
        query(f"START REPLICA{self._for}")

    def go_on(self) -> bool:
        """Return True if the channel can continue without being created again; restart its receiver if only that has stopped.

        Stopping the whole channel while its relay log ends within a transaction takes a minute: the server waits that long for the rest. A
        server that was killed and restarted still has the channel, but not the settings.
        """
        values = rows_of(self._connection.query("SELECT " + ", ".join(f"@@GLOBAL.{name}" for name in self._settings)))[0]
        if [to_text(value) for value in values] != list(self._settings.values()):
            return False
        fault = self.fault()
        if fault is not None and fault.receiving:
            with contextlib.suppress(ServerError):
                self._connection.query(f"START REPLICA IO_THREAD{self._for}")
                return True
        return fault is None

    def executed(self) -> GtidSet:
        """Return the GTIDs that are committed."""
        rows = rows_of(self._connection.query("SELECT @@GLOBAL.gtid_executed"))
        return GtidSet(to_text(rows[0][0]).replace("\n", ""))

    def held(self) -> GtidSet:
        """Return the GTIDs that the server holds."""
        return self.executed()

    def wait_for(self, gtid: str, seconds: float) -> None:
        """Wait until this transaction is committed, or the time is over."""
        self._connection.query(f"SELECT WAIT_FOR_EXECUTED_GTID_SET({quoted(gtid)}, {seconds:.3f})")

    def fault(self) -> ChannelFault | None:
        """Return the reason why the channel has stopped, or None if it runs."""
        names, rows, _ = self._connection.query(f"SHOW REPLICA STATUS{self._for}")[0]
        if not rows:
            return ChannelFault(ServerError("the replication channel does not exist any more: somebody has reset it", 3074))
        status = {name: to_text(value) for name, value in zip(names, rows[0], strict=True)}
        if to_int(status["Last_SQL_Errno"]) and status["Replica_SQL_Running"] != "Yes":
            return self._applying_fault(status)
        if status["Replica_SQL_Running"] == "No":
            return ChannelFault(ServerError("the replication channel's applier was stopped by somebody else", 1872))
        if status["Replica_IO_Running"] == "No":
            number = to_int(status["Last_IO_Errno"])
            message = status["Last_IO_Error"] or "the replication channel's receiver was stopped by somebody else"
            return ChannelFault(ServerError(message, number or 1872), receiving=True)
        return None

    def end(self) -> None:
        """Remove the channel and its relay log, after running transactions have finished, and restore the settings."""
        end_channel(self._connection, self._channel, remove)

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(ParaplyError):
            self._connection.close()

    def _applying_fault(self, status: dict[str, str]) -> ChannelFault:
        """Return the error of the first failed worker; the coordinator's own message only refers to it."""
        rows = rows_of(
            self._connection.query(
                "SELECT last_error_number, last_error_message FROM performance_schema.replication_applier_status_by_worker"
                f" WHERE channel_name={self._name} AND last_error_number NOT IN (0, {_NO_TRANSACTION_STREAM})"
                " ORDER BY last_error_timestamp"
            )
        )
        found = [(to_int(number), to_text(message)) for number, message in rows]
        number, message = found[0] if found else (to_int(status["Last_SQL_Errno"]), status["Last_SQL_Error"])
        named = _NAMED.search(message)
        return ChannelFault(ServerError(plain_message(message), number), named["gtid"].lower() if named is not None else None)

    def _check(self) -> None:
        """Refuse a server whose applier would skip rows or errors."""
        for table in ("replication_applier_filters", "replication_applier_global_filters"):
            of_channel = f" AND channel_name={self._name}" if table == "replication_applier_filters" else ""
            if rows_of(self._connection.query(f"SELECT 1 FROM performance_schema.{table} WHERE filter_rule<>''{of_channel} LIMIT 1")):
                raise UsageError(
                    "--via replication: the target's server has replication filters, which would leave rows out: use --via sessions"
                )
        ((skipped,),) = rows_of(self._connection.query("SELECT @@GLOBAL.replica_skip_errors"))
        if to_text(skipped).upper() != "OFF":
            raise UsageError(
                "--via replication: the target's server skips errors of replication (replica_skip_errors), so that rows could be"
                " missing without an error: use --via sessions"
            )

    def _denied(self, error: ServerError) -> ParaplyError:
        if error.code not in ACCESS_DENIED:
            return explain(error)
        return UsageError(
            f"--via replication needs more privileges: GRANT {_PRIVILEGES} to {account(self._connection)}, or use --via sessions"
            f" ({error.message})"
        )


def workers_of(connection: Connection, channel: str) -> list[ChannelWorker]:
    """Return the state of each worker of the channel's applier; empty if the user cannot see it."""
    sql = (
        "SELECT COALESCE(threads.processlist_id, 0), applying_transaction, applying_transaction_retries_count, last_applied_transaction"
        " FROM performance_schema.replication_applier_status_by_worker LEFT JOIN performance_schema.threads USING (thread_id)"
        f" WHERE channel_name={quoted(channel_name(channel))} ORDER BY worker_id"
    )
    try:
        rows = rows_of(connection.query(sql))
    except ServerError:
        return []
    return [ChannelWorker(to_int(number), to_text(now), to_int(tries or 0), to_text(last), bool(now)) for number, now, tries, last in rows]
