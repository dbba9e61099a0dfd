"""Databases and tables whose names are one for most collations, and two for the server (MySQL and MariaDB)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from server.apply.test_errors_mysql import Server, server
from server.replay import applied

from paraply._native import MySqlConnection
from paraply.schema.readers.live import read_tables
from paraply.targets.mysql.ddl.statement import object_exists
from paraply.targets.mysql.rows.row_finder import TableKeys
from paraply.targets.mysql.sql import rows_of
from paraply.targets.url import parse_url

__all__ = ["server"]

pytestmark = pytest.mark.mariadb

DATABASES = ("errs", "Errs", "Sys")
COLUMNS = {"errs.abc": "a", "errs.ABC": "a b", "errs.äbc": "a b c", "Errs.abc": "a b c d", "Errs.größe": "a b c d e", "Sys.t": "a b"}
STATEMENTS = [
    *(f"CREATE DATABASE {name}" for name in DATABASES),
    *(
        f"CREATE TABLE {table} ({columns.replace(' ', ' INT, ')} INT, PRIMARY KEY ({columns.split()[-1]}))"
        for table, columns in COLUMNS.items()
    ),
    *(f"INSERT INTO {table} VALUES ({', '.join('7' * (columns.count(' ') + 1))})" for table, columns in COLUMNS.items()),
    "CREATE TABLE errs.child (a INT PRIMARY KEY, CONSTRAINT up FOREIGN KEY (a) REFERENCES errs.abc (a))",
    "INSERT INTO errs.child VALUES (7)",
    "RENAME TABLE errs.ABC TO errs.old, errs.äbc TO errs.ABC, errs.old TO errs.äbc",
    "UPDATE errs.ABC SET a=8",
    "UPDATE errs.äbc SET a=9",
    "DROP TABLE Errs.größe",
    "CREATE TABLE Errs.grosse (a INT PRIMARY KEY)",
    "INSERT INTO Errs.grosse VALUES (1)",
]
ROWS = {
    "errs.abc": (7,), "errs.child": (7,), "errs.ABC": (8, 7, 7), "errs.äbc": (9, 7),
    "Errs.abc": (7, 7, 7, 7), "Errs.grosse": (1,), "Sys.t": (7, 7),
}  # fmt: skip


@pytest.fixture
def log(server: Server, tmp_path: Path) -> Iterator[Path]:
    if server.sql("SELECT @@lower_case_table_names") != [(0,)]:
        pytest.skip("names that differ by case are one on this server")
    drop(server)
    recorded = server.record(STATEMENTS, tmp_path / "binlog.000001")
    drop(server)
    yield recorded
    drop(server)


def drop(server: Server) -> None:
    server.sql("SET foreign_key_checks=0", *(f"DROP DATABASE IF EXISTS {name}" for name in DATABASES))


def connected(server: Server) -> MySqlConnection:
    url = parse_url(server.url)
    return MySqlConnection(url.host, url.port, url.user, url.password, socket=url.socket)


@pytest.mark.parametrize("workers", ["0", "4"])
def test_r31_tables_with_similar_names_are_not_taken_for_one(server: Server, log: Path, workers: str) -> None:
    applied(log, server.url, "--workers", workers)
    assert {table: server.sql(f"SELECT * FROM {table}") for table in ROWS} == {table: [row] for table, row in ROWS.items()}
    connection = connected(server)
    try:
        catalog = {(table.database, table.name): table for table in read_tables(lambda sql: rows_of(connection.query(sql)))}
        for table, row in ROWS.items():
            database, name = table.split(".")
            assert len(catalog[database, name].columns) == len(row), table
            assert len(TableKeys.read(connection, database, name).columns) == len(row), table
            assert len(TableKeys.read(connection, database, name).keys) == 1, table
    finally:
        connection.close()


def test_r25b_whether_a_statement_was_done_is_not_judged_by_a_similar_name(server: Server, log: Path) -> None:
    applied(log, server.url)
    connection = connected(server)
    try:
        there = [name for name in ("Errs", "ERRS", "érrs", "errs") if object_exists(connection, name, None)]
        assert there == ["Errs", "errs"]
        there = [name for name in ("grosse", "größe", "Grosse", "abc", "ABC") if object_exists(connection, "Errs", name)]
        assert there == ["grosse", "abc"]
    finally:
        connection.close()
