"""CREATE TABLE ... SELECT on MariaDB, where the statement commits by itself and its rows are another transaction (R25b, R26)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from mariadb_versions import MariaDbInTree, mariadb_of_version
from server.replay import applied, run
from servers import MariaDbServer

pytestmark = pytest.mark.mariadb
Server = MariaDbServer | MariaDbInTree
COPY = "CREATE TABLE d.copy (k INT PRIMARY KEY) AS SELECT id AS k, v FROM d.t"


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[Server, Server]]:
    options = ["--log-bin=binlog", "--binlog-format=ROW"]
    with ExitStack() as stack:
        one, two = (stack.enter_context(mariadb_of_version("10.11", [*options, f"--server-id={number}"])) for number in (1, 2))
        yield one, two


def logs(source: Server, target: Server, folder: Path, *parts: list[str]) -> list[Path]:
    """Empty both servers; return a copy of a log file for each part."""
    for server in (source, target):
        server.sql(
            "DROP DATABASE IF EXISTS d", "DROP DATABASE IF EXISTS paraply", "RESET MASTER", "SET GLOBAL gtid_slave_pos=''",
            "SET GLOBAL gtid_strict_mode=OFF",
        )  # fmt: skip
    copies = []
    for part in parts:
        name = str(source.sql("SHOW BINARY LOGS")[-1][0])
        source.sql(*part)
        source.sql("FLUSH BINARY LOGS")
        copies.append(Path(shutil.copy(source.data / name, folder)))
    return copies


def begin() -> list[str]:
    """Return the text before the copy."""
    return ["CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, v INT)", "INSERT INTO d.t VALUES (1,1),(2,2)"]


def position(server: Server) -> str:
    """Return the position that the server's own log ends with."""
    return str(server.sql("SELECT @@GLOBAL.gtid_binlog_pos")[0][0])


def test_r26_its_rows_do_not_take_the_gtid_of_the_next_transaction(servers: tuple[Server, Server], tmp_path: Path) -> None:
    source, target = servers
    first, second = logs(source, target, tmp_path, [*begin(), COPY], ["INSERT INTO d.copy VALUES (9,9)"])
    assert position(source) == "0-1-5"
    applied(first, target.url, "--gtid", "preserve")
    assert target.sql("SELECT * FROM d.copy ORDER BY 1") == [(1, 1), (2, 2)]
    assert position(target) == "0-1-4"
    applied(first, target.url, str(second), "--gtid", "preserve")
    assert target.sql("SELECT * FROM d.copy ORDER BY 1") == [(1, 1), (2, 2), (9, 9)]
    assert position(target) == "0-1-5"


@pytest.mark.parametrize("mode", ["preserve", "record", "none"])
def test_r25b_all_of_its_rows_come(servers: tuple[Server, Server], tmp_path: Path, mode: str) -> None:
    source, target = servers
    big = "INSERT INTO d.t VALUES " + ",".join(f"({number},{number})" for number in range(3, 4000))
    (log,) = logs(source, target, tmp_path, [*begin(), big, COPY])
    applied(log, target.url, "--gtid", mode)
    assert target.sql("SELECT COUNT(*), SUM(v) FROM d.copy") == source.sql("SELECT COUNT(*), SUM(v) FROM d.copy")


def test_r26_strict_numbers_are_refused_before_the_statement(servers: tuple[Server, Server], tmp_path: Path) -> None:
    source, target = servers
    (log,) = logs(source, target, tmp_path, [*begin(), COPY])
    target.sql("SET GLOBAL gtid_strict_mode=ON")
    outcome = run(log, target.url, "--gtid", "preserve")
    assert (outcome.code, outcome.report["error"]["class"]) == (3, "LogNotUnderstood")
    assert "gtid_strict_mode" in outcome.report["error"]["message"]
    assert target.sql("SHOW TABLES IN d") == [("t",)]
    target.sql("SET GLOBAL gtid_strict_mode=OFF")
    applied(log, target.url, "--gtid", "preserve")
    assert target.sql("SELECT COUNT(*) FROM d.copy") == [(2,)]
