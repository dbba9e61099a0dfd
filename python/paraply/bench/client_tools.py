"""The client tools of a server's own kind: the decoder that prints its logs, and the client that takes what it prints."""

from __future__ import annotations

import shlex
import shutil
import subprocess

from paraply.bench.server import BenchServer
from paraply.errors import UsageError

__all__ = ["client_of", "decoder_of"]

_WITHOUT = "leave the peer out with --no-peer and, where loads are made, name the server's data folder with --data"


def decoder_of(server: BenchServer, given: str | None) -> list[str]:
    """The command that decodes the server's logs: the one that is given, else the one of its kind on PATH.

    MariaDB's packages install theirs as ``mysqlbinlog`` too, and what that prints of a MySQL's log no MySQL takes.

    Args:
        server: Whose logs.
        given: A command, as a shell would read it.

    Raises:
        UsageError: None is installed, or only MariaDB's for a MySQL.
    """
    if given:
        return shlex.split(given)
    path = _found("mariadb-binlog" if server.mariadb else "mysqlbinlog", "--decode")
    if not server.mariadb and _is_mariadbs(path):
        raise UsageError(f"{path} is MariaDB's, and the server is a MySQL; give MySQL's own with --decode, or {_WITHOUT}")
    return [path]


def client_of(server: BenchServer, given: str | None) -> list[str]:
    """The command that sends statements to the server: the one that is given, else the one of its kind on PATH.

    Args:
        server: Where to.
        given: A command, as a shell would read it.

    Raises:
        UsageError: None is installed.
    """
    return shlex.split(given) if given else [_found("mariadb" if server.mariadb else "mysql", "--client")]


def _found(name: str, option: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise UsageError(f"{name} is not installed; give the command with {option}, or {_WITHOUT}")
    return path


def _is_mariadbs(path: str) -> bool:
    # The name is not in what ``--version`` prints, but in the help's copyright.
    told = subprocess.run([path, "--no-defaults", "--help"], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return b"MariaDB" in told.stdout
