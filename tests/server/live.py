"""A live source under load, a replication that is killed again and again, and what must come out of it."""

from __future__ import annotations

import contextlib
import json
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pymysql
from reader_view import differences, family_contents
from server.command_process import Process
from servers import sql_connect

TABLES = {"shop.account": "id", "shop.entry": "id", "shop.tally": "day, slot"}
CATCH_UP_SECONDS = 120
Rows = dict[str, list[tuple[Any, ...]]]


def connect(url: str) -> pymysql.connections.Connection[pymysql.cursors.Cursor]:
    parts = urlsplit(url)
    return sql_connect(
        host=parts.hostname or "", port=parts.port or 3306, user=parts.username or "", password=parts.password or "",
        charset="utf8mb4", autocommit=False, connect_timeout=5,
    )  # fmt: skip


def database_differences(source: str, target: str, *databases: str) -> list[str]:
    """Return the differences of definitions and rows between two servers, given by their URLs."""
    with contextlib.closing(connect(source)) as here, contextlib.closing(connect(target)) as there:
        return differences(family_contents(here.cursor(), databases), family_contents(there.cursor(), databases))


class Load:
    """Sessions that change rows of three tables until they are told to end; a lost server is waited for.

    Args:
        url: The source.
        sessions: How many.
        rest: The longest rest of a session between two transactions, seconds.
    """

    def __init__(self, url: str, sessions: int = 4, rest: float = 0.01) -> None:
        self._url = url
        self._rest = rest
        self._ended = threading.Event()
        self.committed = 0
        with contextlib.closing(connect(url)) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE DATABASE shop")
            cursor.execute("CREATE TABLE shop.account (id INT PRIMARY KEY, name VARCHAR(40) UNIQUE, balance BIGINT NOT NULL)")
            cursor.execute("CREATE TABLE shop.entry (id BIGINT PRIMARY KEY, account INT NOT NULL, amount INT, note TEXT)")
            cursor.execute("CREATE TABLE shop.tally (day DATE, slot INT, hits INT NOT NULL, PRIMARY KEY (day, slot))")
            cursor.executemany("INSERT INTO shop.account VALUES (%s, %s, 0)", [(n, f"name-{n}") for n in range(200)])
            connection.commit()
        self._threads = [threading.Thread(target=self._work, args=(number,), daemon=True) for number in range(sessions)]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Waits for the sessions' ends."""
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _work(self, number: int) -> None:
        chance = random.Random(number)
        next_id = 0
        while not self._ended.is_set():
            with contextlib.suppress(pymysql.Error, OSError), contextlib.closing(connect(self._url)) as connection:
                cursor = connection.cursor()
                while not self._ended.is_set():
                    next_id += 1
                    self._change(cursor, chance, time.time_ns() // 1000 * 10 + number)
                    connection.commit()
                    self.committed += 1
                    self._ended.wait(chance.random() * self._rest)
            self._ended.wait(0.2)

    def _change(self, cursor: pymysql.cursors.Cursor, chance: random.Random, key: int) -> None:
        kind = chance.random()
        if kind < 0.5:
            one, other = chance.sample(range(200), 2)
            cursor.execute("UPDATE shop.account SET balance = balance - 5 WHERE id = %s", (min(one, other),))
            cursor.execute("UPDATE shop.account SET balance = balance + 5 WHERE id = %s", (max(one, other),))
            cursor.execute("INSERT INTO shop.entry VALUES (%s, %s, 5, %s)", (key, one, "näïve ☕" * chance.randrange(5)))
        elif kind < 0.8:
            day = f"2026-01-{chance.randint(1, 9):02}"
            cursor.execute("INSERT INTO shop.tally VALUES (%s, %s, 1) ON DUPLICATE KEY UPDATE hits = hits + 1", (day, chance.randrange(9)))
        else:
            cursor.execute("DELETE FROM shop.entry WHERE account = %s LIMIT 3", (chance.randrange(200),))


def mysql_rows(url: str) -> Rows:
    with contextlib.closing(connect(url)) as connection, connection.cursor() as cursor:
        found: Rows = {}
        for table, key in TABLES.items():
            cursor.execute(f"SELECT * FROM {table} ORDER BY {key}")
            found[table] = list(cursor.fetchall())
        return found


def postgres_rows(url: str) -> Rows:
    with psycopg.connect(url, autocommit=True) as connection:
        return {table: connection.execute(f"SELECT * FROM {table} ORDER BY {key}".encode()).fetchall() for table, key in TABLES.items()}


def rows_of(url: str) -> Rows:
    return postgres_rows(url) if url.startswith("postgres") else mysql_rows(url)


class Replica(Process):
    """A ``paraply replicate`` that can be killed and started again.

    Args:
        source: The source's URL.
        target: The target's.
        folder: Where the relay log and what it prints go.
        options: Further options.
    """

    def __init__(self, source: str, target: str, folder: Path, *options: str) -> None:
        self.relay = folder / "relay"
        super().__init__(
            folder / "replicate.log",
            ["replicate", "--from", source, "--to", target, "--relay-log", self.relay, "--workers", "4", "--quiet", *options],
        )

    def wait_for_begin(self) -> None:
        """Waits until it has received something: a source that is down before that ends the command, as it should."""
        self.wait_until(lambda: any(index.stat().st_size for index in self.relay.glob("*.index")), "the relay log's beginning")

    def stop(self) -> dict[str, Any]:
        """Ends it as Ctrl-C does; gives its report."""
        assert self.process.poll() is None, self.messages()
        self.process.send_signal(signal.SIGINT)
        return self.report()

    def report(self) -> dict[str, Any]:
        """Waits for its end; gives its report."""
        printed, _ = self.process.communicate(timeout=CATCH_UP_SECONDS)
        assert printed, f"ended with {self.process.returncode} without a report: {self.messages()}"
        report: dict[str, Any] = json.loads(printed)
        return report

    def wait_until(self, ready: Callable[[], bool], what: str) -> None:
        """Waits until something holds; fails at once if the process has ended."""
        deadline = time.monotonic() + CATCH_UP_SECONDS
        while time.monotonic() < deadline:
            with contextlib.suppress(pymysql.Error, psycopg.Error, OSError):
                if ready():
                    return
            assert self.process.poll() is None, self.messages()
            time.sleep(0.1)
        raise AssertionError(f"{what} did not come within {CATCH_UP_SECONDS} s: {self.messages()}")


@contextlib.contextmanager
def replicating(source: str, target: str, folder: Path, *options: str) -> Iterator[Replica]:
    replica = Replica(source, target, folder, *options)
    try:
        yield replica
    finally:
        if replica.process.poll() is None:
            replica.process.kill()
            replica.process.communicate()


def is_equal_under_load(
    source: str, target: str, folder: Path, disturb: list[Callable[[Replica], None]], seconds: float, every: float
) -> int:
    """Runs a load for some seconds, disturbs in turn, and compares the tables at the end; gives how many transactions there were.

    Args:
        source: The source's URL; it has no database ``shop``.
        target: The target's; likewise.
        folder: For the relay log.
        disturb: What is done to whom, in turn.
        seconds: How long the load runs.
        every: Seconds between two disturbances.
    """
    load = Load(source)
    with replicating(source, target, folder, "--relay-log-size", "200000") as replica:
        until = time.monotonic() + seconds
        turn = 0
        while time.monotonic() < until:
            time.sleep(every * random.uniform(0.5, 1.5))
            if disturb:
                disturb[turn % len(disturb)](replica)
                turn += 1
        load.end()
        # Nobody is disturbed any more: whoever applies this is up and running.
        with contextlib.closing(connect(source)) as connection, connection.cursor() as cursor:
            cursor.execute("INSERT INTO shop.account VALUES (-1, 'the last', 0)")
            connection.commit()
        expected, ended = mysql_rows(source), time.monotonic()
        replica.wait_until(lambda: rows_of(target) == expected, "the source's last state")
        print(f"{load.committed} transactions, {turn} disturbances, equal {time.monotonic() - ended:.1f} s after the last commit")
        report = replica.stop()
        assert report["exit_code"] == 4, report
        assert report["receiver"]["lag_transactions"] == 0
    return load.committed
