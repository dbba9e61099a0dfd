"""A MySQL that a test starts, stops and starts again, from the binaries of the one that ``PARAPLY_TEST_MYSQL`` names."""

from __future__ import annotations

import contextlib
import functools
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from required import missing
from servers import START_SECONDS, LocalServer, copy_of_empty, ended, own_folder

NOT_THERE = "NO MYSQL OF ITS OWN: set PARAPLY_TEST_MYSQLD to a command that runs mysqld, or install mysql-server"


def mysqld_command() -> list[str]:
    """Return the command of mysqld: from ``PARAPLY_TEST_MYSQLD``, the installed one, or that of the server that the tests may empty."""
    if named := os.environ.get("PARAPLY_TEST_MYSQLD"):
        return shlex.split(named)
    if (found := shutil.which("mysqld")) and "MariaDB" not in subprocess.run([found, "--version"], capture_output=True, text=True).stdout:
        return [found]
    url, data = os.environ.get("PARAPLY_TEST_MYSQL"), os.environ.get("PARAPLY_TEST_MYSQL_DATA")
    if data and (found_in_tree := _of_a_tree(Path(data))):
        return found_in_tree
    command = _of_a_running_one(url, Path(data)) if url and data else None
    if command is None:
        missing(NOT_THERE)
    return command


def _of_a_tree(data: Path) -> list[str] | None:
    """Return the command for the mysqld of the system tree that a data folder lies in, with the tree's own libraries."""
    root = next((folder for folder in data.parents if (folder / "usr/sbin/mysqld").exists()), None)
    if root is None or root == Path("/"):
        return None
    loader = next(root.glob("usr/lib*/ld-linux*.so.*"), None)
    libraries = [str(path) for path in (*root.glob("usr/lib/*-linux-gnu"), root / "usr/lib/mysql/private")]
    base = root / "usr"
    command = [str(base / "sbin/mysqld"), "--no-defaults", f"--basedir={base}"]
    return [str(loader), "--library-path", ":".join(libraries), *command] if loader is not None else None


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


class OwnMySql(LocalServer):
    """A MySQL.

    Args:
        folder: As of ``LocalServer``.
        options: Likewise.
    """

    def __init__(self, folder: Path, options: Sequence[str] = ()) -> None:
        super().__init__("mysqld", folder, options)
        self._command = [*mysqld_command(), *self._user(), f"--tmpdir={self.folder}"]

    @property
    def url(self) -> str:
        """The server as the commands take it."""
        return f"mysql://app:app@127.0.0.1:{self.port}"

    def start(self) -> OwnMySql:
        """Starts it (again), and waits until it answers."""
        first = not self.data.exists()
        if first:
            kept = [option for option in self.options if option.startswith("--lower-case-table-names")]
            copy_of_empty("-".join(["mysql", *kept]), self.data, functools.partial(self._make_empty, kept))
        self.process = self._spawn([
            *self._command, f"--datadir={self.data}", f"--socket={self.socket}", f"--port={self.port}", "--bind-address=127.0.0.1",
            f"--pid-file={self.folder / 'pid'}", "--secure-file-priv=", "--mysqlx=OFF", "--innodb-buffer-pool-size=32M", "--log-bin=binlog",
            "--server-id=1", "--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--binlog-row-metadata=FULL", *self.options,
        ])  # fmt: skip
        self._wait()
        if first:
            self._make_user()
        return self

    def _make_empty(self, kept: Sequence[str], data: Path) -> None:
        making = self._spawn([*self._command, *kept, f"--datadir={data}", "--initialize-insecure"])
        assert making.wait(timeout=2 * START_SECONDS) == 0, self.messages()
        (data / "auto.cnf").unlink(missing_ok=True)  # each server makes its own UUID


@contextlib.contextmanager
def running_mysql(options: Sequence[str] = ()) -> Iterator[OwnMySql]:
    """A MySQL that lives as long as the context; skips the test loudly where no binary is found."""
    mysqld_command()
    with own_folder("paraply-mysql-") as folder, ended(OwnMySql(folder, options)) as server:
        yield server.start()
