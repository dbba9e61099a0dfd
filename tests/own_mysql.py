"""A MySQL that a test starts, stops and starts again, from the binaries of the one that ``PARAPLY_TEST_MYSQL`` names."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pymysql
import pytest
from servers import START_SECONDS, free_port

NOT_THERE = "NO MYSQL OF ITS OWN: set PARAPLY_TEST_MYSQLD to a command that runs mysqld, or install mysql-server"


def mysqld_command() -> list[str]:
    """How mysqld is run: as ``PARAPLY_TEST_MYSQLD`` says, as it is installed, or as the server runs that the tests may empty."""
    if named := os.environ.get("PARAPLY_TEST_MYSQLD"):
        return shlex.split(named)
    if (found := shutil.which("mysqld")) and "MariaDB" not in subprocess.run([found, "--version"], capture_output=True, text=True).stdout:
        return [found]
    url, data = os.environ.get("PARAPLY_TEST_MYSQL"), os.environ.get("PARAPLY_TEST_MYSQL_DATA")
    command = _of_a_running_one(url, Path(data)) if url and data else None
    if command is None:
        pytest.skip(NOT_THERE)
    return command


def _of_a_running_one(url: str, data: Path) -> list[str] | None:
    """The same binary; one that runs in a folder of its own, as after chroot, with the libraries there."""
    from server.live import connect

    with contextlib.closing(connect(url)) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT @@datadir, @@basedir")
        inside, base = (Path(str(value)) for value in cursor.fetchone() or ("/", "/"))
    if not data.is_relative_to("/") or not str(data).endswith(str(inside)):
        return None
    root = Path(str(data).removesuffix(str(inside)) or "/")
    here = root / base.relative_to("/")
    binary = next((path for path in (here / "sbin/mysqld", here / "bin/mysqld") if path.exists()), None)
    if binary is None:
        return None
    options = [str(binary), "--no-defaults", f"--basedir={here}"]
    if root == Path("/"):
        return options
    loader = next(root.glob("usr/lib*/ld-linux*.so.*"), None)
    libraries = [str(path) for path in (*root.glob("usr/lib/*-linux-gnu"), root / "usr/lib/mysql/private")]
    return [str(loader), "--library-path", ":".join(libraries), *options] if loader is not None else None


class OwnMySql:
    """A MySQL on its own folder, socket and loopback port; user ``app`` with password ``app`` may do everything.

    Args:
        folder: Where data, socket and log go; short, because socket paths must be.
        options: Further options of ``mysqld``.
    """

    def __init__(self, folder: Path, options: Sequence[str] = ()) -> None:
        self.folder = folder
        self.options = list(options)
        self.port = free_port()
        self.data = folder / "data"
        self.log = folder / "error.log"
        self._socket = folder / "s.sock"
        self._command = mysqld_command()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The server as the commands take it."""
        return f"mysql://app:app@127.0.0.1:{self.port}"

    def start(self) -> OwnMySql:
        """Starts it (again), and waits until it answers."""
        first = not self.data.exists()
        if first:
            self._run(["--initialize-insecure"]).wait(timeout=2 * START_SECONDS)
        self.process = self._run([
            f"--socket={self._socket}", f"--port={self.port}", "--bind-address=127.0.0.1", f"--pid-file={self.folder / 'pid'}",
            "--secure-file-priv=", "--mysqlx=OFF", "--innodb-buffer-pool-size=32M", "--log-bin=binlog", "--server-id=1", "--gtid-mode=ON",
            "--enforce-gtid-consistency=ON", "--binlog-row-metadata=FULL", *self.options,
        ])  # fmt: skip
        self._wait()
        if first:
            self._make_user()
        return self

    def _run(self, options: Sequence[str]) -> subprocess.Popen[bytes]:
        user = ["--user=root"] if os.getuid() == 0 else []
        command = [*self._command, *user, f"--datadir={self.data}", f"--tmpdir={self.folder}", *options]
        with self.log.open("ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True)

    def _wait(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.process is None or self.process.poll() is not None:
                raise RuntimeError(f"mysqld ended at once:\n{self.said()}")
            if self._socket.exists():
                with contextlib.suppress(pymysql.err.OperationalError):
                    pymysql.connect(unix_socket=str(self._socket), user="root").close()
                    return
            time.sleep(0.1)
        raise RuntimeError(f"mysqld did not answer in {START_SECONDS} s:\n{self.said()}")

    def _make_user(self) -> None:
        with pymysql.connect(unix_socket=str(self._socket), user="root") as connection, connection.cursor() as cursor:
            cursor.execute("SET sql_log_bin=0")
            cursor.execute("CREATE USER app@'%' IDENTIFIED BY 'app'")
            cursor.execute("GRANT ALL ON *.* TO app@'%' WITH GRANT OPTION")

    def said(self) -> str:
        """The end of its error log."""
        return self.log.read_text(errors="replace")[-3000:]

    def sql(self, *statements: str) -> list[tuple[object, ...]]:
        """The rows of the last one of these statements."""
        with pymysql.connect(
            host="127.0.0.1", port=self.port, user="app", password="app", charset="utf8mb4", autocommit=True
        ) as connection:  # fmt: skip
            cursor = connection.cursor()
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
        """Kills it as a power cut would."""
        self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> None:
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(number)
            self.process.wait(timeout=60)
            self.process = None


@contextlib.contextmanager
def running_mysql(options: Sequence[str] = ()) -> Iterator[OwnMySql]:
    """A MySQL that lives as long as the context; skips the test loudly where no binary is found."""
    mysqld_command()
    folder = Path(tempfile.mkdtemp(prefix="paraply-mysql-"))
    server = OwnMySql(folder, options)
    try:
        yield server.start()
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)
