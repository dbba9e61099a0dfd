"""R35: a replication into PostgreSQL that starts again between the two parts of an XA transaction of left-out tables goes on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from server.live import connect, replicating
from server.mysql_fixtures import Server
from server.replay import PostgresPlace
from servers import MariaDbServer, mysql_url, running_mariadb

FILTER = ("--exclude-database", "other")
BEFORE = [
    "CREATE DATABASE shop",
    "CREATE DATABASE other",
    "CREATE TABLE shop.t (id INT PRIMARY KEY)",
    "CREATE TABLE other.t (id INT PRIMARY KEY)",
]
#: Each name with the end of its transaction. Their rows are in other.t.
ENDS = {"'one'": "COMMIT", "'two','b',7": "ROLLBACK", "0x00ff27": "COMMIT"}


@pytest.fixture
def mariadb_source() -> Iterator[MariaDbServer]:
    with running_mariadb(["--log-bin=binlog", "--binlog-format=ROW", "--server-id=1"]) as server:
        yield server


@pytest.fixture
def mysql_source() -> Server:
    server = Server(mysql_url())
    server.sql("DROP DATABASE IF EXISTS other")
    server.empty()
    return server


def in_one_session(url: str, *statements: str) -> None:
    with contextlib.closing(connect(url)) as connection, connection.cursor() as cursor:
        connection.autocommit(True)
        for statement in statements:
            cursor.execute(statement)


def names_kept(place: PostgresPlace) -> int:
    with psycopg.connect(place.url, autocommit=True) as connection:
        row = connection.execute("SELECT count(*) FROM paraply.left_out_xa").fetchone()
    assert row is not None
    return int(row[0])


def check_restart(source: str, place: PostgresPlace, folder: Path) -> None:
    in_one_session(source, *BEFORE)
    with replicating(source, place.url, folder, *FILTER) as replica:
        for number, name in enumerate(ENDS):
            in_one_session(source, f"XA START {name}", f"INSERT INTO other.t VALUES ({number})", f"XA END {name}", f"XA PREPARE {name}")
        replica.wait_until(lambda: names_kept(place) == len(ENDS), "the names of the prepared transactions")
        replica.kill()
        in_one_session(source, *(f"XA {end} {name}" for name, end in ENDS.items()), "INSERT INTO shop.t VALUES (1)")
        replica.wait_until(lambda: place.rows("t") == [(1,)], "the row behind the ends")
        assert replica.stop()["exit_code"] == 4
    assert names_kept(place) == 0


def check_rows_refused(source: str, place: PostgresPlace, folder: Path) -> None:
    """A name that was used without rows and comes again with rows is refused."""
    in_one_session(source, *BEFORE)
    with replicating(source, place.url, folder, *FILTER) as replica:
        in_one_session(source, "XA START 'x'", "INSERT INTO other.t VALUES (1)", "XA END 'x'", "XA PREPARE 'x'", "XA COMMIT 'x'")
        in_one_session(source, "XA START 'x'", "INSERT INTO shop.t VALUES (1)", "XA END 'x'", "XA PREPARE 'x'", "XA COMMIT 'x'")
        report = replica.report()
    assert report["exit_code"] == 3
    assert "X'78'" in report["error"]["message"]


def test_r35_mariadb(mariadb_source: MariaDbServer, postgres_place: PostgresPlace, tmp_path: Path) -> None:
    check_restart(mariadb_source.url, postgres_place, tmp_path)


def test_r35_mysql(mysql_source: Server, postgres_place: PostgresPlace, tmp_path: Path) -> None:
    check_restart(mysql_url(), postgres_place, tmp_path)


def test_r35_mariadb_rows_are_refused(mariadb_source: MariaDbServer, postgres_place: PostgresPlace, tmp_path: Path) -> None:
    check_rows_refused(mariadb_source.url, postgres_place, tmp_path)
