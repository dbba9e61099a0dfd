"""Rows of tables that the target computes or checks again: under the settings of the source's session, as MySQL's applier does (R33).

Stored generated columns, functional indexes and CHECK constraints; MariaDB's logs have no settings of rows.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from mariadb_versions import MARIADB_VERSIONS, ROW_LOG, mariadb_of_version
from server.history_source import with_other_uuid
from server.replay import SqlPlace, applied, run
from server.source_log import copy_binlogs
from servers import sql_connect

Statements = tuple[str, ...]
Made = tuple[Path, list[tuple[object, ...]]]
CASES: dict[str, Statements] = {
    "time zone": (
        "CREATE TABLE shop.t (id INT PRIMARY KEY, ts TIMESTAMP NULL, s DATETIME AS (ts) STORED, d DATE AS (DATE(ts)) STORED, UNIQUE (d))",
        "SET time_zone='+05:30'",
        "INSERT INTO shop.t (id, ts) VALUES (1, '2024-01-01 02:00:00'), (2, '2024-01-03 02:00:00')",
        "SET time_zone='-11:00'",
        "UPDATE shop.t SET ts = ts + INTERVAL 1 MINUTE WHERE id = 1",
        "SET time_zone='SYSTEM'",
        "INSERT INTO shop.t (id, ts) VALUES (3, '2024-02-01 02:00:00')",
        "DELETE FROM shop.t WHERE id = 2",
    ),
    "padded text": (
        "SET sql_mode='PAD_CHAR_TO_FULL_LENGTH'",
        "CREATE TABLE shop.t (id INT PRIMARY KEY, c CHAR(5), s VARCHAR(20) AS (CONCAT(c, '!')) STORED)",
        "INSERT INTO shop.t (id, c) VALUES (1, 'a')",
        "SET sql_mode=''",
        "INSERT INTO shop.t (id, c) VALUES (2, 'a')",
    ),
    "names of months": (
        "CREATE TABLE shop.t (id INT PRIMARY KEY, d DATE, s VARCHAR(20) AS (MONTHNAME(d)) STORED)",
        "SET lc_time_names='de_DE'",
        # Not in another language afterwards: MySQL 9.7 computes with the language of the session that opened the table first.
        "INSERT INTO shop.t (id, d) VALUES (1, '2024-03-01'), (2, '2024-05-01')",
    ),
    "lenient mode": (
        "SET sql_mode=''",
        "CREATE TABLE shop.t (id INT PRIMARY KEY, a VARCHAR(10), d DATE AS (a) STORED)",
        "INSERT INTO shop.t (id, a) VALUES (1, '2024-00-00'), (2, 'x')",
    ),
    "differences below zero": (
        "SET sql_mode='NO_UNSIGNED_SUBTRACTION,STRICT_ALL_TABLES'",
        "CREATE TABLE shop.t (id INT PRIMARY KEY, a INT UNSIGNED, b INT UNSIGNED, s INT AS (a - b) VIRTUAL, KEY (s))",
        "INSERT INTO shop.t (id, a, b) VALUES (1, 1, 2)",
    ),
    "check": (
        "SET time_zone='+10:00'",
        "CREATE TABLE shop.t (id INT PRIMARY KEY, ts TIMESTAMP, CHECK (ts > '2024-01-01 00:00:00'))",
        "INSERT INTO shop.t VALUES (1, '2024-01-01 02:00:00')",
    ),
    "functional index": (
        "CREATE TABLE shop.t (id INT PRIMARY KEY, a INT UNSIGNED, b INT UNSIGNED, UNIQUE ((a - b)))",
        "SET sql_mode='NO_UNSIGNED_SUBTRACTION'",
        "INSERT INTO shop.t VALUES (1, 1, 2), (2, 5, 1)",
        "UPDATE shop.t SET a = 0 WHERE id = 1",
    ),
    "prepared transaction": (
        "CREATE TABLE shop.t (id INT PRIMARY KEY, ts TIMESTAMP NULL, s DATETIME AS (ts) STORED)",
        "SET time_zone='+03:00'",
        "XA START 'x'",
        "INSERT INTO shop.t (id, ts) VALUES (1, '2024-01-01 02:00:00')",
        "XA END 'x'",
        "XA PREPARE 'x'",
        "XA COMMIT 'x'",
        "SET time_zone='-03:00'",
        "INSERT INTO shop.t (id, ts) VALUES (2, '2024-01-01 02:00:00')",
    ),
}
OPTIONS = [(), ("--workers", "0"), ("--merge", "off"), ("--gtid", "preserve"), ("--gtid", "none"), ("--workers", "0", "--merge", "8")]


def in_one_session(place: SqlPlace, statements: Statements) -> None:
    parts = urlsplit(place.url)
    connection = sql_connect(
        host=parts.hostname or "", port=parts.port or 3306, user=parts.username, password=parts.password or "", autocommit=True
    )
    try:
        with connection.cursor() as cursor:
            for statement in ("CREATE DATABASE shop", *statements):
                cursor.execute(statement)
    finally:
        connection.close()


@pytest.fixture(params=CASES.values(), ids=CASES.keys())
def made(request: pytest.FixtureRequest, mysql_place: SqlPlace, tmp_path: Path) -> Made:
    """The log of a case, and its rows on the source."""
    in_one_session(mysql_place, request.param)
    rows = rows_in(mysql_place)
    (log,) = copy_binlogs(mysql_place.url, tmp_path)
    return with_other_uuid(log, log), rows


def rows_in(place: SqlPlace) -> list[tuple[object, ...]]:
    """Return all rows, read under a mode that computes every virtual column, and what the server says of the table's indexes."""
    mode = "SET sql_mode='NO_UNSIGNED_SUBTRACTION'"
    return [*place.sql(mode, "SELECT * FROM shop.t ORDER BY id"), *place.sql(mode, "CHECK TABLE shop.t EXTENDED")]


@pytest.mark.by_turns(4)
@pytest.mark.mysql
def test_r33_rows_are_computed_and_checked_as_on_the_source_on_mysql(made: Made, mysql_place: SqlPlace) -> None:
    log, expected = made
    for options in OPTIONS:
        mysql_place.empty()
        applied(log, mysql_place.url, *options)
        assert rows_in(mysql_place) == expected, options


GLOBALS = {"div_precision_increment": "9", "default_week_format": "3", "block_encryption_mode": "'aes-256-ecb'"}
COLUMNS = "id INT PRIMARY KEY, a INT, b INT, d DATE, q DECIMAL(12,8) AS (a / b) STORED, v DECIMAL(12,8) AS (b / a) VIRTUAL, KEY (v)"
COMPUTED = (
    f"CREATE TABLE shop.t ({COLUMNS}, w INT AS (WEEK(d)) STORED, x VARBINARY(64) AS (AES_ENCRYPT(a, 'k')) STORED)",
    "INSERT INTO shop.t (id, a, b, d) VALUES (1, 7, 3, '2024-01-03'), (2, 2, 7, '2023-01-01')",
    "ALTER TABLE shop.t ADD n INT",
    "INSERT INTO shop.t (id, a, b, d) VALUES (3, 1, 7, '2022-01-01')",
    "UPDATE shop.t SET a = 11 WHERE id = 2",
)


@pytest.mark.mysql
def test_r33_the_targets_globals_change_no_generated_column_on_mysql(mysql_place: SqlPlace, tmp_path: Path) -> None:
    in_one_session(mysql_place, COMPUTED)
    rows = rows_in(mysql_place)
    (log,) = copy_binlogs(mysql_place.url, tmp_path)
    other = with_other_uuid(log, log)
    try:
        mysql_place.sql(*(f"SET GLOBAL {name}={value}" for name, value in GLOBALS.items()))
        for options in OPTIONS:
            mysql_place.empty()
            applied(other, mysql_place.url, *options)
            mysql_place.sql(*(f"SET GLOBAL {name}=DEFAULT" for name in GLOBALS))
            assert rows_in(mysql_place) == rows, options
            mysql_place.sql(*(f"SET GLOBAL {name}={value}" for name, value in GLOBALS.items()))
    finally:
        mysql_place.sql(*(f"SET GLOBAL {name}=DEFAULT" for name in GLOBALS))


@pytest.mark.mariadb
@pytest.mark.parametrize("version", MARIADB_VERSIONS)
def test_r33_the_targets_globals_change_no_generated_column_on_mariadb(tmp_path: Path, version: str) -> None:
    statements = [f"CREATE TABLE shop.t ({COLUMNS}, w INT AS (WEEK(d)) VIRTUAL)", *COMPUTED[1:]]
    with mariadb_of_version(version, [*ROW_LOG]) as source, mariadb_of_version(version, [*ROW_LOG, "--server-id=2"]) as target:
        source.sql("CREATE DATABASE shop", *statements)
        log = Path(shutil.copy(source.data / str(source.sql("SHOW BINARY LOGS")[-1][0]), tmp_path))
        has = [name for name in GLOBALS if source.sql(f"SHOW VARIABLES LIKE '{name}'")]
        target.sql(*(f"SET GLOBAL {name}={GLOBALS[name]}" for name in has))
        applied(log, target.url)
        reads = [*(f"SET SESSION {name}=DEFAULT" for name in has), "SELECT * FROM shop.t ORDER BY id"]
        target.sql(*(f"SET GLOBAL {name}=DEFAULT" for name in has))
        assert target.sql(*reads) == source.sql(*reads)


@pytest.fixture
def mariadb_log(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A log of MariaDB 11.8 with a column that depends on the time zone, and the server's URL after the table is gone."""
    with mariadb_of_version("11.8", [*ROW_LOG]) as server:
        with server.connect() as connection, connection.cursor() as cursor:
            for statement in (
                "CREATE DATABASE shop",
                "SET time_zone='+10:00'",
                "CREATE TABLE shop.t (id INT PRIMARY KEY, ts TIMESTAMP NULL, v DATE AS (DATE(ts)) VIRTUAL, h DATE AS (DATE(ts)) STORED)",
                "INSERT INTO shop.t (id, ts) VALUES (1, '2024-01-01 02:00:00')",
                "FLUSH BINARY LOGS",
            ):
                cursor.execute(statement)
            cursor.execute("SHOW BINARY LOGS")
            log = Path(shutil.copy(server.data / str(cursor.fetchall()[0][0]), tmp_path / "binlog.000001"))
            cursor.execute("DROP DATABASE shop")
            cursor.execute("RESET MASTER")
        yield log, server.url


@pytest.mark.mariadb
def test_r33_mariadb_is_refused_what_its_log_does_not_say(mariadb_log: tuple[Path, str]) -> None:
    log, url = mariadb_log
    outcome = run(log, url)
    assert outcome.code == 1
    assert "the generated column h depends on the time zone or language of the source's session" in outcome.report["error"]["message"]


UNORDERED = {
    "the generated column s depends": (
        "CREATE TABLE shop.t (id INT PRIMARY KEY, at BIGINT, ts TIMESTAMP NULL, s DATETIME AS (ts) STORED)",
        "SET time_zone='+05:30'",
        "INSERT INTO shop.t (id, at, ts) VALUES (1, 1, '2024-01-01 02:00:00')",
    ),
    "PAD_CHAR_TO_FULL_LENGTH": (
        "CREATE TABLE shop.t (id INT PRIMARY KEY, at BIGINT, c CHAR(5), s VARCHAR(20) AS (CONCAT(c, '!')) STORED)",
        "SET sql_mode='PAD_CHAR_TO_FULL_LENGTH'",
        "INSERT INTO shop.t (id, at, c) VALUES (1, 1, 'a')",
    ),
}


@pytest.mark.mysql
@pytest.mark.parametrize("why", UNORDERED)
def test_r33_unordered_computes_no_column_under_other_settings_on_mysql(mysql_place: SqlPlace, tmp_path: Path, why: str) -> None:
    in_one_session(mysql_place, UNORDERED[why])
    (log,) = copy_binlogs(mysql_place.url, tmp_path)
    mysql_place.empty()
    unordered = ("--policy", "unordered", "--consistency", "eventual", "--timestamp-column", "at", "--gtid", "none")
    outcome = run(with_other_uuid(log, log), mysql_place.url, *unordered)
    assert outcome.code == 1
    assert why in outcome.report["error"]["message"]
    assert mysql_place.sql("SELECT COUNT(*) FROM shop.t") == [(0,)]
