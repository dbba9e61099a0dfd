"""Places where random histories run, and their results in a database."""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pymysql
from server.histories import DATABASE, SESSIONS, History
from server.replay import PostgresPlace, SqlPlace
from servers import sql_connect

__all__ = ["ITEMS", "HistoryPlace", "KillableSource", "PostgresHistoryPlace", "Source", "with_other_uuid"]

State = dict[str, Any]

#: A few statements on one table, each a transaction.
ITEMS = (
    "CREATE DATABASE shop",
    "CREATE TABLE shop.item (id INT PRIMARY KEY, n INT)",
    "INSERT INTO shop.item VALUES (1, 1), (2, 2), (3, 3)",
    "UPDATE shop.item SET n = n + 10 WHERE id = 1",
    "UPDATE shop.item SET n = n + 10 WHERE id = 2",
)


class HistoryPlace(SqlPlace):
    """A MySQL or MariaDB that histories are applied to."""

    def empty(self) -> None:
        """Throws everything away."""
        super().empty()
        self.sql(f"DROP DATABASE IF EXISTS {DATABASE}")
        self.sql("RESET MASTER" if self.mariadb else "RESET BINARY LOGS AND GTIDS")

    def connections(self) -> list[int]:
        """The server's numbers of all other connections of this user that have logged in."""
        where = "user=SUBSTRING_INDEX(USER(),'@',1) AND id<>CONNECTION_ID() AND command<>'Connect' AND command NOT LIKE 'Binlog Dump%'"
        return [row[0] for row in self.sql(f"SELECT id FROM information_schema.processlist WHERE {where}")]

    def kill(self, connection: int) -> None:
        """Ends a connection."""
        self.sql(f"KILL {connection}")

    def state(self) -> State:
        """Every table's rows."""
        names = [row[0] for row in self.sql(f"SELECT table_name FROM information_schema.tables WHERE table_schema='{DATABASE}'")]
        return {name: sorted(self.sql(f"SELECT * FROM {DATABASE}.{name}"), key=repr) for name in names}

    def connect(self) -> pymysql.connections.Connection[Any]:
        """A session in autocommit mode."""
        parts = self._parts
        return sql_connect(
            host=parts.hostname, port=parts.port or 3306, user=parts.username, password=parts.password or "", autocommit=True
        )

    def rows_of(self, table: str) -> int:
        """Return the number of rows that a table has so far."""
        try:
            return int(self.sql(f"SELECT COUNT(*) FROM {DATABASE}.{table}")[0][0])
        except pymysql.MySQLError:
            return 0

    def progress(self) -> list[str]:
        """Return the progress that an apply has written."""
        try:
            return [row[0] for row in self.sql("SELECT executed FROM paraply.channel UNION ALL SELECT executed FROM paraply.progress")]
        except pymysql.MySQLError:
            return []


class PostgresHistoryPlace(PostgresPlace):
    """A PostgreSQL that histories are applied to."""

    def connections(self) -> list[int]:
        """The server processes of all other connections to this database that have logged in."""
        select = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'starting'"
        with psycopg.connect(self.url) as connection:
            return [row[0] for row in connection.execute(select)]

    def kill(self, connection: int) -> None:
        """Ends a connection."""
        with psycopg.connect(self.url) as own:
            own.execute("SELECT pg_terminate_backend(%s)", (connection,))

    def state(self) -> State:
        """Every table's rows."""
        with psycopg.connect(self.url) as connection:
            names = [row[0] for row in connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (DATABASE,))]
            return {
                name: sorted(row[0] for row in connection.execute(f'SELECT t::text FROM "{DATABASE}"."{name}" t'.encode()))
                for name in names
            }

    def rows_of(self, table: str) -> int:
        """Return the number of rows that a table has so far."""
        try:
            with psycopg.connect(self.url) as connection:
                row = connection.execute(f'SELECT count(*) FROM "{DATABASE}"."{table}"'.encode()).fetchone()
        except psycopg.Error:
            return 0
        return int(row[0]) if row else 0

    def progress(self) -> list[str]:
        """Return the progress that an apply has written."""
        try:
            with psycopg.connect(self.url) as connection:
                return [row[0] for row in connection.execute("SELECT executed FROM paraply.progress")]
        except psycopg.Error:
            return []


@dataclass(frozen=True)
class Source:
    """A source of histories: a server, and the folder of its binlogs."""

    place: HistoryPlace
    binlogs: Path

    def log_without_gtids(self, seed: int, transactions: int, into: Path) -> Path:
        """Runs a spread history on a MySQL that gives no GTIDs."""
        modes = ["ON_PERMISSIVE", "OFF_PERMISSIVE", "OFF"]
        for mode in modes:
            self.place.sql(f"SET GLOBAL gtid_mode={mode}")
        try:
            return self.log(seed, transactions, into, spread=True, sessions=48)
        finally:
            for mode in ("OFF_PERMISSIVE", "ON_PERMISSIVE", "ON"):
                self.place.sql(f"SET GLOBAL gtid_mode={mode}")

    def log(
        self, seed: int, transactions: int, into: Path, *, cascades: bool = False, spread: bool = False, sessions: int = SESSIONS
    ) -> Path:
        """Runs a history and copies its log."""
        self.place.empty()
        place = self.place
        History(seed, place.connect, mariadb=place.mariadb, cascades=cascades, spread=spread, sessions=sessions).run(transactions)
        name = self.place.sql("SHOW BINARY LOGS")[-1][0]
        self.place.sql("FLUSH BINARY LOGS")
        into.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(self.binlogs / name, into / name))

    def logs(self, steps: Sequence[Sequence[str]], into: Path) -> list[Path]:
        """Runs statements on the empty server, those of each step into a file of its own, and copies the files."""
        place = self.place
        place.empty()
        first = len(place.sql("SHOW BINARY LOGS")) - 1
        for step in steps:
            place.sql(*step, "FLUSH BINARY LOGS")
        names = [str(row[0]) for row in place.sql("SHOW BINARY LOGS")][first : first + len(steps)]
        return [Path(shutil.copy(self.binlogs / name, into / name)) for name in names]


@dataclass(frozen=True)
class KillableSource(Source):
    """A server that can be killed with SIGKILL and started again."""

    restart: Callable[[], None]


def with_other_uuid(log: Path, into: Path) -> Path:
    """A MySQL log as if another server had written it: where a server is source and target, its own new GTIDs are no part of the log.

    Args:
        log: Left as it is.
        into: The file to write; ``log`` itself will do.
    """
    data, at = bytearray(log.read_bytes()), 4
    while at + 19 <= len(data):
        size = int.from_bytes(data[at + 9 : at + 13], "little")
        if data[at + 4] == 33:
            data[at + 20] ^= 0xFF
            data[at + size - 4 : at + size] = zlib.crc32(bytes(data[at : at + size - 4])).to_bytes(4, "little")
        at += size
    into.write_bytes(data)
    return into
