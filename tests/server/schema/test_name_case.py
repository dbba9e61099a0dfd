"""Source and target with another lower_case_table_names: the same tables, or a refusal before a name means something else."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from mariadb_versions import ROW_LOG
from own_mysql import running_mysql
from pg_databases import Database
from server.live import replicating
from server.replay import applied, run
from servers import LocalServer, running_mariadb

TABLES = (
    "CREATE DATABASE J_Shop",
    "CREATE TABLE J_Shop.Orders (Id INT PRIMARY KEY, v INT)",
    "INSERT INTO J_Shop.Orders VALUES (1,1)",
    "ALTER TABLE J_Shop.Orders ADD c INT NOT NULL DEFAULT 7",
    "CREATE TABLE J_Shop.Other (id INT PRIMARY KEY, o INT, FOREIGN KEY (o) REFERENCES J_Shop.Orders (Id))",
    "INSERT INTO J_Shop.Other VALUES (1,1)",
    "RENAME TABLE J_Shop.Other TO J_Shop.Moved",
    "UPDATE J_Shop.Moved SET o=NULL",
    "INSERT INTO J_Shop.Moved VALUES (5,1)",
    "CREATE VIEW J_Shop.Vw AS SELECT id AS Total FROM J_Shop.Moved",
)
LOWER = (
    "CREATE DATABASE low",
    "CREATE TABLE low.orders (id INT PRIMARY KEY)",
    "INSERT INTO low.orders VALUES (1)",
    "CREATE VIEW low.vw AS SELECT id AS Total FROM low.orders",
)
#: Statements that are logged as they were typed (DROP TABLE, and the name of MySQL's CREATE VIEW, are not).
TYPED = (
    "CREATE DATABASE Low2",
    "CREATE TABLE IF NOT EXISTS low.Orders (id INT PRIMARY KEY)",
    "CREATE TABLE low.Other (id INT PRIMARY KEY)",
    "ALTER TABLE low.ORDERS ADD c INT",
    "CREATE TABLE low.copy LIKE low.ORDERS",
    "CREATE VIEW low.w2 AS SELECT * FROM low.Orders",
    "CREATE PROCEDURE low.p() SELECT * FROM low.Orders",
    "CREATE TRIGGER low.tr BEFORE INSERT ON low.ORDERS FOR EACH ROW SET @a = 1",
    "TRUNCATE TABLE low.ORDERS",
)
Pair = dict[int, LocalServer]


class Servers:
    """A server that tells upper from lower case in the names of tables (0), and one that does not (1), of one family."""

    def __init__(self, pair: Pair, *, mariadb: bool) -> None:
        self._pair, self._mariadb = pair, mariadb

    def empty(self, setting: int) -> LocalServer:
        """Return the server with this setting, without anything of an earlier test."""
        server = self._pair[setting]
        names = [str(name) for (name,) in server.sql("SHOW DATABASES")]
        own = [name for name in names if name not in ("information_schema", "mysql", "performance_schema", "sys")]
        reset = ("RESET MASTER", "SET GLOBAL gtid_slave_pos=''") if self._mariadb else ("RESET BINARY LOGS AND GTIDS",)
        server.sql("SET foreign_key_checks=0", *(f"DROP DATABASE `{name}`" for name in own), *reset)
        return server

    def log(self, setting: int, folder: Path, statements: Sequence[str]) -> Path:
        """Run statements on the server with this setting and return their log."""
        server = self.empty(setting)
        server.sql(*statements)
        name = str(server.sql("SHOW BINARY LOGS")[-1][0])
        server.sql("FLUSH BINARY LOGS")
        return Path(shutil.copyfile(server.data / name, folder / name))

    def last_gtid(self, setting: int) -> str:
        """Return the GTID of the last transaction of the server with this setting."""
        server = self._pair[setting]
        if self._mariadb:
            return str(server.sql("SELECT @@gtid_binlog_pos")[0][0])
        uuid, _, numbers = str(server.sql("SELECT @@gtid_executed")[0][0]).partition(":")
        return f"{uuid}:{numbers.rpartition('-')[2]}"


@pytest.fixture(scope="module", params=["mysql", "mariadb"])
def servers(request: pytest.FixtureRequest) -> Iterator[Servers]:
    folding = ("--lower-case-table-names=1",)
    with contextlib.ExitStack() as stack:
        if request.param == "mariadb":
            pair: Pair = {n: stack.enter_context(running_mariadb([*ROW_LOG, *folding[:n]])) for n in (0, 1)}
        else:
            pair = {n: stack.enter_context(running_mysql(folding[:n])) for n in (0, 1)}
        yield Servers(pair, mariadb=request.param == "mariadb")


def content(server: LocalServer) -> dict[str, list[Any]]:
    """Return every table and view of the test, by its name in lower case."""
    names = server.sql("SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema IN ('j_shop', 'J_Shop', 'low')")
    return {f"{schema}.{name}".lower(): server.sql(f"SELECT * FROM `{schema}`.`{name}` ORDER BY 1") for schema, name in names}


def names(setting: int) -> tuple[str, str]:
    return "--lower-case-table-names", str(setting)


@pytest.mark.parametrize("live", [False, True], ids=["offline", "live"])
@pytest.mark.parametrize(("source", "target", "statements"), [(0, 1, TABLES), (1, 1, TABLES), (1, 0, LOWER), (0, 0, TABLES)])
def test_r33_tables_whose_names_mean_the_same_are_applied(
    servers: Servers, tmp_path: Path, source: int, target: int, statements: Sequence[str], live: bool
) -> None:
    log = servers.log(source, tmp_path, statements)
    expected, until = content(servers._pair[source]), servers.last_gtid(source)
    if not live:
        to = servers.empty(target)
        applied(log, to.url, *names(source))
    elif source == target:
        pytest.skip("one server would be both")
    else:
        to = servers.empty(target)
        with replicating(servers._pair[source].url, to.url, tmp_path, "--until", until) as replica:
            assert replica.report()["exit_code"] == 0, replica.messages()
    assert content(to) == expected
    assert len(expected) == (2 if statements is LOWER else 3)


@pytest.mark.parametrize("statement", TYPED)
def test_r33_a_name_that_the_source_means_in_lower_case_is_refused(servers: Servers, tmp_path: Path, statement: str) -> None:
    log = servers.log(1, tmp_path, [*LOWER, statement])
    if statement.partition(" low.")[2].partition(" ")[0].encode() not in log.read_bytes():
        pytest.skip("this server does not log it")
    target = servers.empty(0)
    outcome = run(log, target.url, *names(1))
    assert outcome.code == 3, outcome
    assert "lower_case_table_names is 1 there" in outcome.report["error"]["message"]
    assert content(target) == {"low.orders": [(1,)], "low.vw": [(1,)]}


def test_r33_a_live_source_is_asked_for_its_setting(servers: Servers, tmp_path: Path) -> None:
    servers.log(1, tmp_path, [*LOWER, "CREATE TABLE low.Other (id INT PRIMARY KEY)"])
    until, target = servers.last_gtid(1), servers.empty(0)
    with replicating(servers._pair[1].url, target.url, tmp_path, "--until", until) as replica:
        report = replica.report()
    assert report["exit_code"] == 3
    assert "lower_case_table_names is 1 there" in report["error"]["message"]


@pytest.mark.parametrize("statement", ["DROP TABLE IF EXISTS low.ORDERS", "CREATE TABLE IF NOT EXISTS low.ORDERS (id INT PRIMARY KEY)"])
def test_r33_two_names_that_are_one_on_the_target_are_refused(servers: Servers, tmp_path: Path, statement: str) -> None:
    log = servers.log(0, tmp_path, [*LOWER, statement])
    target = servers.empty(1)
    dry = run(log, target.url, "--dry-run", *names(0))
    assert [bool(one["problem"]) for one in dry.report["statements"]][-1:] == [True]
    outcome = run(log, target.url, *names(0))
    assert outcome.code == 3
    assert "are two names on the source" in outcome.report["error"]["message"]
    assert content(target) == {"low.orders": [(1,)], "low.vw": [(1,)]}


def test_r31_rows_of_two_tables_that_are_one_on_the_target_are_refused(servers: Servers, tmp_path: Path) -> None:
    standing = ("CREATE DATABASE low", "CREATE TABLE low.orders (id INT PRIMARY KEY)")
    other = ("CREATE TABLE low.ORDERS (id INT PRIMARY KEY)", "FLUSH BINARY LOGS")
    log = servers.log(0, tmp_path, [*standing, *other, "INSERT INTO low.orders VALUES (1)", "INSERT INTO low.ORDERS VALUES (2)"])
    target = servers.empty(1)
    target.sql(*standing)
    outcome = run(log, target.url, "--allow-gap", *names(0))
    assert outcome.code == 1
    assert "are two names on the source" in outcome.report["error"]["message"]
    assert content(target) == {"low.orders": [(1,)]}


def test_r31_a_table_that_the_target_has_in_another_case_is_named(servers: Servers, tmp_path: Path) -> None:
    log = servers.log(
        1, tmp_path, ["CREATE DATABASE low", "CREATE TABLE low.Orders (id INT PRIMARY KEY)", "INSERT INTO low.Orders VALUES (1)"]
    )
    outcome = run(log, servers.empty(0).url)
    assert outcome.code == 1
    assert "the target has low.Orders, which differs only in upper and lower case" in outcome.report["error"]["message"]


@pytest.mark.postgres
def test_r33_postgresql_gets_the_names_in_lower_case_from_a_live_source(servers: Servers, database: Database, tmp_path: Path) -> None:
    servers.log(1, tmp_path, TABLES)
    expected = content(servers._pair[1])
    options = ("--until", servers.last_gtid(1), "--exclude-table", "J_SHOP.unused")
    for _ in range(2):
        with replicating(servers._pair[1].url, database.url, tmp_path, *options) as replica:
            assert replica.report()["exit_code"] == 0, replica.messages()
    for table in ("j_shop.orders", "j_shop.moved"):
        assert database.sql(f"SELECT * FROM {table} ORDER BY 1") == expected[table]
