"""The servers that faults strike, and what each of them can suffer."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import psycopg
import pymysql
from server.histories import DATABASE
from server.history_source import HistoryPlace, PostgresHistoryPlace
from server.replay import MARIADB_OPTIONS
from servers import MariaDbServer, sql_connect

from paraply.targets.postgres.embedded import EmbeddedPostgres

__all__ = ["MariaDbTarget", "MySqlTarget", "PostgresTarget", "Target", "small_disk"]

DISK_BYTES = 900 << 20
HOT_TABLES = ("hot", "item", "parent", "child")
#: Condition for a session of the replay: the tests' own wait in SELECT SLEEP or ask the process list.
_OF_REPLAY = "id<>CONNECTION_ID() AND user='app' AND (info IS NULL OR info NOT LIKE '%processlist%')"


class Target(Protocol):
    """A server that an apply writes to."""

    name: str
    url: str

    def empty(self) -> None:
        """Throws away what a replay has made."""

    def state(self) -> dict[str, Any]:
        """Every table's rows."""

    def shows(self, statement: str) -> bool:
        """Return True if a history's DDL has been done, by the check that an operator would make."""

    def can(self, fault: str) -> bool:
        """Return True if this server can suffer a fault here."""

    def drop_connections(self) -> None:
        """Ends every connection of the replay."""

    def interrupt_statements(self) -> None:
        """Ends the statements that the replay is running."""

    def hold_locks(self, seconds: float) -> None:
        """Locks tables' rows that the replay writes, for some time."""

    def kill(self) -> None:
        """Kills the server as a power cut would."""

    def ensure_up(self) -> None:
        """Starts the server again where it is down."""

    def read_only(self, on: bool) -> None:
        """Refuses writes, or takes them again."""

    def fill_disk(self) -> None:
        """Leaves no room on the server's disk."""

    def free_disk(self) -> None:
        """Gives the room back."""

    def obey(self, message: str) -> None:
        """Does to the server's files what an error's message tells an operator to do."""


class ServerLost(Exception):
    """The server itself has lost what was committed: nothing can be said about the apply."""


class _Disk:
    """A small file system of its own, where the machine allows one."""

    def __init__(self, folder: Path | None) -> None:
        self._filler = folder / "filler" if folder is not None else None

    @property
    def limited(self) -> bool:
        return self._filler is not None

    def fill_disk(self) -> None:
        if self._filler is not None:
            with self._filler.open("wb") as file, contextlib.suppress(OSError):
                while True:
                    file.write(b"\0" * (1 << 20))

    def free_disk(self) -> None:
        if self._filler is not None:
            self._filler.unlink(missing_ok=True)

    def obey(self, message: str) -> None:
        """Nothing but MariaDB's files has to be mended."""


class _SqlTarget(HistoryPlace):
    """MySQL or MariaDB."""

    def shows(self, statement: str) -> bool:
        match = re.fullmatch(r"ALTER TABLE (\w+) ADD COLUMN (\w+) .*", statement)
        assert match is not None, f"not one of a history's statements: {statement}"
        where = f"table_schema='{DATABASE}' AND table_name='{match[1]}' AND column_name='{match[2]}'"
        return bool(self.sql(f"SELECT COUNT(*) FROM information_schema.columns WHERE {where}")[0][0])

    def drop_connections(self) -> None:
        for (number,) in self.sql(f"SELECT id FROM information_schema.processlist WHERE {_OF_REPLAY}"):
            with contextlib.suppress(pymysql.MySQLError):
                self.sql(f"KILL {number}")

    def interrupt_statements(self) -> None:
        for (number,) in self.sql(f"SELECT id FROM information_schema.processlist WHERE {_OF_REPLAY} AND command='Query'"):
            with contextlib.suppress(pymysql.MySQLError):
                self.sql(f"KILL QUERY {number}")

    def hold_locks(self, seconds: float) -> None:
        parts = urlsplit(self.url)
        connection = sql_connect(host=parts.hostname, port=parts.port or 3306, user="app", password="app", autocommit=False)
        with connection, connection.cursor() as cursor:
            cursor.execute("SET innodb_lock_wait_timeout=1, lock_wait_timeout=1")
            for table in HOT_TABLES:
                with contextlib.suppress(pymysql.MySQLError):
                    cursor.execute(f"SELECT COUNT(*) FROM {DATABASE}.{table} FOR UPDATE")
            time.sleep(seconds)
            connection.rollback()


class MariaDbTarget(_Disk, _SqlTarget):
    """A MariaDB of our own."""

    name = "mariadb"

    def __init__(self, folder: Path, disk: Path | None) -> None:
        self.server = MariaDbServer((disk or folder) / "m", MARIADB_OPTIONS)
        self._start_new()
        _SqlTarget.__init__(self, self.server.url)
        _Disk.__init__(self, disk)

    def can(self, fault: str) -> bool:
        return self.limited or fault != "full disk"

    def kill(self) -> None:
        self.server.kill()

    def ensure_up(self) -> None:
        if self.server.process is None or self.server.process.poll() is not None:
            try:
                self.server.start()
            except RuntimeError as error:
                if "Plugin 'InnoDB' registration as a STORAGE ENGINE failed" in str(error):
                    raise ServerLost("MariaDB does not find its way back: killed on a full disk, it cannot recover its own data") from error
                raise

    def obey(self, message: str) -> None:
        match = re.search(r"`(\w+)`\.`(\w+)`.*move the table's \.ibd file out of the database's folder", message)
        if match is None:
            return
        where = f"table_schema='{match[1]}' AND table_name='{match[2]}'"
        assert not self.sql(f"SELECT 1 FROM information_schema.tables WHERE {where}"), f"there is such a table: {message}"
        left = self.server.data / match[1] / f"{match[2]}.ibd"
        print(f"     MariaDB has left {left.name} without a table; moved away, as the message says", flush=True)
        left.rename(self.server.data.parent / left.name)

    def renew(self) -> None:
        """A new server in the place of one that has lost its data."""
        self.free_disk()
        shutil.rmtree(self.server.data)
        self.server.killed = False
        self._start_new()

    def read_only(self, on: bool) -> None:
        self._as_root(f"SET GLOBAL read_only={int(on)}")

    def _start_new(self) -> None:
        self.server.start()
        self._as_root("REVOKE READ_ONLY ADMIN ON *.* FROM app@'%'")  # a read-only MariaDB would take its writes

    def _as_root(self, statement: str) -> None:
        with sql_connect(unix_socket=str(self.server.socket), user="root") as connection, connection.cursor() as cursor:
            cursor.execute("SET sql_log_bin=0")
            cursor.execute(statement)


class MySqlTarget(_Disk, _SqlTarget):
    """The MySQL that ``PARAPLY_TEST_MYSQL`` names; ``PARAPLY_TEST_MYSQL_KILL`` and ``_START`` are commands that kill and start it.

    Where it can be killed, and its data folder is on this machine, it runs on a copy of its data on a small disk until ``leave``.
    """

    name = "mysql"

    def __init__(self, url: str, data: Path, disk: Path | None) -> None:
        _SqlTarget.__init__(self, url)
        self._kill, self._start = (
            shlex.split(os.environ.get(variable, "")) for variable in ("PARAPLY_TEST_MYSQL_KILL", "PARAPLY_TEST_MYSQL_START")
        )
        self._data = data
        _Disk.__init__(self, disk if disk is not None and self._killable and self._move_to(disk) else None)

    def can(self, fault: str) -> bool:
        if fault == "full disk":
            return self.limited
        return fault != "killed server" or self._killable

    def leave(self) -> None:
        """Back to the server's own data."""
        if self.limited:
            with contextlib.suppress(subprocess.SubprocessError):
                self.kill()
            subprocess.run(["umount", "-l", str(self._data)], check=True, capture_output=True)
            self.ensure_up()

    @property
    def _killable(self) -> bool:
        return bool(self._kill and self._start)

    def _move_to(self, disk: Path) -> bool:
        """Puts a copy of the data on the small disk in the data's place; false if it does not fit."""
        self.kill()
        try:
            copied = subprocess.run(["cp", "-a", str(self._data), str(disk / "data")], check=False, capture_output=True).returncode == 0
            return copied and subprocess.run(["mount", "--bind", str(disk / "data"), str(self._data)], check=False).returncode == 0
        finally:
            self.ensure_up()

    def kill(self) -> None:
        subprocess.run(self._kill, check=True, capture_output=True)

    def ensure_up(self) -> None:
        """Starts it if it is down; one that was killed and is not gone yet keeps its socket from the next, which gives up then."""
        for last in (False, False, True):
            try:
                self.sql("SELECT 1")
            except pymysql.MySQLError:
                subprocess.run(self._start, check=last, capture_output=True)
            else:
                return

    def read_only(self, on: bool) -> None:
        self.sql(f"SET GLOBAL super_read_only={int(on)}", f"SET GLOBAL read_only={int(on)}")


class PostgresTarget(_Disk, PostgresHistoryPlace):
    """The embedded PostgreSQL."""

    name = "postgresql"

    def __init__(self, folder: Path, disk: Path | None) -> None:
        self._data = (disk or folder) / "p"
        self._embedded = EmbeddedPostgres(self._data)
        PostgresHistoryPlace.__init__(self, self._embedded.start(), "faults")
        _Disk.__init__(self, disk)

    def shows(self, statement: str) -> bool:
        raise AssertionError(f"here a statement commits with its progress: {statement}")

    def can(self, fault: str) -> bool:
        return self.limited or fault != "full disk"

    def drop_connections(self) -> None:
        self._each("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'faults'")

    def interrupt_statements(self) -> None:
        self._each("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE datname = 'faults' AND state = 'active'")

    def hold_locks(self, seconds: float) -> None:
        with psycopg.connect(self.url) as connection:
            connection.execute("SET lock_timeout = '1s'")
            for table in HOT_TABLES:
                with contextlib.suppress(psycopg.Error), connection.transaction():
                    connection.execute(f'SELECT 1 FROM "{DATABASE}"."{table}" FOR UPDATE'.encode())
                    time.sleep(seconds / len(HOT_TABLES))

    def kill(self) -> None:
        os.kill(int((self._data / "postmaster.pid").read_text().split("\n")[0]), signal.SIGKILL)

    def ensure_up(self) -> None:
        deadline = time.monotonic() + 60
        while True:
            try:
                with psycopg.connect(self._server):
                    return
            except psycopg.Error:
                if time.monotonic() > deadline:
                    raise
            # Until the killed server's processes have seen that it is gone, it cannot be started.
            with contextlib.suppress(subprocess.SubprocessError, AssertionError, OSError):
                self._embedded._server.ensure_postgres_running()  # the package has no public way to start it anew
            time.sleep(0.2)

    def read_only(self, on: bool) -> None:
        self._each(f"ALTER SYSTEM SET default_transaction_read_only = {'on' if on else 'off'}", "SELECT pg_reload_conf()")

    def _each(self, *statements: str) -> None:
        with psycopg.connect(self._server, autocommit=True) as connection:
            connection.execute("SET default_transaction_read_only = off")
            for statement in statements:
                connection.execute(statement.encode())


@contextlib.contextmanager
def small_disk() -> Iterator[Callable[[str], Path | None]]:
    """Makes small file systems by name, as root; gives None elsewhere."""
    with tempfile.TemporaryDirectory(prefix="pf", dir="/tmp") as folder:
        mounted: list[Path] = []

        def make(name: str) -> Path | None:
            disk = Path(folder) / name
            disk.mkdir()
            command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES},mode=755", "tmpfs", str(disk)]
            if os.geteuid() != 0 or subprocess.run(command, check=False, capture_output=True).returncode != 0:
                return None
            Path(folder).chmod(0o755)
            mounted.append(disk)
            return disk

        try:
            yield make
        finally:
            for disk in mounted:
                subprocess.run(["umount", "-l", str(disk)], check=False, capture_output=True)
