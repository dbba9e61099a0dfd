"""Client tools of a server's family: the decoder that prints its logs, and the client that runs the output."""

from __future__ import annotations

import shlex
import shutil
import subprocess

from paraply.bench.server import BenchServer
from paraply.errors import UsageError

__all__ = ["client_of", "decoder_of"]

_WITHOUT = "leave the peer out with --no-peer and, where loads are made, name the server's data folder with --data"


def decoder_of(server: BenchServer, given: str | None) -> list[str]:
    """Return the command that decodes the server's logs: the given one, else the one of its family on PATH.

    MariaDB's packages install their decoder as ``mysqlbinlog`` too, and MySQL does not accept its output for a log of MySQL.

    Args:
        server: Server of the logs.
        given: A command, as a shell would read it.

    Raises:
        UsageError: No decoder is installed, or only MariaDB's for a MySQL.
    """
    if given:
        return shlex.split(given)
    path = _found("mariadb-binlog" if server.mariadb else "mysqlbinlog", "--decode")
    if not server.mariadb and _is_mariadbs(path):
        raise UsageError(f"{path} is MariaDB's, and the server is a MySQL; give MySQL's own with --decode, or {_WITHOUT}")
    return [path]


def client_of(server: BenchServer, given: str | None) -> list[str]:
    """Return the command that sends statements to the server: the given one, else the one of its family on PATH.

    Args:
        server: Server to send to.
        given: A command, as a shell would read it.

    Raises:
        UsageError: No client is installed.
    """
    return shlex.split(given) if given else [_found("mariadb" if server.mariadb else "mysql", "--client")]


def _found(name: str, option: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise UsageError(f"{name} is not installed; give the command with {option}, or {_WITHOUT}")
    return path


def _is_mariadbs(path: str) -> bool:
    # The name is not in the output of ``--version``, but in the help's copyright.
    shown = subprocess.run([path, "--no-defaults", "--help"], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return b"MariaDB" in shown.stdout
