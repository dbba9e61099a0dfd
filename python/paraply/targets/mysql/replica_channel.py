"""A replication channel on a MySQL server, whose own applier commits paraply's transactions in order (``--via replication``)."""

from __future__ import annotations

import contextlib
import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paraply._native import GtidSet
from paraply.errors import ParaplyError, ServerError, UsageError
from paraply.targets.mysql.errors import explain
from paraply.targets.mysql.gtid_mode import ACCESS_DENIED
from paraply.targets.mysql.preflight.privileges import account
from paraply.targets.mysql.sql import Connection, rows_of, to_int, to_text
from paraply.targets.retrying import with_retries

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from paraply.targets.mysql.server_version import ServerKind

__all__ = ["ChannelFault", "ChannelWorker", "ReplicationChannel", "channel_name", "end_workers", "take_away", "workers_of"]

OLDEST = (8, 0, 27)
"""The first version whose channels can use GTIDs without file positions (``GTID_ONLY``)."""
_NO_TRANSACTION_STREAM = 1756
_GONE = frozenset({1049, 1051, 1146, 3074})
"""Error numbers for a missing database, table or channel."""
_HALF_MADE = 1872
"""Error number for starting a channel whose creation was killed midway. It disappears once the channel is removed."""
_NAMED = re.compile(r"failed executing transaction '(?P<gtid>[^']+)'")
_PLACE = re.compile(r"^.*?end_log_pos \d+[;:]\s*", re.DOTALL)
_TRAIL = re.compile(r"; the event's (?:source|master) log .*$", re.DOTALL)
_PRIVILEGES = "REPLICATION_SLAVE_ADMIN, SYSTEM_VARIABLES_ADMIN, REPLICATION CLIENT and RELOAD on *.*, and SELECT on performance_schema.*"


def _quoted(text: str) -> str:
    """Return a string literal, for clauses that take no expression. The texts are paraply's own, or an address."""
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def _value(text: str) -> str:
    """Return the value of a setting as SQL."""
    return text if text.isdigit() else _quoted(text)


def channel_name(channel: str) -> str:
    """Return the name of the replication channel for a channel of paraply. The server compares channel names without case.

    >>> channel_name("default"), channel_name("nightly")
    ('paraply', 'paraply_nightly')
    >>> channel_name("Nightly")
    'paraply_xab6b5a4d586b'
    """
    if channel == "default":
        return "paraply"
    if re.fullmatch(r"[a-wyz0-9][a-z0-9_.-]{0,50}", channel):
        return f"paraply_{channel}"
    return f"paraply_x{hashlib.sha256(channel.encode()).hexdigest()[:12]}"


def take_away(connection: Connection, channel: str) -> None:
    """Remove the replication channel that a killed run may have left: it would continue to apply beside this run (R25a).

    Args:
        connection: A connection with ``sql_log_bin`` off.
        channel: Paraply's channel.
    """
    _remove(connection, channel)
    with _unless_gone():
        _put_back(connection)


def _remove(connection: Connection, channel: str) -> None:
    """Remove the channel and its relay log, if it exists; running transactions finish."""
    name = _quoted(channel_name(channel))
    try:
        found = rows_of(
            connection.query(f"SELECT 1 FROM performance_schema.replication_connection_configuration WHERE channel_name={name}")
        )
    except ServerError:  # a server without channels, or a user that cannot have created one
        return
    if found:
        for statement in ("STOP REPLICA", "RESET REPLICA ALL"):
            with _unless_gone():
                connection.query(f"{statement} FOR CHANNEL {name}")


@contextlib.contextmanager
def _unless_gone() -> Iterator[None]:
    """Ignore errors about a missing object or privilege.

    The run that created the object may be removing it at the same time; a user without the privilege cannot have created it.
    """
    try:
        yield
    except ServerError as error:
        if error.code not in (*_GONE, *ACCESS_DENIED):
            raise


def _change(connection: Connection, settings: Mapping[str, str]) -> None:
    """Change global settings. Their old values are stored in ``paraply.setting`` until they are restored, possibly by a later run."""
    connection.query(
        "CREATE TABLE IF NOT EXISTS paraply.setting (name VARCHAR(64) NOT NULL PRIMARY KEY, value VARCHAR(64) NOT NULL)"
        " ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COMMENT='global settings as they were before --via replication'"
    )
    for name, value in settings.items():
        connection.query(f"INSERT IGNORE INTO paraply.setting SELECT {_quoted(name)}, @@GLOBAL.{name}")
        connection.query(f"SET GLOBAL {name}={_value(value)}")


def _put_back(connection: Connection) -> None:
    """Restore the settings that ``_change`` changed."""
    for name, value in rows_of(connection.query("SELECT name, value FROM paraply.setting")):
        connection.query(f"SET GLOBAL {to_text(name)}={_value(to_text(value))}")
    connection.query("DELETE FROM paraply.setting")


@dataclass(frozen=True, slots=True)
class ChannelFault:
    """The reason why a channel has stopped.

    Attributes:
        error: Error that the server reports.
        gtid: Failed transaction, if the server reports it.
        receiving: Whether the receiver has stopped, and not the applier.
    """

    error: ServerError
    gtid: str | None = None
    receiving: bool = False


@dataclass(frozen=True, slots=True)
class ChannelWorker:
    """One worker of the server's applier.

    Attributes:
        connection_id: Connection number on the server; 0 if the worker does not run.
        applying: GTID of the current transaction; empty for none.
        retries: Retries of the current transaction.
        last: GTID of the last applied transaction.
    """

    connection_id: int
    applying: str
    retries: int
    last: str


class ReplicationChannel:
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
        self._name = _quoted(channel_name(channel))
        self._for = f" FOR CHANNEL {self._name}"
        self._settings = {
            "replica_parallel_workers": str(workers),
            "replica_preserve_commit_order": "1",
            "replica_exec_mode": "STRICT",
        }
        if server.mariadb or server.version < OLDEST:
            version = ".".join(map(str, server.version))
            kind = "MariaDB" if server.mariadb else f"MySQL {version}"
            raise UsageError(f"--via replication needs a target of MySQL {'.'.join(map(str, OLDEST))} or later, and this is {kind}")
        try:
            self._check()
        except ServerError as error:
            raise self._denied(error) from None

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
        _remove(self._connection, self._channel)
        query("SET SESSION sql_log_bin=0")
        _change(self._connection, self._settings)
        query(
            f"CHANGE REPLICATION SOURCE TO SOURCE_HOST={_quoted(host)}, SOURCE_PORT={port}, SOURCE_USER={_quoted(user)},"
            f" SOURCE_PASSWORD={_quoted(password)}, SOURCE_AUTO_POSITION=1, SOURCE_SSL=0, SOURCE_CONNECT_RETRY=1,"
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

    def wait_for(self, gtid: str, seconds: float) -> None:
        """Wait until this transaction is committed, or the time is over."""
        self._connection.query(f"SELECT WAIT_FOR_EXECUTED_GTID_SET({_quoted(gtid)}, {seconds:.3f})")

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
        self._connection.query("SET SESSION sql_log_bin=0")
        take_away(self._connection, self._channel)

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
        return ChannelFault(ServerError(_plain(message), number), named["gtid"].lower() if named is not None else None)

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
        f" WHERE channel_name={_quoted(channel_name(channel))} ORDER BY worker_id"
    )
    try:
        rows = rows_of(connection.query(sql))
    except ServerError:
        return []
    return [ChannelWorker(to_int(number), to_text(now), to_int(retries or 0), to_text(last)) for number, now, retries, last in rows]


def end_workers(connection: Connection, connection_ids: Sequence[int]) -> None:
    """Kill workers of the applier, which rolls back their transactions and stops the channel.

    Args:
        connection: Another connection to the server.
        connection_ids: Connection numbers of the workers, read earlier: a server that is stopping a channel does not show them any more.
    """
    for number in connection_ids:
        with contextlib.suppress(ServerError):
            connection.query(f"KILL {number}")


def _plain(message: str) -> str:
    """Return a worker's message without its positions in a log that is not the user's.

    >>> _plain("Worker 1 failed executing transaction 'u:3' at source log paraply.000001, end_log_pos 612; Could not execute Update_rows "
    ...     "event on table shop.item; Can't find record in 'item', Error_code: 1032; the event's source log FIRST, end_log_pos 612")
    "Could not execute Update_rows event on table shop.item; Can't find record in 'item', Error_code: 1032"
    """
    return _TRAIL.sub("", _PLACE.sub("", message))
