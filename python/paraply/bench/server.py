"""Servers for measurements: a given one, or a MariaDB started for the bench."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from paraply._native import MySqlConnection
from paraply.errors import ConnectionFailed, ParaplyError, UsageError
from paraply.schema.model import SYSTEM_DATABASES
from paraply.targets.url import DatabaseUrl, parse_url

__all__ = ["BenchServer", "bench_server", "connect", "memory_folder"]

DURABLE = (
    "--innodb-flush-log-at-trx-commit=1",
    "--sync-binlog=1",
    "--log-bin=binlog",
    "--binlog-format=ROW",
    "--log-slave-updates=ON",  # what is applied is logged under its own GTID, as MySQL does by default
    "--server-id=4294967295",  # used by no log: the applier skips events of its own id
    "--relay-log=relay",
    "--innodb-buffer-pool-size=256M",
    "--max-allowed-packet=64M",
    "--character-set-server=utf8mb4",
)
MEMORY = Path("/dev/shm")  # noqa: S108 - files are made in a folder of their own
MEMORY_NEEDED = 2**30
"""Bytes needed for a server's data and logs, with a reserve."""
OUR_DATABASE = "paraply"


@dataclass(frozen=True, slots=True)
class BenchServer:
    """Server of a bench, with the permission to empty it.

    Attributes:
        url: URL for ``paraply apply --to``.
        version: The server's version text.
        mariadb: True if it is a MariaDB.
        may_reset: True if its binary logs and GTID state may be emptied between runs.
        data: Its data folder, if accessible on this machine.
        socket: Its socket, if it was started for the bench.
    """

    url: str
    version: str
    mariadb: bool
    may_reset: bool
    data: Path | None = None
    socket: Path | None = None

    @property
    def parsed(self) -> DatabaseUrl:
        """The URL in its parts."""
        return parse_url(self.url)

    @property
    def folder(self) -> Path | None:
        """Its data folder, if it is on this machine; read for the CPU time of its processes."""
        return self.data or (Path(text(self.query("SELECT @@datadir")[0][0])) if self.parsed.is_local else None)

    def query(self, statement: str) -> list[tuple[object, ...]]:
        """Run one statement and return its rows."""
        connection = connect(self.parsed)
        try:
            return [row for _, rows, _ in connection.query(statement) for row in rows]
        finally:
            connection.close()

    def logs_replication(self) -> bool:
        """Return True if a MariaDB logs what its own replication applies."""
        ((on,),) = self.query("SELECT @@GLOBAL.log_bin AND @@GLOBAL.log_slave_updates")
        return text(on) == "1"

    def user_databases(self) -> list[str]:
        """Return the databases that are not the server's own."""
        names = [text(row[0]) for row in self.query("SHOW DATABASES")]
        return [name for name in names if name.lower() not in SYSTEM_DATABASES]

    def empty(self, databases: Sequence[str]) -> None:
        """Drop everything that a run made, so that the next one starts with an empty server."""
        for name in [*databases, OUR_DATABASE]:
            quoted = "`" + name.replace("`", "``") + "`"
            self.query(f"SET foreign_key_checks=0; DROP DATABASE IF EXISTS {quoted}")
        if self.may_reset:
            self.query("RESET MASTER" if self.mariadb else "RESET BINARY LOGS AND GTIDS")
            if self.mariadb:
                self.query("SET GLOBAL gtid_slave_pos=''")

    def checksums(self) -> dict[str, int]:
        """Return ``CHECKSUM TABLE`` of every table of every user database."""
        found: dict[str, int] = {}
        for database in self.user_databases():
            if database == OUR_DATABASE:
                continue
            names = self.query(
                f"SELECT table_name FROM information_schema.tables WHERE table_schema='{database}' AND table_type='BASE TABLE'"
            )
            for (name,) in names:
                ((full, checksum),) = self.query(f"CHECKSUM TABLE `{database}`.`{text(name)}`")
                found[text(full)] = int(str(checksum))
        return found


def text(value: object) -> str:
    """Return the text of a column that arrives as bytes."""
    return value.decode() if isinstance(value, bytes) else str(value)


def connect(url: DatabaseUrl) -> MySqlConnection:
    """Return a connection for the bench's own statements."""
    return MySqlConnection(url.host, url.port, url.user, url.password, socket=url.socket)


@contextmanager
def bench_server(url: str | None, *, reset: bool, data: Path | None = None, folder: Path | None = None) -> Iterator[BenchServer]:
    """Yield the server of a bench.

    Args:
        url: A MySQL or MariaDB server; None starts a MariaDB on a temporary folder with durable settings.
        reset: Allow to empty the binary logs and GTID state of the given server.
        data: The given server's data folder, if accessible on this machine.
        folder: Parent of a started server's temporary folder; None for the system's default.

    Raises:
        UsageError: No server is given and none can be started, or the given one has other databases.
    """
    if url is None:
        with started_mariadb(folder) as started:
            yield started
        return
    server = look_at(url, may_reset=reset)
    others = [name for name in server.user_databases() if name != OUR_DATABASE]
    if others:
        raise UsageError(f"the server has databases ({', '.join(others)}); a bench drops its own databases, so give it an empty server")
    yield replace(server, data=data)


def look_at(url: str, *, may_reset: bool) -> BenchServer:
    """Connect and ask for the version."""
    connection = connect(parse_url(url))
    try:
        version = connection.server_version
    finally:
        connection.close()
    return BenchServer(url, version, "mariadb" in version.lower(), may_reset)


@contextmanager
def started_mariadb(parent: Path | None = None) -> Iterator[BenchServer]:
    """Start a MariaDB on a temporary folder, with the settings of a server that must not lose a commit."""
    server = shutil.which("mariadbd")
    install = shutil.which("mariadb-install-db")
    if server is None or install is None:
        raise UsageError("no server to measure on: give one with --to URL, or install mariadb-server")
    with tempfile.TemporaryDirectory(prefix="paraply-bench-", dir=parent) as folder:
        data, path, port = Path(folder) / "data", Path(folder) / "s.sock", free_port()
        common = ["--no-defaults", f"--datadir={data}", "--user=root", f"--tmpdir={folder}"]
        subprocess.run([install, *common, "--auth-root-authentication-method=normal", "--skip-test-db"], check=True, capture_output=True)
        arguments = [*common, *DURABLE, f"--socket={path}", f"--port={port}", "--bind-address=127.0.0.1"]
        process = subprocess.Popen([server, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield replace(wait_until_up(started_url(port), process), data=data, socket=path)
        finally:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(30)
            process.kill()


def memory_folder() -> tuple[Path | None, str]:
    """Return a folder in memory, or None with the reason."""
    if not MEMORY.is_dir():
        return None, f"this system has no {MEMORY}"
    free = shutil.disk_usage(MEMORY).free
    if free < MEMORY_NEEDED:
        return None, f"{MEMORY} has {free // 2**20} MB free, and {MEMORY_NEEDED // 2**20} are needed"
    return MEMORY, ""


def started_url(port: int) -> str:
    """Return the URL of a server that was started for the bench: with an empty password, so that the environment's does not count.

    >>> parse_url(started_url(3306), {"PARAPLY_PASSWORD": "secret"}).password
    ''
    """
    return f"mariadb://root:@127.0.0.1:{port}"


def wait_until_up(url: str, process: subprocess.Popen[bytes], seconds: float = 60.0) -> BenchServer:
    """Wait until a started server answers."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return look_at(url, may_reset=True)
        except ParaplyError as error:
            if process.poll() is not None or time.monotonic() > deadline:
                raise ConnectionFailed(f"the MariaDB server that was started for the bench does not answer: {error.message}") from error
            time.sleep(0.1)


def free_port() -> int:
    """Return an unused loopback port."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
