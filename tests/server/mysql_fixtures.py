"""Real MySQL and MariaDB servers for tests of the targets.

MySQL: ``PARAPLY_TEST_MYSQL=mysql://user:password@host:port`` names a server whose databases ``shop`` and ``paraply`` and whose
binlogs may be thrown away. MariaDB: the same with ``PARAPLY_TEST_MARIADB``, or a server of our own where it is installed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from typing import TYPE_CHECKING

import pytest
from required import missing
from servers import mysql_url

from paraply.errors import ParaplyError
from paraply.targets.mysql.target import MySqlTarget, connect
from paraply.targets.protocol import ApplyPlan
from paraply.targets.url import parse_url

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from paraply.targets.mysql.sql import Connection


class Server:
    """A server that tests may empty."""

    def __init__(self, url: str) -> None:
        self.url = parse_url(url)
        self.mariadb = self.url.family == "mariadb"

    def connection(self) -> Connection:
        return connect(self.url)

    def sql(self, text: str) -> list[tuple[object, ...]]:
        """Runs SQL and gives the last result's rows, bytes as text."""
        connection = self.connection()
        try:
            rows = connection.query(text)[-1][1]
            return [tuple(v.decode() if isinstance(v, bytes) else v for v in row) for row in rows]
        finally:
            connection.close()

    def empty(self) -> None:
        """Throws everything away that tests have made, and ends what a failed test left open."""
        for (number,) in self.sql("SELECT id FROM information_schema.processlist WHERE user=SUBSTRING_INDEX(USER(),'@',1)"
                                  " AND id<>CONNECTION_ID()"):  # fmt: skip
            with contextlib.suppress(ParaplyError):
                self.sql(f"KILL {number}")
        self.sql("DROP DATABASE IF EXISTS shop; DROP DATABASE IF EXISTS paraply; DROP DATABASE IF EXISTS t")
        self.sql("RESET MASTER; SET GLOBAL gtid_slave_pos=''" if self.mariadb else "RESET BINARY LOGS AND GTIDS")

    def target(self) -> MySqlTarget:
        return MySqlTarget(self.url)

    def opened(self, **options: object) -> MySqlTarget:
        """A target that has taken its channel over; options as of ``plan``."""
        target = self.target()
        target.open(self.plan(**options))
        return target

    def plan(self, **options: object) -> ApplyPlan:
        values: dict[str, object] = {"channel": "main", "fingerprint": "f", "workers": 1, "mariadb": self.mariadb}
        return ApplyPlan(**(values | options))  # type: ignore[arg-type]

    def checksums(self) -> dict[str, int]:
        tables = ("customer", "product", "orders", "order_line", "counter", "tag")
        return {str(name): int(str(value)) for name, value in self.sql("CHECKSUM TABLE " + ", ".join(f"shop.{t}" for t in tables))}


@pytest.fixture
def mysql() -> Server:
    server = Server(mysql_url())
    server.empty()
    return server


@pytest.fixture(scope="session")
def mariadb_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    named = os.environ.get("PARAPLY_TEST_MARIADB")
    if named:
        yield named
        return
    if shutil.which("mariadbd") is None or shutil.which("mariadb-install-db") is None:
        missing("NO MARIADB SERVER: install mariadb-server, or set PARAPLY_TEST_MARIADB=mariadb://user:password@host:port")
    folder = tmp_path_factory.mktemp("mariadb")
    process = _start_mariadb(folder)
    try:
        yield f"mariadb://root@localhost?socket={folder}/s.sock"
    finally:
        process.terminate()
        process.wait(30)


def _start_mariadb(folder: Path) -> subprocess.Popen[bytes]:
    user = ["--user=root"] if os.geteuid() == 0 else []
    own = ["--no-defaults", *user, f"--datadir={folder}/data", f"--tmpdir={folder}"]
    subprocess.run(["mariadb-install-db", *own, "--auth-root-authentication-method=normal"], check=True, capture_output=True)
    process = subprocess.Popen(
        ["mariadbd", *own, f"--socket={folder}/s.sock", "--skip-networking", "--log-bin=binlog", "--server-id=77"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    server = Server(f"mariadb://root@localhost?socket={folder}/s.sock")
    for _ in range(120):
        try:
            server.sql("SELECT 1")
        except ParaplyError:
            time.sleep(0.25)
        else:
            return process
    process.kill()
    raise AssertionError("MariaDB did not start")


@pytest.fixture
def mariadb(mariadb_url: str) -> Server:
    server = Server(mariadb_url)
    server.empty()
    return server


@pytest.fixture(params=["mysql", "mariadb"])
def server(request: pytest.FixtureRequest) -> Server:
    made: Server = request.getfixturevalue(request.param)
    return made
