"""A replication channel of a MySQL server, whose own applier commits in order what paraply sends it (``--via replication``)."""

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
from paraply.targets.retrying import steadily

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from paraply.targets.mysql.server_version import ServerKind

__all__ = ["ChannelFault", "ChannelWorker", "ReplicationChannel", "channel_name", "end_workers", "take_away", "workers_of"]

OLDEST = (8, 0, 27)
"""The first version that keeps no positions of a channel that goes by GTIDs only (``GTID_ONLY``)."""
_NO_TRANSACTION_STREAM = 1756
_GONE = frozenset({1049, 1051, 1146, 3074})
"""No such database, table, or channel."""
_HALF_MADE = 1872
"""The server cannot begin a channel whose making somebody killed midway; once it is removed, it can."""
_NAMED = re.compile(r"failed executing transaction '(?P<gtid>[^']+)'")
_PLACE = re.compile(r"^.*?end_log_pos \d+[;:]\s*", re.DOTALL)
_TRAIL = re.compile(r"; the event's (?:source|master) log .*$", re.DOTALL)
_PRIVILEGES = "REPLICATION_SLAVE_ADMIN, SYSTEM_VARIABLES_ADMIN, REPLICATION CLIENT and RELOAD on *.*, and SELECT on performance_schema.*"


def _quoted(text: str) -> str:
    """A literal where the server's grammar has no expression; the texts are paraply's own, or an address."""
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def _value(text: str) -> str:
    """A setting's value in a statement."""
    return text if text.isdigit() else _quoted(text)


def channel_name(channel: str) -> str:
    """The name of the replication channel for a channel of paraply's; the server's names do not tell upper from lower case.

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
    """Ends the replication channel that a killed run may have left: it would go on applying beside this one (R25a).

    Args:
        connection: One whose statements are not logged.
        channel: Paraply's channel.
    """
    _remove(connection, channel)
    with _unless_gone():
        _put_back(connection)


def _remove(connection: Connection, channel: str) -> None:
    """Removes the channel, if it is there, and what it received; transactions under way finish."""
    name = _quoted(channel_name(channel))
    try:
        found = rows_of(
            connection.query(f"SELECT 1 FROM performance_schema.replication_connection_configuration WHERE channel_name={name}")
        )
    except ServerError:  # older than channels, or a user that cannot have made one
        return
    if found:
        for statement in ("STOP REPLICA", "RESET REPLICA ALL"):
            with _unless_gone():
                connection.query(f"{statement} FOR CHANNEL {name}")


@contextlib.contextmanager
def _unless_gone() -> Iterator[None]:
    """What is to be taken away may be gone: the run that made it ends at the same time. Who may not see it has not made it."""
    try:
        yield
    except ServerError as error:
        if error.code not in (*_GONE, *ACCESS_DENIED):
            raise


def _change(connection: Connection, settings: Mapping[str, str]) -> None:
    """Changes global settings; what they were before stands in ``paraply.setting`` until they are put back, also by a later run."""
    connection.query(
        "CREATE TABLE IF NOT EXISTS paraply.setting (name VARCHAR(64) NOT NULL PRIMARY KEY, value VARCHAR(64) NOT NULL)"
        " ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COMMENT='global settings as they were before --via replication'"
    )
    for name, value in settings.items():
        connection.query(f"INSERT IGNORE INTO paraply.setting SELECT {_quoted(name)}, @@GLOBAL.{name}")
        connection.query(f"SET GLOBAL {name}={_value(value)}")


def _put_back(connection: Connection) -> None:
    """Puts back what ``_change`` has changed."""
    for name, value in rows_of(connection.query("SELECT name, value FROM paraply.setting")):
        connection.query(f"SET GLOBAL {to_text(name)}={_value(to_text(value))}")
    connection.query("DELETE FROM paraply.setting")


@dataclass(frozen=True, slots=True)
class ChannelFault:
    """Why a channel has stopped.

    Attributes:
        error: What the server says.
        gtid: The transaction concerned, where it says that.
        receiving: Whether it is about receiving.
    """

    error: ServerError
    gtid: str | None = None
    receiving: bool = False


@dataclass(frozen=True, slots=True)
class ChannelWorker:
    """One worker of the server's applier.

    Attributes:
        connection_id: Its number among the server's connections; 0 if it does not run.
        applying: GTID of the transaction that it works on; empty for none.
        retries: Retries of that.
        last: GTID of the last one that it applied.
    """

    connection_id: int
    applying: str
    retries: int
    last: str


class ReplicationChannel:
    """Makes, watches and removes the channel, on a connection of its own.

    Args:
        connection: Used by nobody else.
        server: Its version.
        channel: Paraply's channel.
        workers: How many workers the server's applier is to have.

    Raises:
        UsageError: The server cannot do it; says why.
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
        """Has the server read from there, and apply; anything of an earlier channel is gone then.

        Raises:
            UsageError: The user may not.
            ParaplyError: The server's reason.
        """
        try:
            steadily(lambda: self._make(host, port, user, password), ServerError, lambda error: getattr(error, "code", 0) == _HALF_MADE)
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
        """Whether the channel goes on as it stands; its receiver is started if only that has stopped.

        Stopping the whole of it while what it received ends within a transaction takes the server a minute: so long it waits for the rest.
        A server that was killed and started again has the channel, but not the settings.
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
        """What is committed."""
        rows = rows_of(self._connection.query("SELECT @@GLOBAL.gtid_executed"))
        return GtidSet(to_text(rows[0][0]).replace("\n", ""))

    def wait_for(self, gtid: str, seconds: float) -> None:
        """Waits until this transaction is committed, but no longer than that."""
        self._connection.query(f"SELECT WAIT_FOR_EXECUTED_GTID_SET({_quoted(gtid)}, {seconds:.3f})")

    def fault(self) -> ChannelFault | None:
        """Why the channel does not go on; None if it does."""
        names, rows, _ = self._connection.query(f"SHOW REPLICA STATUS{self._for}")[0]
        if not rows:
            return ChannelFault(ServerError("the replication channel is gone: somebody has reset it", 3074))
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
        """Lets transactions under way finish, removes the channel and what it received, and puts the settings back."""
        self._connection.query("SET SESSION sql_log_bin=0")
        take_away(self._connection, self._channel)

    def close(self) -> None:
        """Closes the connection."""
        with contextlib.suppress(ParaplyError):
            self._connection.close()

    def _applying_fault(self, status: dict[str, str]) -> ChannelFault:
        """The first worker's error, which the coordinator's own message only points to."""
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
        """Refuses a server whose applier would leave something out."""
        for table in ("replication_applier_filters", "replication_applier_global_filters"):
            of_channel = f" AND channel_name={self._name}" if table == "replication_applier_filters" else ""
            if rows_of(self._connection.query(f"SELECT 1 FROM performance_schema.{table} WHERE filter_rule<>''{of_channel} LIMIT 1")):
                raise UsageError(
                    "--via replication: the target's server has replication filters, which would leave rows out: use --via sessions"
                )
        ((skipped,),) = rows_of(self._connection.query("SELECT @@GLOBAL.replica_skip_errors"))
        if to_text(skipped).upper() != "OFF":
            raise UsageError(
                "--via replication: the target's server passes over errors of replication (replica_skip_errors), so that rows may be"
                " missing unseen: use --via sessions"
            )

    def _denied(self, error: ServerError) -> ParaplyError:
        if error.code not in ACCESS_DENIED:
            return explain(error)
        return UsageError(
            f"--via replication needs more privileges: GRANT {_PRIVILEGES} to {account(self._connection)}, or use --via sessions"
            f" ({error.message})"
        )


def workers_of(connection: Connection, channel: str) -> list[ChannelWorker]:
    """What the workers of the channel's applier do; empty where the user may not see it."""
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
    """Rolls back what workers of the applier have under way; their channel stops.

    Args:
        connection: Any other one.
        connection_ids: Theirs; a server that stops a channel does not tell them any more.
    """
    for number in connection_ids:
        with contextlib.suppress(ServerError):
            connection.query(f"KILL {number}")


def _plain(message: str) -> str:
    """A worker's message without what it says of places in a log that is not the user's.

    >>> _plain("Worker 1 failed executing transaction 'u:3' at source log paraply.000001, end_log_pos 612; Could not execute Update_rows "
    ...     "event on table shop.item; Can't find record in 'item', Error_code: 1032; the event's source log FIRST, end_log_pos 612")
    "Could not execute Update_rows event on table shop.item; Can't find record in 'item', Error_code: 1032"
    """
    return _TRAIL.sub("", _PLACE.sub("", message))
