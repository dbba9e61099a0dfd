"""Logs of sources with lower_case_table_names=1, whose rows have names in lower case, and system databases, into PostgreSQL."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from mariadb_versions import ROW_LOG
from pg_databases import Database
from server.replay import applied, run
from servers import MariaDbServer, running_mariadb

pytestmark = pytest.mark.postgres
LogOf = Callable[..., Path]

MADE = (
    "CREATE DATABASE J_Shop",
    "USE j_shop",
    "CREATE TABLE Orders (Id INT PRIMARY KEY)",
    "INSERT INTO ORDERS VALUES (1)",
    "ALTER TABLE orDERS ADD c INT NOT NULL DEFAULT 7",
    "CREATE TABLE Other (Id INT PRIMARY KEY)",
    "INSERT INTO OTHER VALUES (5)",
    "RENAME TABLE Orders TO J_SHOP.Moved",
    "INSERT INTO moved VALUES (2, 8)",
)


def _logs(server: MariaDbServer, folder: Path) -> LogOf:
    def log_of(*statements: str) -> Path:
        with server.connect() as connection, connection.cursor() as cursor:
            cursor.execute("DROP DATABASE IF EXISTS j_shop")
            cursor.execute("FLUSH BINARY LOGS")
            for sql in statements:
                cursor.execute(sql)
            cursor.execute("FLUSH BINARY LOGS")
            cursor.execute("SHOW BINARY LOGS")
            name = str(cursor.fetchall()[-2][0])
        return Path(shutil.copy(server.data / name, folder / name))

    return log_of


@pytest.fixture
def lower_case_log(tmp_path: Path) -> Iterator[LogOf]:
    with running_mariadb([*ROW_LOG, "--lower-case-table-names=1"]) as server:
        yield _logs(server, tmp_path)


@pytest.fixture
def log_of(mariadb_server: MariaDbServer, tmp_path: Path) -> LogOf:
    return _logs(mariadb_server, tmp_path)


@pytest.fixture(scope="module")
def mariadb_server() -> Iterator[MariaDbServer]:
    with running_mariadb(ROW_LOG) as server:
        yield server


def test_names_in_lower_case(lower_case_log: LogOf, database: Database) -> None:
    log = lower_case_log(*MADE)
    dry = run(log, database.url, "--allow-gap", "--dry-run", "--lower-case-table-names", "1")
    assert [one["problem"] for one in dry.report["statements"] if one["problem"]] == []
    applied(log, database.url, "--allow-gap", "--lower-case-table-names", "1")
    assert database.sql("SELECT * FROM j_shop.moved ORDER BY 1") == [(1, 7), (2, 8)]


def test_filters_are_compared_in_lower_case(lower_case_log: LogOf, database: Database) -> None:
    log = lower_case_log(*MADE)
    applied(log, database.url, "--allow-gap", "--lower-case-table-names", "1", "--table", "J_Shop.OTHER")
    assert database.sql("SELECT * FROM j_shop.other") == [(5,)]
    assert database.rows("j_shop.moved") is None


def test_without_the_option_the_error_names_the_setting(lower_case_log: LogOf, database: Database) -> None:
    outcome = run(lower_case_log(*MADE), database.url, "--allow-gap")
    assert outcome.code == 1
    message = outcome.report["error"]["message"]
    assert "j_shop.Orders is known" in message
    assert "--lower-case-table-names 1" in message


SYSTEM = (
    "CREATE DATABASE j_shop",
    "CREATE TABLE j_shop.t (id INT PRIMARY KEY)",
    "INSERT INTO j_shop.t VALUES (1)",
    "INSERT INTO mysql.time_zone_name (Name, Time_zone_id) VALUES ('Zz/Zz', 99999)",
    "DELETE FROM mysql.time_zone_name WHERE Name='Zz/Zz'",
    "CREATE TABLE mysql.own (id INT PRIMARY KEY)",
    "INSERT INTO mysql.own VALUES (1)",
    "DROP TABLE mysql.own",
    "CREATE DATABASE Sys",
    "CREATE TABLE Sys.t (id INT PRIMARY KEY)",
    "INSERT INTO Sys.t VALUES (3)",
    "INSERT INTO j_shop.t VALUES (2)",
    "DROP TABLE Sys.t",
    "DROP DATABASE Sys",
)


def test_rows_of_the_servers_own_databases_are_left_out(log_of: LogOf, database: Database) -> None:
    log = log_of(*SYSTEM)
    dry = run(log, database.url, "--allow-gap", "--dry-run")
    assert any("mysql" in note and "left out" in note for note in dry.report["plan"]["notes"])
    assert [one["problem"] for one in dry.report["statements"] if one["problem"]] == []
    report = applied(log, database.url, "--allow-gap")
    assert any("mysql" in note and "left out" in note for note in report["notes"])
    assert database.sql("SELECT id FROM j_shop.t ORDER BY id") == [(1,), (2,)]
    assert database.sql("SELECT count(*) FROM pg_namespace WHERE nspname = 'mysql'") == [(0,)]


def test_a_system_database_that_is_named_is_applied(log_of: LogOf, database: Database) -> None:
    log = log_of("CREATE TABLE mysql.own (id INT PRIMARY KEY)", "INSERT INTO mysql.own VALUES (1)", "DELETE FROM mysql.own")
    applied(log, database.url, "--allow-gap", "--database", "mysql")
    assert database.rows("mysql.own") == []
