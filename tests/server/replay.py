"""Real logs through the command line into real databases: how the commands are run, and what the databases hold afterwards."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import psycopg
import pymysql
import pytest
from servers import sql_connect

from paraply import open_log

TABLES = ("customer", "product", "orders", "order_line", "counter", "tag")
RUN_SECONDS = 300
MARIADB_OPTIONS = ["--log-bin=binlog", "--binlog-format=ROW", "--server-id=1", "--innodb-flush-log-at-trx-commit=1", "--sync-binlog=1"]
"""A MariaDB that survives kill -9 without losing a commit."""
State = dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """Result of one command: exit code, JSON object and text for people."""

    code: int
    report: dict[str, Any]
    stderr: str


def command(log: Path, url: str, *options: str) -> list[str]:
    return [sys.executable, "-m", "paraply", "apply", str(log), "--to", url, "--json", *options]


def start(log: Path, url: str, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(command(log, url, *options), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def interrupt(process: subprocess.Popen[str]) -> None:
    """Press Ctrl-C, and wait until the command reports that it stops."""
    assert process.stderr is not None
    process.send_signal(signal.SIGINT)
    assert any("stopping" in line for line in iter(process.stderr.readline, "")), "the command has ended"


def end(process: subprocess.Popen[str], seconds: float = RUN_SECONDS) -> Outcome:
    """Waits for a command; a killed one has no JSON object."""
    stdout, stderr = process.communicate(timeout=seconds)
    return Outcome(process.returncode, json.loads(stdout) if stdout.strip() else {}, stderr)


def run(log: Path, url: str, *options: str) -> Outcome:
    return end(start(log, url, *options))


def applied(log: Path, url: str, *options: str) -> dict[str, Any]:
    """Runs the command, which must succeed, and gives its JSON object."""
    outcome = run(log, url, *options)
    assert outcome.code == 0, f"{outcome.report.get('error')}\n{outcome.stderr}"
    assert outcome.report["status"] == "done"
    return outcome.report


def expected_checksums(path: Path) -> State:
    return {name: int(value) for name, value in (line.split() for line in path.read_text().splitlines() if line)}


class Place(Protocol):
    """A database that a test may empty."""

    url: str

    def empty(self) -> None:
        """Throws away what a replay has made."""

    def state(self) -> State:
        """Every table's contents, to be compared."""

    def rows_of(self, table: str) -> int:
        """Return the number of rows that a table of the replay has so far."""


class SqlPlace:
    """MySQL or MariaDB, by URL."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._parts = urlsplit(url)
        self.mariadb = self._parts.scheme == "mariadb"

    def sql(self, *texts: str) -> list[tuple[Any, ...]]:
        """Runs statements and gives the last one's rows."""
        parts = self._parts
        connection = sql_connect(
            host=parts.hostname, port=parts.port or 3306, user=parts.username, password=parts.password or "", autocommit=True
        )
        with connection, connection.cursor() as cursor:
            for text in texts:
                cursor.execute(text)
            return list(cursor.fetchall())

    def empty(self) -> None:
        numbers = self.sql(
            "SELECT id FROM information_schema.processlist WHERE user=SUBSTRING_INDEX(USER(),'@',1) AND id<>CONNECTION_ID()"
            " AND command NOT LIKE 'Binlog Dump%'"
        )
        for (number,) in numbers:
            with contextlib.suppress(pymysql.MySQLError):
                self.sql(f"KILL {number}")
        reset = ["RESET MASTER", "SET GLOBAL gtid_slave_pos=''"] if self.mariadb else ["RESET BINARY LOGS AND GTIDS"]
        self.sql("DROP DATABASE IF EXISTS shop", "DROP DATABASE IF EXISTS paraply", *reset)

    def state(self) -> State:
        return dict(self.sql("CHECKSUM TABLE " + ", ".join(f"shop.{table}" for table in TABLES)))

    def rows_of(self, table: str) -> int:
        try:
            return int(self.sql(f"SELECT COUNT(*) FROM shop.{table}")[0][0])
        except pymysql.MySQLError:
            return 0


class PostgresPlace:
    """A database of a running PostgreSQL, by the URI of its server."""

    def __init__(self, server: str, database: str = "replay") -> None:
        self._server = server
        self._database = database
        parts = urlsplit(server)
        self.url = parts._replace(path=f"/{database}").geturl()

    def empty(self) -> None:
        with psycopg.connect(self._server, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {self._database} WITH (FORCE)".encode())
            connection.execute(f"CREATE DATABASE {self._database}".encode())

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        """Return the rows of a table, ordered by its first column: PostgreSQL gives them in no order of its own."""
        with psycopg.connect(self.url) as connection:
            return connection.execute(f'SELECT * FROM "shop"."{table}" ORDER BY 1'.encode()).fetchall()

    def types(self, table: str) -> list[str]:
        """Names of the columns' types."""
        with psycopg.connect(self.url) as connection:
            cursor = connection.execute(f'SELECT * FROM "shop"."{table}" LIMIT 0'.encode())
            names = [connection.adapters.types.get(column.type_code) for column in cursor.description or ()]
        return [kind.name if kind else "" for kind in names]

    def state(self) -> State:
        with psycopg.connect(self.url) as connection:
            return {
                table: sorted(text for (text,) in connection.execute(f'SELECT t::text FROM "shop"."{table}" t'.encode()))
                for table in TABLES
            }

    def rows_of(self, table: str) -> int:
        try:
            with psycopg.connect(self.url) as connection:
                row = connection.execute(f'SELECT count(*) FROM "shop"."{table}"'.encode()).fetchone()
        except psycopg.Error:
            return 0
        return int(row[0]) if row else 0


def wait_for_rows(place: Place, process: subprocess.Popen[str], table: str, rows: int) -> None:
    """Waits until a replay under way has put that many rows into a table; fails if it ends before."""
    deadline = time.monotonic() + RUN_SECONDS
    while place.rows_of(table) < rows:
        if process.poll() is not None:
            pytest.fail(f"ended before {rows} rows of {table} were there: {end(process)}")
        assert time.monotonic() < deadline
        time.sleep(0.02)


def kill_at_random(place: Place, log: Path, options: tuple[str, ...], kills: int, longest: float, check: Callable[[], None]) -> int:
    """Starts the same command again and again, killed with SIGKILL at random moments; whenever one got to the end, checks and begins anew.

    Args:
        place: Where to; emptied first.
        log: What to apply.
        options: Of the command, the same each time.
        kills: How many.
        longest: Seconds from the start of a command to the latest kill.
        check: Called when everything has been applied.

    Returns:
        How many commands found something applied by a killed one before them.
    """
    seed = int(os.environ.get("PARAPLY_SEED", time.time_ns() % 1_000_000))
    print(f"PARAPLY_SEED={seed}")
    moment = random.Random(seed)
    place.empty()
    done = resumed = 0
    answer: tuple[str, ...] = ()
    while True:
        process = start(log, place.url, *options, *answer)
        # A slow machine may not come to its first commit in time: then some more, and later ones.
        if done < kills or (not resumed and done < 4 * kills):
            try:
                process.wait(moment.uniform(0.3, longest) * max(1, done // kills))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                done += 1
        outcome = end(process)
        if outcome.code == -signal.SIGKILL:
            continue
        answer = answer_to(log, outcome)
        if answer:
            continue
        assert outcome.code == 0, f"after {done} kills: {outcome.report.get('error')}\n{outcome.stderr}"
        resumed += bool(outcome.report["skipped"])
        check()
        if done >= kills and (resumed or done >= 4 * kills):
            return resumed
        place.empty()


def answer_to(log: Path, outcome: Outcome) -> tuple[str, ...]:
    """The option that answers a question which a command ended with (R25b), for a statement that may run twice."""
    error = outcome.report.get("error") or {}
    asked = error.get("class") == "DdlUndecided" and may_run_twice(log, error["position"])
    return ("--ddl-not-done",) if asked else ()


def may_run_twice(log: Path, end_offset: int) -> bool:
    """Return True if the statement that ends at this offset only sets a comment, which no catalog shows (R25b)."""
    statements = [s.sql for transaction in open_log(log) if transaction.end_offset == end_offset for s in transaction.statements]
    return [statement.startswith(b"ALTER TABLE counter COMMENT=") for statement in statements] == [True]


@contextlib.contextmanager
def final_rows(tar: Path) -> Iterator[dict[str, list[list[Any]]]]:
    """The source's tables at the end: rows as JSON arrays, one a line."""
    with tarfile.open(tar) as archive:
        tables = {}
        for member in archive.getmembers():
            file = archive.extractfile(member) if member.isfile() else None
            if file is not None:
                tables[Path(member.name).stem] = [json.loads(line) for line in file.read().decode().splitlines()]
        yield tables
