"""Servers of all versions as sources and targets: started once, emptied between the runs."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import psycopg
import pymysql
from mariadb_versions import mariadb_of_version
from own_mysql import running_mysql
from reader_view import SERVER_DATABASES, quoted
from required import missing
from servers import LocalServer, free_port
from versions.kinds import Version

from paraply.targets.postgres.embedded import EmbeddedPostgres

__all__ = ["MySqlFamily", "Postgres", "Target", "started"]

OUR_USERS = "u\\_%"
MYSQL_OPTIONS = ("--binlog-row-metadata=MINIMAL", "--event-scheduler=OFF", "--innodb-flush-log-at-trx-commit=2", "--sync-binlog=0")
MARIADB_OPTIONS = ("--log-bin=binlog", "--binlog-format=ROW", "--sync-binlog=0", "--innodb-flush-log-at-trx-commit=2")


class Target(Protocol):
    """A server that logs are applied to."""

    version: Version

    @property
    def url(self) -> str:
        """The server as the commands take it."""

    def reset(self) -> None:
        """Throw away everything that a run has made."""


class MySqlFamily:
    """A MySQL or MariaDB, as source or target.

    Args:
        version: Its version.
        server: The running server.
    """

    def __init__(self, version: Version, server: LocalServer) -> None:
        self.version = version
        self.data = server.data
        self.port = server.port
        self.url = f"{version.family}://app:app@127.0.0.1:{server.port}"
        self._server = server

    @property
    def mariadb(self) -> bool:
        """True for MariaDB."""
        return self.version.family == "mariadb"

    def connect(self, **options: Any) -> pymysql.connections.Connection[pymysql.cursors.Cursor]:
        """Return a connection as ``app``, in autocommit mode."""
        return pymysql.connect(
            host="127.0.0.1", port=self.port, user="app", password="app", charset="utf8mb4", autocommit=True, ssl_disabled=True, **options
        )  # fmt: skip

    def reset(self) -> None:
        """Throw away databases, users, prepared transactions and logs."""
        with self.connect() as connection, connection.cursor() as cursor:
            self._end_sessions(cursor)
            self._end_prepared(cursor)
            cursor.execute("SET SESSION sql_log_bin=0, foreign_key_checks=0")
            cursor.execute("SHOW DATABASES")
            for (name,) in cursor.fetchall():
                if name not in SERVER_DATABASES or name == "paraply":
                    cursor.execute(f"DROP DATABASE {quoted(name)}")
            self._drop_users(cursor)
            # Without that a MySQL target with a replication of paraply's own, or MariaDB's position, would remember what was applied.
            cursor.execute("RESET MASTER" if self.mariadb else "RESET BINARY LOGS AND GTIDS")
            if self.mariadb:
                cursor.execute("SET GLOBAL gtid_slave_pos=''")

    def _end_sessions(self, cursor: pymysql.cursors.Cursor) -> None:
        cursor.execute("SELECT id FROM information_schema.processlist WHERE id<>CONNECTION_ID() AND user='app'")
        for (number,) in cursor.fetchall():
            with contextlib.suppress(pymysql.MySQLError):
                cursor.execute(f"KILL {number}")

    def _end_prepared(self, cursor: pymysql.cursors.Cursor) -> None:
        cursor.execute("XA RECOVER FORMAT='SQL'" if self.mariadb else "XA RECOVER CONVERT XID")
        for row in cursor.fetchall():
            name = str(row[3])
            if not self.mariadb:
                cut = 2 + 2 * int(row[1])
                name = f"{name[:cut]},0x{name[cut:]},{row[0]}" if int(row[2]) else f"{name},'',{row[0]}"
            for _ in range(20):
                with contextlib.suppress(pymysql.MySQLError):
                    cursor.execute(f"XA ROLLBACK {name}")
                    break
                time.sleep(0.1)

    def _drop_users(self, cursor: pymysql.cursors.Cursor) -> None:
        role = "is_role" if self.mariadb else "'N'"
        cursor.execute(f"SELECT user, host, {role} FROM mysql.user WHERE user LIKE '{OUR_USERS}'")
        for user, host, is_role in cursor.fetchall():
            cursor.execute(f"DROP ROLE '{user}'" if is_role == "Y" else f"DROP USER '{user}'@'{host}'")

    def copy_logs(self, folder: Path) -> list[Path]:
        """Close the log, and copy its files into a folder.

        Args:
            folder: Emptied before.
        """
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute("FLUSH BINARY LOGS")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        files = sorted(path for path in self.data.glob("binlog.0*") if path.suffix[1:].isdigit())
        return [Path(shutil.copy(path, folder)) for path in files[:-1]]

    def last_gtid(self) -> str:
        """Return the GTID of the last transaction that neither a tag nor another domain marks."""
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SELECT @@gtid_binlog_pos" if self.mariadb else "SELECT @@gtid_executed")
            text = "".join(str(cursor.fetchall()[0][0]).split())
        if self.mariadb:
            return next(gtid for gtid in text.split(",") if gtid.startswith("0-"))
        parts = text.split(",")[0].split(":")
        numbers = next(part for part in parts[1:] if part[0].isdigit())
        return f"{parts[0]}:{numbers.rpartition('-')[2]}"


class Postgres:
    """A PostgreSQL.

    Args:
        version: Its version.
        url: The server, with a database from which others are made.
    """

    def __init__(self, version: Version, url: str) -> None:
        self.version = version
        self._server = url
        self.url = urlsplit(url)._replace(path="/replay").geturl()

    def reset(self) -> None:
        """Make the database anew."""
        with psycopg.connect(self._server, autocommit=True) as connection:
            connection.execute(b"DROP DATABASE IF EXISTS replay WITH (FORCE)")
            connection.execute(b"CREATE DATABASE replay TEMPLATE template0 ENCODING 'UTF8'")


@contextlib.contextmanager
def started(version: Version, server_id: int, options: Sequence[str] = ()) -> Iterator[MySqlFamily | Postgres]:
    """Start a server of this version; end it with the context.

    Args:
        version: Which.
        server_id: Of a MySQL or MariaDB.
        options: More of its options.
    """
    if version.family == "mysql":
        with running_mysql([*MYSQL_OPTIONS, *options, f"--server-id={server_id}"]) as mysql:
            yield MySqlFamily(version, mysql)
    elif version.family == "mariadb":
        with mariadb_of_version(version.name.partition("-")[2], [*MARIADB_OPTIONS, *options, f"--server-id={server_id}"]) as mariadb:
            yield MySqlFamily(version, mariadb)
    elif version.name == "postgresql-embedded":
        with _folder() as folder, EmbeddedPostgres(folder / "data") as server:
            yield Postgres(version, server.uri)
    else:
        with _debian_postgres() as url:
            yield Postgres(version, url)


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    """Make a folder that PostgreSQL's user can enter, too."""
    folder = Path(tempfile.mkdtemp(prefix="paraply-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def debian_programs() -> Path | None:
    """Return the folder with the programs of the newest PostgreSQL that Debian's packages have installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else None


@contextlib.contextmanager
def _debian_postgres() -> Iterator[str]:
    """Start a PostgreSQL of Debian's packages, by their user if we are root."""
    programs = debian_programs()
    if programs is None:
        missing("NO POSTGRESQL OF DEBIAN: apt-get install postgresql")
    with _folder() as folder:
        port = free_port()
        data = folder / "pg"
        data.mkdir()
        if os.getuid() == 0:
            shutil.chown(data, "postgres", "postgres")
        _as_postgres([str(programs / "initdb"), "-D", str(data), "-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-sync"])
        options = f"-p {port} -k {data} -c listen_addresses=127.0.0.1 -c fsync=off"
        _as_postgres([str(programs / "pg_ctl"), "-D", str(data), "-w", "-l", str(data / "log"), "-o", options, "start"])
        try:
            yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
        finally:
            _as_postgres([str(programs / "pg_ctl"), "-D", str(data), "-m", "immediate", "stop"])


def _as_postgres(command: Sequence[str]) -> None:
    user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.getuid() == 0 else []
    done = subprocess.run([*user, *command], check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd="/", timeout=120)
    if done.returncode:
        raise RuntimeError(f"{command[0]}: {done.stdout[-1000:]} {done.stderr[-1000:]}")
