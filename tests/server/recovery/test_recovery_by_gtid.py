"""Recovery by GTID alone: a log of several origins, in which positions and orders of numbers mean nothing (R25).

Every start reads the relay log from its oldest file on and passes over what is executed. The relay log itself may be lost.
"""

from __future__ import annotations

import contextlib
import random
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from server.live import connect, replicating
from server.mysql_fixtures import Server
from server.replay import PostgresPlace
from servers import mysql_url, running_mariadb

TRANSACTIONS = 240
ORIGINS = ("11111111-1111-1111-1111-111111111111", "22222222-2222-2222-2222-222222222222", "33333333-3333-3333-3333-333333333333")


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="paraply-origins-") as name:
        yield Path(name)


def begin(url: str) -> None:
    with contextlib.closing(connect(url)) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE shop")
        cursor.execute("CREATE TABLE shop.visit (id INT PRIMARY KEY, origin INT NOT NULL)")
        cursor.execute("CREATE TABLE shop.total (origin INT PRIMARY KEY, visits INT NOT NULL)")
        cursor.execute("INSERT INTO shop.total VALUES (0, 0), (1, 0), (2, 0)")
        connection.commit()


def visit(url: str, numbers: range, *, mariadb: bool) -> None:
    """A transaction for each number, of one of three origins; MySQL's numbers within an origin are out of order, with gaps."""
    chance = random.Random(numbers.start)
    own = list(range(numbers.start + 1, numbers.stop + 1))
    chance.shuffle(own)
    with contextlib.closing(connect(url)) as connection, connection.cursor() as cursor:
        for number, gtid in zip(numbers, own, strict=True):
            origin = chance.randrange(3)
            if mariadb:
                cursor.execute(f"SET SESSION gtid_domain_id={origin + 1}, SESSION server_id={origin + 11}")
            else:
                cursor.execute(f"SET gtid_next='{ORIGINS[origin]}:{gtid}'")
            cursor.execute("INSERT INTO shop.visit VALUES (%s, %s)", (number, origin))
            cursor.execute("UPDATE shop.total SET visits = visits + 1 WHERE origin = %s", (origin,))
            connection.commit()
            if not mariadb:
                cursor.execute("SET gtid_next='AUTOMATIC'")


def rows(cursor_rows: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    return sorted(cursor_rows)


def source_state(url: str) -> list[list[tuple[object, ...]]]:
    with contextlib.closing(connect(url)) as connection, connection.cursor() as cursor:
        found = []
        for table in ("shop.visit", "shop.total"):
            cursor.execute(f"SELECT * FROM {table}")
            found.append(rows(list(cursor.fetchall())))
        return found


def target_state(place: PostgresPlace) -> list[list[tuple[object, ...]]]:
    with psycopg.connect(place.url, autocommit=True) as connection:
        return [rows(connection.execute(f"SELECT * FROM {table}".encode()).fetchall()) for table in ("shop.visit", "shop.total")]


def recovers(url: str, place: PostgresPlace, folder: Path, *, mariadb: bool) -> None:
    begin(url)

    def is_equal() -> bool:
        return target_state(place) == source_state(url)

    third = TRANSACTIONS // 3
    with replicating(url, place.url, folder, "--relay-log-size", "8192") as replica:
        for part in range(3):
            visit(url, range(part * third, (part + 1) * third), mariadb=mariadb)
            replica.kill()
        replica.wait_until(is_equal, "the source's state")
        assert replica.stop()["exit_code"] == 4
    shutil.rmtree(folder / "relay")
    visit(url, range(TRANSACTIONS, TRANSACTIONS + third), mariadb=mariadb)
    with replicating(url, place.url, folder) as replica:
        replica.wait_until(is_equal, "the source's state")
        report = replica.stop()
    assert report["transactions"] == third
    assert report["receiver"]["received_transactions"] == third, "what was applied before is not sent again"


@pytest.mark.mariadb
@pytest.mark.postgres
def test_r25_three_domains_of_a_mariadb(postgres_place: PostgresPlace, folder: Path) -> None:
    with running_mariadb(["--log-bin=binlog", "--binlog-format=ROW", "--server-id=1"]) as server:
        recovers(server.url, postgres_place, folder, mariadb=True)


@pytest.mark.mysql
@pytest.mark.postgres
def test_r25_three_origins_of_a_mysql_out_of_order(postgres_place: PostgresPlace, folder: Path) -> None:
    Server(mysql_url()).empty()
    recovers(mysql_url(), postgres_place, folder, mariadb=False)
