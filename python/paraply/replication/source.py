"""The source of a replication: what is asked of it before it is asked for its log."""

from __future__ import annotations

import uuid
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paraply.errors import ConnectionFailed, ReceiveFailed, ServerError, UsageError
from paraply.target.url import parse_url

if TYPE_CHECKING:
    from pathlib import Path

    from paraply._native import GtidSet, MySqlConnection
    from paraply.target.url import DatabaseUrl

__all__ = ["HEARTBEAT_SECONDS", "Source", "parse_source"]

HEARTBEAT_SECONDS = 1.0
"""How often a source without news says so; a receiver that is to stop notices it then."""
_SILENCE_SECONDS = 30.0
"""A source that is silent for so long is gone."""
_SETTINGS = ("server_id", "server_uuid", "log_bin", "binlog_format", "gtid_mode", "version")
_LOWEST_ID = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Source:
    """A source as it was found.

    Attributes:
        url: Where it is.
        mariadb: Whether it is a MariaDB.
        server_id: Its server id.
        server_uuid: Its UUID; empty on MariaDB.
        version: Its version.
        gtids: Whether its transactions have GTIDs.
    """

    url: DatabaseUrl
    mariadb: bool
    server_id: int
    server_uuid: str
    version: str
    gtids: bool

    def connect(self) -> MySqlConnection:
        """A connection for a receiver.

        Raises:
            ConnectionFailed: The source cannot be reached, or does not let us in.
        """
        return _connect(self.url)

    def prepare(self, connection: MySqlConnection, folder: Path, received: GtidSet | None) -> None:
        """Sets what a replica's session has: heartbeats, checksums, who we are, and on MariaDB where to begin.

        Args:
            connection: The receiver's connection.
            folder: The relay log's folder, by which the source knows this replica again.
            received: What is not to be sent; None for a start by file and position.
        """
        nanoseconds = int(HEARTBEAT_SECONDS * 1e9)
        settings = [f"@source_heartbeat_period={nanoseconds}", f"@master_heartbeat_period={nanoseconds}"]
        if self.mariadb:
            settings.append("@mariadb_slave_capability=4")
            if received is not None:
                settings += [f"@slave_connect_state='{received}'", "@slave_gtid_strict_mode=0", "@slave_gtid_ignore_duplicates=0"]
        else:
            own = replica_uuid(folder)
            settings += [f"@replica_uuid='{own}'", f"@slave_uuid='{own}'", "@source_binlog_checksum=@@global.binlog_checksum"]
        connection.query("SET " + ", ".join(settings))


def replica_uuid(folder: Path) -> str:
    """The UUID of the replica with this relay log: the same one after a restart, so that the source ends what is left of it."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{uuid.getnode()}:{folder.resolve()}"))


def replica_server_id(folder: Path) -> int:
    """A server id for the replica with this relay log, far from those that people give."""
    return _LOWEST_ID + zlib.crc32(replica_uuid(folder).encode()) % _LOWEST_ID


def parse_source(text: str, *, defaults_file: str | None = None) -> DatabaseUrl:
    """The URL of a source: ``mysql://`` or ``mariadb://``, as of a target.

    Raises:
        UsageError: It is none.

    >>> parse_source("postgresql://localhost")
    Traceback (most recent call last):
    ...
    paraply.errors.UsageError: --from takes a mysql:// or mariadb:// URL: a PostgreSQL has no binlog
    """
    if text.partition(":")[0].lower() in ("postgresql", "postgres"):
        raise UsageError("--from takes a mysql:// or mariadb:// URL: a PostgreSQL has no binlog")
    return parse_url(text, defaults_file=defaults_file)


def look(url: DatabaseUrl) -> Source:
    """Asks a source what it is, and whether it can be replicated from.

    Raises:
        ConnectionFailed: It cannot be reached.
        ReceiveFailed: It writes no binlog, or not the rows.
    """
    connection = _connect(url)
    try:
        names = ", ".join(f"'{name}'" for name in _SETTINGS)
        rows = connection.query(f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names})")[0][1]
    finally:
        connection.close()
    found = {_text(name).lower(): _text(value) for name, value in rows}
    mariadb = "mariadb" in found.get("version", "").lower()
    if found.get("log_bin", "OFF").upper() in ("OFF", "0"):
        raise ReceiveFailed(f"the source {url} writes no binlog: start it with log_bin")
    if (form := found.get("binlog_format", "ROW").upper()) != "ROW":
        raise ReceiveFailed(f"the source {url} writes its binlog as binlog_format={form}: set it to ROW there, globally")
    gtids = mariadb or found.get("gtid_mode", "OFF").upper() == "ON"
    return Source(url, mariadb, int(found["server_id"]), found.get("server_uuid", ""), found.get("version", ""), gtids)


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _connect(url: DatabaseUrl) -> MySqlConnection:
    from paraply._native import MySqlConnection
    from paraply.target.mysql_errors import connect_error

    url.check_tls_files()
    try:
        return MySqlConnection(
            url.host,
            url.port,
            url.user,
            url.password,
            socket=url.socket,
            tls=url.tls_options(),
            connect_timeout=url.connect_timeout,
            read_timeout=_SILENCE_SECONDS,
        )
    except (ServerError, ConnectionFailed) as error:
        raise connect_error(error, f"the source {url}", tls=url.tls != "disabled") from None
