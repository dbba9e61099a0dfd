"""Real servers for tests: a MariaDB that the tests start, kill and restart."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import pymysql
import pytest
from required import missing

#: A MariaDB that finds its disk full at its start looks again after a minute.
START_SECONDS = 150

#: Options of the tests' own connections: without TLS, for which PyMySQL reads all certificates of the machine at every connection.
sql_connect = functools.partial(pymysql.connect, ssl_disabled=True)

Own = TypeVar("Own", bound="LocalServer")


def mysql_url() -> str:
    """The MySQL that tests may empty, as ``PARAPLY_TEST_MYSQL`` names it; skips the test where there is none."""
    url = os.environ.get("PARAPLY_TEST_MYSQL")
    if not url:
        missing("NO MYSQL SERVER: set PARAPLY_TEST_MYSQL=mysql://user:password@host:port to run this test")
    return url


def mysql_data() -> Path:
    """The folder of that server's binary logs, as ``PARAPLY_TEST_MYSQL_DATA`` names it; skips the test where there is none."""
    folder = os.environ.get("PARAPLY_TEST_MYSQL_DATA")
    if not folder:
        missing("NO MYSQL LOGS: set PARAPLY_TEST_MYSQL and PARAPLY_TEST_MYSQL_DATA, the folder with its binary logs")
    return Path(folder)


def free_port() -> int:
    """A loopback port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@functools.cache
def _empty_folders() -> Path:
    """Return the folder with the data folders that servers begin with; it goes when the process ends."""
    folder = Path(tempfile.mkdtemp(prefix="paraply-empty-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def copy_of_empty(name: str, data: Path, make: Callable[[Path], None]) -> None:
    """Copy the data folder of a server that never ran. It is made once in a process: that takes seconds, and a copy does not.

    Args:
        name: Of the program and of the options that it was made with.
        data: The new folder.
        make: Makes such a folder.
    """
    base = _empty_folders() / name
    if not base.exists():
        unfinished = base.with_suffix(".new")
        shutil.rmtree(unfinished, ignore_errors=True)
        make(unfinished)
        unfinished.rename(base)
    copy_folder(base, data)


def copy_folder(folder: Path, to: Path) -> None:
    """Copy a folder with owners and times; files that are mostly empty, as redo logs are, stay so."""
    subprocess.run(["cp", "--archive", "--sparse=always", str(folder), str(to)], check=True)


class LocalServer:
    """A server on its own folder, socket and loopback port; user ``app`` with password ``app`` may do everything.

    Args:
        program: What it is called in messages.
        folder: Where data, socket and log go; short, because socket paths must be.
        options: Further options of the server, for example ``--log-bin``.
    """

    def __init__(self, program: str, folder: Path, options: Sequence[str] = ()) -> None:
        self.program = program
        self.folder = folder
        self.options = list(options)
        self.port = free_port()
        self.socket = folder / "s.sock"
        self.log = folder / "error.log"
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def data(self) -> Path:
        """The data folder, where binary logs are too."""
        return self.folder / "data"

    def messages(self) -> str:
        """The end of its error log."""
        return self.log.read_text(errors="replace")[-3000:]

    def connect(self, database: str | None = None) -> pymysql.connections.Connection[pymysql.cursors.Cursor]:
        """A connection as ``app``, in autocommit mode."""
        return sql_connect(
            host="127.0.0.1", port=self.port, user="app", password="app", database=database, charset="utf8mb4", autocommit=True
        )  # fmt: skip

    def sql(self, *statements: str) -> list[tuple[object, ...]]:
        """The rows of the last one of these statements."""
        with self.connect() as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall())

    def send(self, number: signal.Signals) -> None:
        """Sends its process a signal."""
        assert self.process is not None
        self.process.send_signal(number)

    def stop(self) -> None:
        """Shuts it down in order."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Kills it as a power cut would; ``start`` recovers."""
        self._end(signal.SIGKILL)

    def _spawn(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        """Runs a program; what it says goes to the error log."""
        with self.log.open("ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True)

    def _user(self) -> list[str]:
        return ["--user=root"] if os.getuid() == 0 else []

    def _wait(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            assert self.process is not None
            if self.process.poll() is not None:
                raise RuntimeError(f"{self.program} ended at once:\n{self.messages()}")
            # A connection that is refused leaves its socket open, so it is not tried before there is a server.
            if self.socket.exists():
                with contextlib.suppress(pymysql.err.OperationalError):
                    sql_connect(unix_socket=str(self.socket), user="root").close()
                    return
            time.sleep(0.1)
        raise RuntimeError(f"{self.program} did not answer in {START_SECONDS} s:\n{self.messages()}")

    def _make_user(self) -> None:
        with sql_connect(unix_socket=str(self.socket), user="root") as connection, connection.cursor() as cursor:
            cursor.execute("SET sql_log_bin=0")
            cursor.execute("CREATE USER app@'%' IDENTIFIED BY 'app'")
            cursor.execute("GRANT ALL ON *.* TO app@'%' WITH GRANT OPTION")

    def _end(self, number: signal.Signals) -> None:
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(number)
            self.process.wait(timeout=60)
            self.process = None


class MariaDbServer(LocalServer):
    """A MariaDB.

    Args:
        folder: As of ``LocalServer``.
        options: Likewise.
    """

    def __init__(self, folder: Path, options: Sequence[str] = ()) -> None:
        super().__init__("mariadbd", folder, options)
        self.killed = False

    @staticmethod
    def available() -> bool:
        """Return True if MariaDB's server is installed."""
        return shutil.which("mariadbd") is not None and shutil.which("mariadb-install-db") is not None

    @property
    def url(self) -> str:
        """The server as the commands take it."""
        return f"mariadb://app:app@127.0.0.1:{self.port}"

    def start(self, options: Sequence[str] = ()) -> MariaDbServer:
        """Starts it (again), with these options besides its own, and waits until it answers."""
        first = not self.data.exists()
        if first:
            self.folder.mkdir(parents=True, exist_ok=True)
            copy_of_empty("mariadb", self.data, self._make_empty)
        if self.killed:
            self._recover(options)
        self._run(options)
        if first:
            self._make_user()
        return self

    def kill(self) -> None:
        """Kills it as a power cut would; ``start`` recovers."""
        self.killed = self.killed or self.process is not None
        super().kill()

    def _recover(self, options: Sequence[str]) -> None:
        """Recovery, unseen by anyone, and an end in order, which writes a checkpoint.

        MariaDB 10.11 that is killed again before the first checkpoint after a recovery may leave a log that it cannot read
        ("Missing FILE_CREATE, FILE_DELETE or FILE_MODIFY before FILE_CHECKPOINT"): about one time in thirty where tables are
        made and dropped, and all of its data is lost.
        """
        self._run([*options, "--skip-networking"])
        self.stop()
        self.killed = False

    def _run(self, options: Sequence[str]) -> None:
        self.socket.unlink(missing_ok=True)
        command = ["mariadbd", "--no-defaults", *self._user(), f"--datadir={self.data}", f"--socket={self.socket}", f"--port={self.port}",
                   "--bind-address=127.0.0.1", f"--pid-file={self.folder / 'pid'}", f"--tmpdir={self.folder}",
                   "--innodb-buffer-pool-size=64M",
                   *self.options, *options]  # fmt: skip
        self.process = self._spawn(command)
        self._wait()

    def _make_empty(self, data: Path) -> None:
        # A server that starts throws away what others have in a folder for temporary tables that it shares with them.
        command = ["mariadb-install-db", "--no-defaults", *self._user(), f"--datadir={data}", f"--tmpdir={self.folder}",
                   "--auth-root-authentication-method=normal", "--skip-test-db"]  # fmt: skip
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, f"mariadb-install-db: {done.stdout[-2000:]} {done.stderr[-2000:]}"


@contextlib.contextmanager
def running_mariadb(options: Sequence[str] = ()) -> Iterator[MariaDbServer]:
    """A MariaDB that lives as long as the context; skips the test loudly where it is not installed."""
    if not MariaDbServer.available():
        missing("needs MariaDB's server: apt-get install mariadb-server")
    with own_folder("paraply-maria-") as folder, ended(MariaDbServer(folder, options)) as server:
        yield server.start()


@contextlib.contextmanager
def own_folder(prefix: str) -> Iterator[Path]:
    """A folder for a server, with a short path."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def ended(server: Own) -> Iterator[Own]:
    """A server that is killed at the end, started or not."""
    try:
        yield server
    finally:
        server.kill()


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[MariaDbServer]:
    """One MariaDB with row-based binary logs for all tests that leave it running."""
    with running_mariadb(["--log-bin=binlog", "--binlog-format=ROW", "--server-id=1"]) as server:
        yield server


@pytest.fixture
def own_mariadb_server() -> Iterator[MariaDbServer]:
    """A MariaDB of the test's own, to be killed and restarted."""
    with running_mariadb(["--log-bin=binlog", "--binlog-format=ROW", "--server-id=1"]) as server:
        yield server
