"""R24: transactions that share no key and lock what stands next to their rows: many workers do not make an apply slower than one.

Values of unique secondary keys move between rows, rows come and go in the same place of an index, tables are small. Each transaction is a
commit of its own.
"""

from __future__ import annotations

import random
import shutil
import statistics
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from mariadb_versions import ROW_LOG, MariaDbInTree, mariadb_of_version
from server.replay import applied
from servers import MariaDbServer, mysql_data, mysql_url, running_mariadb, sql_connect

Server = MariaDbServer | MariaDbInTree
Statements = Iterator[str]

#: Commits need no disk, which is no part of the question.
QUICK = ("--innodb-flush-log-at-trx-commit=0", "--sync-binlog=0")
TRANSACTIONS = 900
ORDERED = [
    ("dependency", "any-time"),
    ("dependency", "most-of-the-time"),
    ("dependency", "eventual"),
    ("barrier", "any-time"),
    ("optimistic", "any-time"),
    ("optimistic", "most-of-the-time"),
]


def another_spelling(draw: random.Random) -> Statements:
    """The value is given up in one transaction and taken in the next, in letters that the collation calls equal."""
    yield "CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(40), UNIQUE (s)) COLLATE utf8mb4_general_ci"
    for number in range(TRANSACTIONS // 3):
        yield f"INSERT INTO t VALUES ({2 * number}, 'Strasse {number}')"
        yield f"DELETE FROM t WHERE id={2 * number}"
        yield f"INSERT INTO t VALUES ({2 * number + 1}, 'STRASSE {number}')"


def hot_values(draw: random.Random) -> Statements:
    """Twenty rows take and give up thirty values."""
    yield "CREATE TABLE t (id INT PRIMARY KEY, u INT UNIQUE, n INT)"
    held: dict[int, int | None] = {}
    for row in range(20):
        held[row] = row
        yield f"INSERT INTO t VALUES ({row}, {row}, 0)"
    for _ in range(TRANSACTIONS):
        row = draw.randrange(20)
        held[row] = draw.choice([None, *(set(range(30)) - set(held.values()))])
        yield f"UPDATE t SET u={'NULL' if held[row] is None else held[row]}, n=n+1 WHERE id={row}"


def queue(draw: random.Random) -> Statements:
    """Rows come at one end of a unique secondary index and go anywhere."""
    yield "CREATE TABLE t (id BIGINT PRIMARY KEY AUTO_INCREMENT, job INT NOT NULL UNIQUE, s INT, KEY (s))"
    live: list[int] = []
    for number in range(TRANSACTIONS):
        if len(live) < 30 or draw.random() < 0.5:
            live.append(number)
            yield f"INSERT INTO t (job, s) VALUES ({number}, {draw.randrange(5)})"
        else:
            yield f"DELETE FROM t WHERE job={live.pop(draw.randrange(len(live)))}"


def random_unique(draw: random.Random) -> Statements:
    """Each row has a random value of its own in a unique secondary index."""
    yield "CREATE TABLE t (id BIGINT PRIMARY KEY AUTO_INCREMENT, u CHAR(36) NOT NULL UNIQUE, v INT)"
    for number in range(TRANSACTIONS):
        yield f"INSERT INTO t (u, v) VALUES ('{uuid.UUID(int=draw.getrandbits(128))}', {number})"


def small_table(draw: random.Random) -> Statements:
    """Twelve rows with two unique secondary keys come and go."""
    yield "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, UNIQUE (a), UNIQUE (b))"
    live: set[int] = set()
    for _ in range(TRANSACTIONS):
        row = draw.randrange(12)
        yield f"DELETE FROM t WHERE id={row}" if row in live else f"INSERT INTO t VALUES ({row}, {row}, {100 - row})"
        live ^= {row}


def foreign_keys(draw: random.Random) -> Statements:
    """Children with a unique key of their own come and go below few parents, which change."""
    yield "CREATE TABLE p (id INT PRIMARY KEY, n INT)"
    yield "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, p INT NOT NULL, u INT UNIQUE, FOREIGN KEY (p) REFERENCES p (id))"
    for parent in range(10):
        yield f"INSERT INTO p VALUES ({parent}, 0)"
    live: list[int] = []
    for number in range(TRANSACTIONS):
        if draw.random() < 0.2:
            yield f"UPDATE p SET n=n+1 WHERE id={draw.randrange(10)}"
        elif not live or draw.random() < 0.5:
            live.append(number)
            yield f"INSERT INTO t (p, u) VALUES ({draw.randrange(10)}, {number})"
        else:
            yield f"DELETE FROM t WHERE u={live.pop(draw.randrange(len(live)))}"


def no_primary_key(draw: random.Random) -> Statements:
    """A table without a primary key, whose unique one may be NULL."""
    yield "CREATE TABLE t (a INT, b INT, KEY (a), UNIQUE (b))"
    for number in range(TRANSACTIONS):
        yield f"INSERT INTO t VALUES ({draw.randrange(50)}, {number})" if draw.random() < 0.7 else f"DELETE FROM t WHERE b={number // 2}"


Load = Callable[[random.Random], Statements]
LOADS: list[Load] = [another_spelling, hot_values, queue, random_unique, small_table, foreign_keys, no_primary_key]


def seconds_of_apply(log: Path, url: str, *options: str) -> float:
    """Apply a log; return the seconds of the whole process, and check what was retried."""
    begun = time.monotonic()
    report = applied(log, url, "--merge", "off", *options)
    seconds = time.monotonic() - begun
    assert report["commits"] == report["transactions"] > TRANSACTIONS // 2
    assert report["younger_rolled_back"] <= report["retries"] <= report["transactions"] // 10, options
    return seconds


class Place:
    """A server that is source and target in turn.

    Args:
        url: The server.
        data: Its binary logs.
    """

    def __init__(self, url: str, data: Path) -> None:
        self.url = url
        self._data = data
        parts = urlsplit(url)
        self._mariadb = parts.scheme == "mariadb"
        self._connection = sql_connect(
            host=parts.hostname, port=parts.port or 0, user=parts.username, password=parts.password or "", autocommit=True
        )  # fmt: skip
        self._cursor = self._connection.cursor()
        self._sql("SET NAMES utf8mb4 COLLATE utf8mb4_general_ci")

    def _sql(self, statement: str) -> list[tuple[object, ...]]:
        self._cursor.execute(statement)
        return list(self._cursor.fetchall())

    def close(self) -> None:
        self._connection.close()

    def empty(self) -> None:
        """Leaves nothing of the load and of earlier applies."""
        for database in ("contention", "paraply"):
            self._sql(f"DROP DATABASE IF EXISTS {database}")
        self._sql("RESET MASTER" if self._mariadb else "RESET BINARY LOGS AND GTIDS")
        if self._mariadb:
            self._sql("SET GLOBAL gtid_slave_pos=''")

    def log(self, load: Load, folder: Path) -> Path:
        """The log of a load."""
        self.empty()
        self._sql("CREATE DATABASE contention")
        self._sql("USE contention")
        for statement in load(random.Random(7)):
            self._sql(statement)
        (row,) = self._sql("SHOW BINARY LOGS")
        self._sql("FLUSH BINARY LOGS")
        return Path(shutil.copy(self._data / str(row[0]), folder / f"{load.__name__}.binlog"))

    def state(self) -> list[tuple[object, ...]]:
        return self._sql("SELECT * FROM contention.t ORDER BY 1, 2")

    def apply(self, log: Path, *options: str) -> float:
        """Empty the server and apply a log; return the seconds of the whole process."""
        self.empty()
        return seconds_of_apply(log, self.url, *options)


@pytest.fixture(scope="module")
def mariadb() -> Iterator[Place]:
    with running_mariadb([*ROW_LOG, *QUICK]) as server:
        place = Place(server.url, server.data)
        yield place
        place.close()


@pytest.mark.mariadb
@pytest.mark.parametrize("load", LOADS, ids=lambda load: load.__name__)
def test_r24_few_transactions_are_tried_again_on_mariadb(mariadb: Place, tmp_path: Path, load: Load) -> None:
    log = mariadb.log(load, tmp_path)
    made = mariadb.state()
    mariadb.apply(log, "--workers", "8")
    assert mariadb.state() == made


@pytest.mark.by_turns(4)
@pytest.mark.mariadb
@pytest.mark.parametrize(("policy", "consistency"), ORDERED)
@pytest.mark.parametrize("load", [hot_values, small_table], ids=lambda load: load.__name__)
def test_r24_few_transactions_are_tried_again_whatever_orders_them(
    mariadb: Place, tmp_path: Path, load: Load, policy: str, consistency: str
) -> None:
    log = mariadb.log(load, tmp_path)
    made = mariadb.state()
    mariadb.apply(log, "--workers", "8", "--policy", policy, "--consistency", consistency)
    assert mariadb.state() == made


@pytest.mark.mariadb
@pytest.mark.parametrize("version", ["10.5", "11.8"])
def test_r24_few_transactions_are_tried_again_on_other_versions(tmp_path: Path, version: str) -> None:
    with mariadb_of_version(version, [*ROW_LOG, *QUICK]) as server:
        place = Place(server.url, server.data)
        log = place.log(another_spelling, tmp_path)
        made = place.state()
        place.apply(log, "--workers", "8")
        assert place.state() == made
        place.close()


@pytest.mark.parametrize(
    "load",
    [hot_values, *(pytest.param(load, marks=pytest.mark.slow) for load in (another_spelling, small_table))],
    ids=lambda load: load.__name__,
)
def test_r24_few_transactions_are_tried_again_on_mysql(tmp_path: Path, load: Load) -> None:
    place = Place(mysql_url(), mysql_data())
    log = place.log(load, tmp_path)
    made = place.state()
    for options in (["--policy", "dependency"], ["--policy", "logical-clock"], ["--gtid", "preserve"]):
        place.apply(log, "--workers", "8", *options)
        assert place.state() == made
    place.close()


@pytest.fixture(scope="module")
def newest_mariadb() -> Iterator[Place]:
    with mariadb_of_version("11.8", [*ROW_LOG, *QUICK]) as server:
        place = Place(server.url, server.data)
        yield place
        place.close()


@pytest.fixture(params=["mariadb", "mariadb-11.8", "mysql", "mysql-preserve", "postgres"])
def applies(request: pytest.FixtureRequest) -> Iterator[tuple[Place, Callable[..., float]]]:
    """The source of a log, and what applies it into a target: the source's own server, or a PostgreSQL."""
    if request.param == "postgres":
        target = request.getfixturevalue("postgres_place")

        def apply(log: Path, *options: str) -> float:
            target.empty()
            return seconds_of_apply(log, target.url, *options)

        yield request.getfixturevalue("mariadb"), apply
    elif request.param.startswith("mysql"):
        place = Place(mysql_url(), mysql_data())
        gtid = ["--gtid", "preserve"] if request.param == "mysql-preserve" else []
        yield place, lambda log, *options: place.apply(log, *gtid, *options)
        place.close()
    else:
        place = request.getfixturevalue("newest_mariadb" if request.param == "mariadb-11.8" else "mariadb")
        yield place, place.apply


@pytest.mark.mariadb
@pytest.mark.slow(share=False)  # compares times
@pytest.mark.parametrize("load", LOADS, ids=lambda load: load.__name__)
def test_r24_many_workers_are_not_slower_than_one(applies: tuple[Place, Callable[..., float]], tmp_path: Path, load: Load) -> None:
    source, apply = applies
    log = source.log(load, tmp_path)
    pairs = [(apply(log, "--workers", "8"), apply(log, "--workers", "1")) for _ in range(11)]
    assert statistics.median(many / one for many, one in pairs) < 1.10, pairs
