"""MariaDB servers of several versions, each started by the test that needs it.

10.11 is the machine's own. 10.5 and 11.8 live in system trees of their own, which ``PARAPLY_TEST_MARIADB_10_5`` and
``PARAPLY_TEST_MARIADB_11_8`` name; they are run there by ``chroot``, as root.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from required import missing
from servers import LocalServer, MariaDbServer, copy_folder, ended, running_mariadb

__all__ = ["MARIADB_VERSIONS", "MariaDbInTree", "mariadb_of_version", "mariadb_tree"]

#: All versions that tests know, oldest first.
MARIADB_VERSIONS = ("10.5", "10.11", "11.8")

ROW_LOG = ("--log-bin=binlog", "--binlog-format=ROW", "--server-id=1")


def mariadb_tree(version: str) -> Path:
    """Return the system tree with the MariaDB of this version; where there is none, the test lacks what it needs."""
    variable = f"PARAPLY_TEST_MARIADB_{version.replace('.', '_')}"
    named = os.environ.get(variable)
    if not named:
        missing(f"NO MARIADB {version}: set {variable} to the root of a system tree in which it is installed")
    if os.getuid() != 0:
        missing(f"NO MARIADB {version}: only root may run it in the tree that {variable} names")
    return Path(named)


@contextlib.contextmanager
def mariadb_of_version(version: str, options: Sequence[str] = ROW_LOG) -> Iterator[MariaDbServer | MariaDbInTree]:
    """Start an empty MariaDB of this version, with a row binlog unless the options say otherwise, and kill it at the end.

    Args:
        version: One of ``MARIADB_VERSIONS``.
        options: Options of the server.
    """
    if version == "10.11":
        with running_mariadb(options) as server:
            yield server
        return
    tree = mariadb_tree(version)
    folder = Path(tempfile.mkdtemp(prefix="t", dir=tree / "srv"))
    try:
        with ended(MariaDbInTree(tree, folder, options)) as inside:
            yield inside.start()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class MariaDbInTree(LocalServer):
    """A MariaDB that runs in a system tree of its own.

    Args:
        tree: The root of the tree.
        folder: Folder of this server, within the tree.
        options: Options of the server.
    """

    def __init__(self, tree: Path, folder: Path, options: Sequence[str] = ()) -> None:
        program = next(name for name in ("mariadbd", "mysqld") if (tree / "usr/sbin" / name).exists())
        super().__init__(program, folder, options)
        self._tree = tree

    @property
    def url(self) -> str:
        """The server as the commands take it."""
        return f"mariadb://app:app@127.0.0.1:{self.port}"

    def start(self, options: Sequence[str] = ()) -> MariaDbInTree:
        """Start it (again), with these options besides its own, and wait until it answers."""
        first = not self.data.exists()
        if first:
            self._install()
        self.socket.unlink(missing_ok=True)
        inside = Path("/") / self.folder.relative_to(self._tree)
        self.process = self._spawn([
            *self._chroot(self.program), "--no-defaults", "--user=root", f"--datadir={inside / 'data'}", f"--socket={inside / 's.sock'}",
            f"--port={self.port}", "--bind-address=127.0.0.1", f"--pid-file={inside / 'pid'}", f"--tmpdir={inside}",
            "--innodb-buffer-pool-size=64M", *self.options, *options,
        ])  # fmt: skip
        self._wait()
        if first:
            self._make_user()
        return self

    def client(self, program: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        """Run one of this version's client programs inside of the tree."""
        return subprocess.run(self._chroot(program, *arguments), check=True, capture_output=True)

    def _chroot(self, *command: str) -> list[str]:
        return ["chroot", str(self._tree), *command]

    def _install(self) -> None:
        """Copy an empty data folder, which is made once for all servers of the tree."""
        base = self._tree / "srv/paraply-empty"
        with (self._tree / "srv/paraply-empty.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not base.exists():
                self._make_empty(base)
        copy_folder(base, self.data)

    def _make_empty(self, base: Path) -> None:
        program = next(name for name in ("mariadb-install-db", "mysql_install_db") if (self._tree / "usr/bin" / name).exists())
        unfinished = base.with_suffix(".new")
        shutil.rmtree(unfinished, ignore_errors=True)
        options = ["--auth-root-authentication-method=normal", "--skip-test-db", "--force", "--user=root"]
        arguments = [f"--datadir=/srv/{unfinished.name}", *options]
        done = subprocess.run(self._chroot(program, "--no-defaults", *arguments), check=False, capture_output=True, text=True)
        assert done.returncode == 0, f"{program}: {done.stdout[-2000:]} {done.stderr[-2000:]}"
        unfinished.rename(base)
