"""Queries to the source of a replication, before its log is requested."""

from __future__ import annotations

import uuid
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from paraply.errors import ConnectionFailed, ReceiveFailed, ServerError, TemporaryFailure, UsageError
from paraply.targets.mysql.ddl.session_defaults import is_time_zone
from paraply.targets.mysql.sql import settled
from paraply.targets.url import parse_url

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from paraply._native import GtidSet, MySqlConnection, ReplicaConnection
    from paraply.replication.protocol import SourceConnection
    from paraply.targets.url import DatabaseUrl

__all__ = ["HEARTBEAT_SECONDS", "SILENCE_SECONDS", "Source", "look", "parse_source", "problem_of", "query_source"]

HEARTBEAT_SECONDS = 1.0
"""Interval of the heartbeats of an idle source; a receiver that is to stop notices it then."""
SILENCE_SECONDS = 30.0
"""Seconds of silence after which a source counts as lost, by default."""
_SETTINGS = (
    "server_id", "server_uuid", "log_bin", "binlog_format", "binlog_storage_engine", "gtid_mode", "version", "lower_case_table_names",
)  # fmt: skip
_SEMI_SYNC = ("rpl_semi_sync_source_enabled", "rpl_semi_sync_master_enabled")
_LOWEST_ID = 1_000_000_000
_Connection = TypeVar("_Connection", "MySqlConnection", "ReplicaConnection")


@dataclass(frozen=True, slots=True)
class Source:
    """Properties of a source.

    Attributes:
        url: URL of the source.
        mariadb: True if it is a MariaDB.
        server_id: Its server id.
        server_uuid: Its UUID; empty on MariaDB.
        version: Its version.
        gtids: True if its transactions have GTIDs.
        timeout: Seconds of silence, without even a heartbeat, after which a connection to it is given up.
        lower_case_table_names: Its setting of that name.
    """

    url: DatabaseUrl
    mariadb: bool
    server_id: int
    server_uuid: str
    version: str
    gtids: bool
    timeout: float = SILENCE_SECONDS
    lower_case_table_names: int = 0

    def connect(self) -> ReplicaConnection:
        """Return a connection for a receiver.

        Raises:
            ConnectionFailed: The source cannot be reached, or refuses the login.
        """
        from paraply._native import ReplicaConnection

        return _connect(self.url, ReplicaConnection, self.timeout)

    def local_time(self, zone: str, seconds: int) -> str | None:
        """Return the local time in one of the source's time zones at a Unix time, as ``YYYY-MM-DD hh:mm:ss``; None if it does not tell.

        Raises:
            TemporaryFailure: The source cannot be reached now.
        """
        from paraply._native import MySqlConnection

        if not is_time_zone(zone):
            return None
        try:
            connection = _connect(self.url, MySqlConnection, self.timeout)
        except ConnectionFailed as error:
            raise TemporaryFailure(f"the source is needed for a time in its time zone {zone}: {error}") from error
        try:
            connection.query(f"SET SESSION time_zone='{zone}'")
            rows = connection.query(f"SELECT DATE_FORMAT(FROM_UNIXTIME({int(seconds)}), '%Y-%m-%d %H:%i:%s')")[0][1]
        except ConnectionFailed as error:
            raise TemporaryFailure(f"the source is needed for a time in its time zone {zone}: {error}") from error
        except ServerError:
            return None
        finally:
            connection.close()
        return _text(rows[0][0]) if rows else None

    def semi_sync_refusal(self) -> str | None:
        """Return the reason why the source, with its present settings, does not wait for acknowledgements; None if it does.

        Raises:
            ConnectionFailed: The source cannot be reached.
        """
        found = _variables(self.url, "LIKE 'rpl\\_semi\\_sync\\_%\\_enabled'", self.timeout)
        for name in _SEMI_SYNC:
            if (value := found.get(name)) is not None:
                return None if value.upper() in ("ON", "1") else f"{name} is {value.upper()} on the source"
        return "the source has no plugin for it: INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'"

    def prepare(self, connection: SourceConnection, folder: Path, received: GtidSet | None, *, semi_sync: bool = False) -> None:
        """Set the variables of a replica's session: heartbeats, checksums, the replica's identity, and on MariaDB the start.

        Args:
            connection: The receiver's connection.
            folder: Folder of the relay log, from which the replica's identity is derived.
            received: Transactions not to send; None for a start by file and position.
            semi_sync: True to let the source wait for this replica's acknowledgements.
        """
        nanoseconds = int(HEARTBEAT_SECONDS * 1e9)
        settings = [f"@source_heartbeat_period={nanoseconds}", f"@master_heartbeat_period={nanoseconds}"]
        settings += [f"@{name}_binlog_checksum=@@global.binlog_checksum" for name in ("source", "master")]
        if semi_sync:
            settings += ["@rpl_semi_sync_replica=1", "@rpl_semi_sync_slave=1"]
        if self.mariadb:
            settings.append("@mariadb_slave_capability=4")
            if received is not None:
                settings += [f"@slave_connect_state='{received}'", "@slave_gtid_strict_mode=0", "@slave_gtid_ignore_duplicates=0"]
        else:
            own = replica_uuid(folder)
            settings += [f"@replica_uuid='{own}'", f"@slave_uuid='{own}'"]
        connection.execute("SET " + ", ".join(settings))


def replica_uuid(folder: Path) -> str:
    """Return the UUID of the replica with this relay log: the same after a restart, so that the source ends its old connection."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{uuid.getnode()}:{folder.resolve()}"))


def replica_server_id(folder: Path) -> int:
    """Return a server id for the replica with this relay log, far from common ones."""
    return _LOWEST_ID + zlib.crc32(replica_uuid(folder).encode()) % _LOWEST_ID


def parse_source(text: str, *, defaults_file: str | None = None) -> DatabaseUrl:
    """Return the URL of a source: ``mysql://`` or ``mariadb://``, as for a target.

    Raises:
        UsageError: The text is not such a URL.

    >>> parse_source("postgresql://localhost")
    Traceback (most recent call last):
    ...
    paraply.errors.UsageError: --from takes a mysql:// or mariadb:// URL: a PostgreSQL has no binlog
    """
    if text.partition(":")[0].lower() in ("postgresql", "postgres"):
        raise UsageError("--from takes a mysql:// or mariadb:// URL: a PostgreSQL has no binlog")
    return parse_url(text, defaults_file=defaults_file)


def look(url: DatabaseUrl, timeout: float = SILENCE_SECONDS, *, any_format: bool = False) -> Source:
    """Query the properties of a source, and check that it can be replicated from.

    Args:
        url: URL of the source.
        timeout: Seconds of silence after which it counts as lost.
        any_format: True to accept a binlog that is not in row format: it is only copied.

    Raises:
        ConnectionFailed: The source cannot be reached.
        ReceiveFailed: The source writes no binlog, not in files of its own, or not in row format.
    """
    names = ", ".join(f"'{name}'" for name in _SETTINGS)
    found = _variables(url, f"WHERE Variable_name IN ({names})", timeout)
    mariadb = "mariadb" in found.get("version", "").lower()
    if (problem := problem_of(found, any_format=any_format)) is not None:
        raise ReceiveFailed(f"the source {url} {problem}")
    gtids = mariadb or found.get("gtid_mode", "OFF").upper() == "ON"
    folds = int(found.get("lower_case_table_names", "0"))
    return Source(url, mariadb, int(found["server_id"]), found.get("server_uuid", ""), found.get("version", ""), gtids, timeout, folds)


def problem_of(variables: Mapping[str, str], *, any_format: bool = False) -> str | None:
    """Return why a server with these variables cannot be replicated from, and what to do; None if it can.

    Args:
        variables: Its global variables.
        any_format: True to accept a binlog that is not in row format.

    >>> problem_of({"log_bin": "ON", "binlog_format": "MIXED"})
    'writes its binlog as binlog_format=MIXED: set it to ROW there, globally'
    """
    if variables.get("log_bin", "OFF").upper() in ("OFF", "0"):
        return "writes no binlog: start it with log_bin"
    if engine := variables.get("binlog_storage_engine"):
        return (
            f"keeps its binlog in a storage engine (binlog_storage_engine={engine}), without the positions in files that are followed:"
            " start it without binlog_storage_engine"
        )
    if (form := variables.get("binlog_format", "ROW").upper()) != "ROW" and not any_format:
        return f"writes its binlog as binlog_format={form}: set it to ROW there, globally"
    return None


def query_source(source: Source, statement: str) -> list[tuple[str, ...]]:
    """Return the rows of a statement, as text.

    Raises:
        ConnectionFailed: The source cannot be reached, or refuses the login.
        ServerError: It refuses the statement.
    """
    return _rows(source.url, statement, source.timeout)


def _variables(url: DatabaseUrl, which: str, timeout: float) -> dict[str, str]:
    """Return global variables of a source, by their names in lower case."""
    return {name.lower(): value for name, value in _rows(url, f"SHOW GLOBAL VARIABLES {which}", timeout)}


def _rows(url: DatabaseUrl, statement: str, timeout: float) -> list[tuple[str, ...]]:
    from paraply._native import MySqlConnection

    connection = _connect(url, MySqlConnection, timeout)
    try:
        rows = settled(connection).query(statement)[0][1]
    finally:
        connection.close()
    return [tuple(_text(value) for value in row) for row in rows]


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _connect(url: DatabaseUrl, kind: type[_Connection], timeout: float) -> _Connection:
    from paraply.targets.mysql.errors import connect_error

    url.check_tls_files()
    try:
        return kind(
            url.host,
            url.port,
            url.user,
            url.password,
            socket=url.socket,
            tls=url.tls_options(),
            connect_timeout=url.connect_timeout,
            read_timeout=timeout,
        )
    except (ServerError, ConnectionFailed) as error:
        raise connect_error(error, f"the source {url}", tls=url.tls != "disabled") from None
