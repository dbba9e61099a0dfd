"""MariaDB servers of several versions as source and target of a test: started once for a module, emptied for each test."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymysql
import pytest
from server.replay import Outcome, run

from tests.mariadb_versions import ROW_LOG, MariaDbInTree, mariadb_of_version
from tests.servers import MariaDbServer

__all__ = ["Server", "VersionServers", "logged", "make_version_servers", "replayed", "seen"]

Server = MariaDbServer | MariaDbInTree
STANDING = ("information_schema", "mysql", "performance_schema", "sys")


class VersionServers:
    """Servers by their version and their part in a test."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self._stack = stack
        self._running: dict[tuple[str, str, tuple[str, ...]], Server] = {}

    def source(self, version: str, *options: str) -> Server:
        """Return an empty server that the test's log comes from."""
        return self._empty("source", version, options)

    def target(self, version: str, *options: str) -> Server:
        """Return an empty server that the log is replayed into."""
        return self._empty("target", version, options)

    def _empty(self, part: str, version: str, options: tuple[str, ...]) -> Server:
        key = (part, version, options)
        if key not in self._running:
            self._running[key] = self._stack.enter_context(mariadb_of_version(version, (*ROW_LOG, *options)))
        server = self._running[key]
        for (name,) in server.sql("SHOW DATABASES"):
            if name not in STANDING:
                server.sql(f"DROP DATABASE `{name}`")
        server.sql("RESET MASTER")
        server.sql("SET GLOBAL gtid_slave_pos=''")
        return server


@pytest.fixture(scope="module")
def make_version_servers() -> Iterator[VersionServers]:
    """Give servers of several versions to the tests of a module."""
    with contextlib.ExitStack() as stack:
        yield VersionServers(stack)


def logged(source: Server, folder: Path, *statements: str) -> Path:
    """Run statements in one session of the source and return their log."""
    source.sql("FLUSH BINARY LOGS")
    name = str(source.sql("SHOW BINARY LOGS")[-1][0])
    source.sql(*statements)
    source.sql("FLUSH BINARY LOGS")
    return Path(shutil.copyfile(source.data / name, folder / name))


def replayed(log: Path, target: Server, *options: str) -> Outcome:
    """Apply a log to the target; it must succeed."""
    outcome = run(log, target.url, *options)
    assert outcome.code == 0, f"{outcome.report.get('error')}\n{outcome.stderr}"
    return outcome


def seen(server: Server, *queries: str) -> list[Any]:
    """Return the view of a reader: the rows of each query, under one time zone and sql_mode; an error as its text."""
    found: list[Any] = []
    for query in queries:
        try:
            found.append(server.sql("SET time_zone='+00:00', sql_mode=''", query))
        except pymysql.MySQLError as error:
            found.append(str(error))
    return found
