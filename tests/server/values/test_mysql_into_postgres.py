"""Definitions of MySQL and MariaDB that are spelled in their own ways, with their rows, in PostgreSQL."""

from __future__ import annotations

import shutil
from pathlib import Path

import psycopg
import pytest
from mariadb_versions import MARIADB_VERSIONS, mariadb_of_version
from server.replay import PostgresPlace, SqlPlace, applied, run
from server.source_log import copy_binlogs

from paraply import rows as rows_of_log

INVISIBLE_KEY = (
    "SET SESSION sql_generate_invisible_primary_key=ON",
    "CREATE DATABASE shop",
    "USE shop",
    "CREATE TABLE g (a INT)",
    "ALTER TABLE g ADD c BIGINT UNSIGNED NOT NULL DEFAULT 7 FIRST",
    "INSERT INTO g (c, a) VALUES (100, 9), (200, 10), (300, 11)",
    "ALTER TABLE g MODIFY a INT FIRST",
    "INSERT INTO g (c, a) VALUES (400, 12)",
    "UPDATE g SET a=15 WHERE c=100",
    "DELETE FROM g WHERE c=300",
)


def asked(place: PostgresPlace, text: str) -> list[tuple[object, ...]]:
    with psycopg.connect(place.url) as connection:
        return connection.execute(text.encode()).fetchall()


@pytest.mark.parametrize("metadata", ["MINIMAL", "FULL"])
def test_mysql_keeps_a_generated_invisible_key_in_front(
    mysql_place: SqlPlace, postgres_place: PostgresPlace, tmp_path: Path, metadata: str
) -> None:
    before = mysql_place.sql("SELECT @@GLOBAL.binlog_row_metadata")[0][0]
    mysql_place.sql(f"SET GLOBAL binlog_row_metadata={metadata}")
    try:
        mysql_place.sql(*INVISIBLE_KEY)
    finally:
        mysql_place.sql(f"SET GLOBAL binlog_row_metadata={before}")
    rows = mysql_place.sql("SELECT my_row_id, c, a FROM shop.g ORDER BY 1")
    assert rows == [(1, 100, 15), (2, 200, 10), (4, 400, 12)]
    applied(copy_binlogs(mysql_place.url, tmp_path)[0], postgres_place.url, "--workers", "4")
    assert asked(postgres_place, "SELECT my_row_id, c, a FROM shop.g ORDER BY 1") == rows
    mysql_place.empty()
    applied(tmp_path / "binlog.000001", mysql_place.url, "--workers", "4")
    assert mysql_place.sql("SELECT my_row_id, c, a FROM shop.g ORDER BY 1") == rows


def test_mysql_spells_defaults_and_labels_by_introducers(mysql_place: SqlPlace, postgres_place: PostgresPlace, tmp_path: Path) -> None:
    mysql_place.sql(
        "CREATE DATABASE shop CHARACTER SET latin1", "USE shop",
        "CREATE TABLE t (id INT PRIMARY KEY, y VARCHAR(5) NOT NULL DEFAULT _utf8mb4 x'C3A9', z VARCHAR(5) DEFAULT _latin1 0xE4)",
        "INSERT INTO t (id) VALUES (1)", "CREATE TABLE e (a ENUM(0xE4, '1', '2'))", "INSERT INTO e VALUES (1), ('2')",
    )  # fmt: skip
    applied(copy_binlogs(mysql_place.url, tmp_path)[0], postgres_place.url)
    assert asked(postgres_place, "SELECT * FROM shop.t") == mysql_place.sql("SELECT * FROM shop.t") == [(1, "é", "ä")]
    assert sorted(asked(postgres_place, "SELECT * FROM shop.e")) == [("2",), ("ä",)]


@pytest.mark.parametrize("metadata", ["MINIMAL", "FULL"])
def test_r33_a_label_that_is_no_text_refuses_only_its_rows(
    mysql_place: SqlPlace, postgres_place: PostgresPlace, tmp_path: Path, metadata: str
) -> None:
    mysql_place.sql(
        "CREATE DATABASE shop CHARACTER SET utf8mb4", "USE shop", f"SET GLOBAL binlog_row_metadata={metadata}",
        "CREATE TABLE e (a ENUM(0xE4, '1', '2'))", "INSERT INTO e VALUES ('1'), ('2')",
        "CREATE TABLE s (id INT PRIMARY KEY, a SET(0xE4, '1', 0xC3BC))", "INSERT INTO s VALUES (1, 6), (2, 0)",
        "ALTER TABLE s ADD b ENUM('x', 0xE4) NOT NULL, ADD c ENUM('x', 0xE4)", "INSERT INTO s VALUES (3, 4, 'x', 'x')",
        "SET GLOBAL binlog_row_metadata=MINIMAL",
    )  # fmt: skip
    log = copy_binlogs(mysql_place.url, tmp_path)[0]
    applied(log, postgres_place.url)
    assert sorted(asked(postgres_place, "SELECT * FROM shop.e")) == [("1",), ("2",)]
    rows = [(1, "1,ü", "x", None), (2, "", "x", None), (3, "ü", "x", "x")]
    assert asked(postgres_place, "SELECT * FROM shop.s ORDER BY id") == rows
    mysql_place.sql("INSERT INTO shop.e VALUES (1)", "INSERT INTO shop.s VALUES (4, 3, 'x', 'x')")
    log = copy_binlogs(mysql_place.url, tmp_path)[0]
    values = [change["after"] for change in rows_of_log(log).read_all().to_pylist()]
    assert dict(values[-2]) == {"a": "0xE4"}
    assert dict(values[-1])["a"] == "0xE4,1"
    for table in ("shop.e", "shop.s"):
        postgres_place.empty()
        outcome = run(log, postgres_place.url, "--table", table)
        assert outcome.code == 1
        assert outcome.report["error"]["class"] == "ValueNotStorable"
        assert f"column a of {table} holds the label 0xE4, which is no text" in outcome.report["error"]["message"]
        assert asked(postgres_place, f"SELECT COUNT(*) FROM {table}") == [(2 + (table == "shop.s"),)]


@pytest.mark.parametrize("add", ["b ENUM(0xE4, 'x') NOT NULL", "b ENUM(0x00, 'x') NOT NULL", "b SET(0x00, 'x') NOT NULL DEFAULT 0x00"])
def test_r33_old_rows_get_no_label_that_is_no_text(mysql_place: SqlPlace, postgres_place: PostgresPlace, tmp_path: Path, add: str) -> None:
    mysql_place.sql(
        "CREATE DATABASE shop CHARACTER SET utf8mb4", "USE shop", "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)",
        f"ALTER TABLE t ADD {add}",
    )  # fmt: skip
    outcome = run(copy_binlogs(mysql_place.url, tmp_path)[0], postgres_place.url)
    assert outcome.code == 3
    assert "column b" in outcome.report["error"]["message"]


@pytest.mark.parametrize("version", MARIADB_VERSIONS)
def test_columns_named_with_table_and_database(postgres_place: PostgresPlace, tmp_path: Path, version: str) -> None:
    with mariadb_of_version(version) as server:
        server.sql(
            "CREATE DATABASE shop", "USE shop", "CREATE TABLE q (id INT PRIMARY KEY, c VARCHAR(10))",
            "ALTER TABLE q MODIFY COLUMN q.c VARCHAR(500)", "ALTER TABLE q ADD COLUMN shop.q.r INT",
            "INSERT INTO q VALUES (1, REPEAT('x', 400), 3)", "FLUSH BINARY LOGS",
        )  # fmt: skip
        log = Path(shutil.copy(server.data / "binlog.000001", tmp_path))
    applied(log, postgres_place.url)
    assert asked(postgres_place, "SELECT id, length(c), r FROM shop.q") == [(1, 400, 3)]


def test_r32_a_key_that_changes_its_sign_only_is_written(mysql_place: SqlPlace, postgres_place: PostgresPlace, tmp_path: Path) -> None:
    mysql_place.sql(
        "CREATE DATABASE shop", "USE shop", "CREATE TABLE f (f FLOAT, g DOUBLE, k INT, PRIMARY KEY (k, f, g))",
        "INSERT INTO f VALUES (0, 0, 1), (0, 0, 2), (0, 0, 3)", "UPDATE f SET f = -f WHERE k > 1", "UPDATE f SET g = -g WHERE k > 2",
    )  # fmt: skip
    applied(copy_binlogs(mysql_place.url, tmp_path)[0], postgres_place.url)
    assert asked(postgres_place, "SELECT f::text, g::text FROM shop.f ORDER BY k") == [("0", "0"), ("-0", "0"), ("-0", "-0")]


def test_new_columns_have_their_literal_defaults(mysql_place: SqlPlace, postgres_place: PostgresPlace, tmp_path: Path) -> None:
    columns = (
        "BOOLEAN NOT NULL DEFAULT FALSE", "BIT(1) NOT NULL DEFAULT b'1'", "BIT(1) NOT NULL DEFAULT 1", "BIT(3) NOT NULL",
        "FLOAT DEFAULT 1e5", "INT NOT NULL DEFAULT 0x10", "VARCHAR(5) NOT NULL DEFAULT 0x4142", "VARBINARY(5) NOT NULL DEFAULT x'00ff'",
        "INT DEFAULT (5)", "TIMESTAMP NOT NULL DEFAULT '2024-01-01 05:00:00'",
    )  # fmt: skip
    mysql_place.sql(
        "CREATE DATABASE shop", "USE shop", "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)", "SET time_zone='+00:00'",
        *(f"ALTER TABLE t ADD d{number} {column}" for number, column in enumerate(columns)),
    )  # fmt: skip
    applied(copy_binlogs(mysql_place.url, tmp_path)[0], postgres_place.url)
    found = asked(postgres_place, "SELECT d0, d1, d2, d3, d4, d5, d6, d7, d8, extract(epoch FROM d9)::bigint FROM shop.t")
    assert found == [(0, "1", "1", "000", 1e5, 16, "AB", b"\x00\xff", 5, 1704085200)]
