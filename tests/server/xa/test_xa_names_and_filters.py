"""XA transactions with every name that a server takes, and those of tables that are left out (rule R35)."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path
from urllib.parse import urlsplit

import pymysql
import pytest
from server.replay import PostgresPlace, SqlPlace, applied, run
from server.source_log import copy_binlogs
from servers import MariaDbServer, sql_connect

LONG = "'" + "0123456789abcdef" * 4 + "'"
#: MariaDB takes no empty name, and no format number of 2147483648 or more.
NAMES = ("'a'", "0x00ff27225c0a,0x00,3", f"{LONG},{LONG},7", "'a','',0", "'a','b',2147483647")
MYSQL_NAMES = (*NAMES, "''", "'','b'", "'','',0", "'','',4294967295", "'a','b',2147483648")


def run_in_one_session(url: str, statements: list[str]) -> None:
    """Run statements on one connection."""
    parts = urlsplit(url)
    connection = sql_connect(host=parts.hostname, port=parts.port, user=parts.username, password=parts.password or "", autocommit=True)
    with connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def xa(name: str, change: str, *ends: str) -> list[str]:
    """Return the statements of an XA transaction."""
    return [f"XA START {name}", change, f"XA END {name}", *(f"XA {end.format(name)}" for end in ends)]


def log_of(place: SqlPlace, statements: list[str], folder: Path, data: Path | None = None) -> Path:
    """Run statements on an empty server, and return the log of them."""
    place.sql("DROP DATABASE IF EXISTS other")
    place.empty()
    run_in_one_session(place.url, statements)
    if data is None:
        return copy_binlogs(place.url, folder)[0]
    place.sql("FLUSH BINARY LOGS")
    return Path(shutil.copyfile(data / "binlog.000001", folder / "binlog.000001"))


def every_name(names: tuple[str, ...]) -> list[str]:
    """Return XA transactions with each name, ended in each way."""
    statements = ["CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY)"]
    for number, name in enumerate(names):
        for offset, ends in enumerate(
            (("PREPARE {}", "COMMIT {}"), ("PREPARE {}", "ROLLBACK {}"), ("COMMIT {} ONE PHASE",), ("ROLLBACK {}",))
        ):
            statements += xa(name, f"INSERT INTO shop.t VALUES ({10 * number + offset})", *ends)
    return statements


@pytest.mark.parametrize("workers", ["0", "4"])
def test_mysql_takes_every_name(mysql_place: SqlPlace, tmp_path: Path, workers: str) -> None:
    log = log_of(mysql_place, every_name(MYSQL_NAMES), tmp_path)
    left = mysql_place.sql("SELECT * FROM shop.t ORDER BY 1")
    assert len(left) == 2 * len(MYSQL_NAMES)
    mysql_place.empty()
    applied(log, mysql_place.url, "--workers", workers)
    assert mysql_place.sql("SELECT * FROM shop.t ORDER BY 1") == left
    assert mysql_place.sql("XA RECOVER") == []


def test_mariadb_takes_every_name(mariadb_place: SqlPlace, durable_mariadb: MariaDbServer, tmp_path: Path) -> None:
    log = log_of(mariadb_place, every_name(NAMES), tmp_path, durable_mariadb.data)
    left = mariadb_place.sql("SELECT * FROM shop.t ORDER BY 1")
    assert len(left) == 2 * len(NAMES)
    mariadb_place.empty()
    applied(log, mariadb_place.url, "--workers", "4")
    assert mariadb_place.sql("SELECT * FROM shop.t ORDER BY 1") == left


def test_mysql_empty_name_into_postgresql_is_refused_with_its_place(
    mysql_place: SqlPlace, postgres_place: PostgresPlace, tmp_path: Path
) -> None:
    statements = ["CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY)"]
    log = log_of(mysql_place, statements + xa("''", "INSERT INTO shop.t VALUES (1)", "PREPARE {}", "COMMIT {}"), tmp_path)
    outcome = run(log, postgres_place.url)
    error = outcome.report["error"]
    assert outcome.code == 3
    assert error["file"]
    assert error["position"]
    assert error["gtid"]
    assert "X'',X'',1" in error["message"]


STANDING = [
    "CREATE DATABASE shop",
    "CREATE DATABASE other",
    "CREATE TABLE shop.t (id INT PRIMARY KEY)",
    "CREATE TABLE other.t (id INT PRIMARY KEY)",
    "INSERT INTO shop.t VALUES (1)",
]
FILTER = ("--exclude-database", "other")
LEFT_OUT = [
    *xa("'f'", "INSERT INTO other.t VALUES (3)", "PREPARE {}", "COMMIT {}"),
    *xa("'f'", "INSERT INTO other.t VALUES (4)", "PREPARE {}", "ROLLBACK {}"),
    *xa("'h'", "SELECT 1", "COMMIT {} ONE PHASE"),
    "INSERT INTO shop.t VALUES (2)",
]


def check_left_out(place: SqlPlace, target: PostgresPlace, folder: Path, data: Path | None = None) -> None:
    """Check that XA transactions of tables that are left out are nothing to PostgreSQL, and all others are refused."""
    log = log_of(place, [*STANDING, *LEFT_OUT], folder, data)
    for _ in range(2):
        applied(log, target.url, *FILTER)
        assert sorted(target.rows("t")) == [(1,), (2,)]
    target.empty()
    assert run(log, target.url).code == 3, "without the filter there are rows to apply"
    mixed = [*xa("'g'", "INSERT INTO other.t VALUES (5)"), *xa("'k'", "INSERT INTO other.t VALUES (6)", "PREPARE {}", "COMMIT {}")]
    mixed[2:3] = ["INSERT INTO shop.t VALUES (6)", "XA END 'g'", "XA PREPARE 'g'", "XA COMMIT 'g'"]
    log = log_of(place, [*STANDING, *mixed], folder, data)
    outcome = run(log, target.url, *FILTER)
    assert outcome.code == 3
    assert "X'67'" in outcome.report["error"]["message"]


def test_mysql_xa_of_left_out_tables_is_nothing_to_postgresql(mysql_place: SqlPlace, postgres_place: PostgresPlace, tmp_path: Path) -> None:
    check_left_out(mysql_place, postgres_place, tmp_path)


def test_mariadb_xa_of_left_out_tables_is_nothing_to_postgresql(
    mariadb_place: SqlPlace, durable_mariadb: MariaDbServer, postgres_place: PostgresPlace, tmp_path: Path
) -> None:
    check_left_out(mariadb_place, postgres_place, tmp_path, durable_mariadb.data)


def test_mysql_xa_that_was_prepared_before_the_log_is_refused_with_its_reason(
    mysql_place: SqlPlace, postgres_place: PostgresPlace, tmp_path: Path
) -> None:
    statements = [*STANDING, *xa("'f'", "INSERT INTO other.t VALUES (3)", "PREPARE {}"), "FLUSH BINARY LOGS", "XA COMMIT 'f'"]
    with contextlib.suppress(pymysql.MySQLError):
        mysql_place.sql("XA ROLLBACK 'f'")
    mysql_place.sql("DROP DATABASE IF EXISTS other")
    mysql_place.empty()
    run_in_one_session(mysql_place.url, statements)
    second = copy_binlogs(mysql_place.url, tmp_path)[1]
    gtids = str(mysql_place.sql("SELECT @@gtid_executed")[0][0])
    uuid, last = gtids.rsplit(":", 1)[0], int(gtids.rsplit("-", 1)[1])
    start = ("--start-after", f"{uuid}:1-{last - 1}")
    outcome = run(second, postgres_place.url, *FILTER, *start)
    assert outcome.code == 3
    assert "prepared before the logs begin" in outcome.report["error"]["message"]
    applied(second, postgres_place.url, *FILTER, "--start-after", gtids)
