"""Measurement of the cost model on a server, with a small load in a database of its own."""

from __future__ import annotations

import secrets
import statistics
import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Protocol

from paraply.analysis.analyze.concurrency import measure_capacity
from paraply.analysis.analyze.costs import CostModel
from paraply.errors import ApplyFailed, ConnectionFailed, ParaplyError
from paraply.targets.url import parse_url

if TYPE_CHECKING:
    from paraply.targets.url import DatabaseUrl

__all__ = ["calibrate"]

ROUNDS = 40
"""Measurements of each kind; the median counts."""
STATEMENTS = 10
"""Measured DDL statements; each makes a table."""
ROWS = 200
"""Rows of a statement with many rows."""
WIDE = 1000
"""Bytes of a wide row."""
ROW_BYTES = 60
"""Bytes that a row of a log has besides its values, about."""
_LEAST = 0.1


class Runner(Protocol):
    """Connection that runs statements."""

    place: str
    """The server, without a password."""

    def run(self, sql: str) -> None:
        """Run one or several statements."""

    def close(self) -> None:
        """Close the connection."""


class MySqlRunner:
    """Connection to MySQL or MariaDB."""

    def __init__(self, url: DatabaseUrl) -> None:
        from paraply.targets.mysql.target import connect

        self.place = str(url)
        self._connection = connect(url)

    def run(self, sql: str) -> None:
        """Run a statement."""
        self._connection.query(sql)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class PostgresRunner:
    """Connection to PostgreSQL, in a schema of its own instead of a database."""

    def __init__(self, uri: str) -> None:
        import psycopg

        from paraply.targets.postgres.connection import connection_parameters, place

        parameters = connection_parameters(uri)
        self.place = place(parameters)
        try:
            self._connection = psycopg.connect(psycopg.conninfo.make_conninfo("", **parameters), autocommit=True)
        except psycopg.Error as error:
            raise ConnectionFailed(f"--calibrate: the server cannot be reached: {one_line(error)}; check the URL") from None

    def run(self, sql: str) -> None:
        """Run a statement."""
        import psycopg

        try:
            self._connection.execute(sql.encode())
        except psycopg.Error as error:
            raise ApplyFailed(f"--calibrate: {one_line(error)}; it needs the privilege to create a schema") from None

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def one_line(error: Exception) -> str:
    """Return an error's first line.

    >>> one_line(ValueError("no such host"))
    'no such host'
    """
    return (str(error).splitlines() or [type(error).__name__])[0]


def calibrate(url: str, *, defaults_file: str | None = None) -> CostModel:
    """Measure the cost model on a server.

    The load makes a database (a schema on PostgreSQL) with a random name, writes about ten thousand rows, changes some rows on up to
    eight connections for a few seconds, and drops the database.

    Args:
        url: The server: ``mysql://``, ``mariadb://`` or ``postgresql://``.
        defaults_file: A MySQL option file for values missing in the URL.

    Returns:
        The cost model. The time of a transaction has one round trip of a client in it.

    Raises:
        ConnectionFailed: The server cannot be reached.
        ParaplyError: A statement failed, such as for lack of privileges.
    """
    runner = connected(url, defaults_file)
    make, drop = ("SCHEMA", "CASCADE") if isinstance(runner, PostgresRunner) else ("DATABASE", "")
    database = f"paraply_calibrate_{secrets.token_hex(6)}"
    with closing(runner):
        runner.run(f"CREATE {make} {database}")
        try:
            runner.run(f"CREATE TABLE {database}.t (id BIGINT PRIMARY KEY, v TEXT)")
            model = measure(runner, f"{database}.t")
            capacity = measure_capacity(lambda: connected(url, defaults_file), f"{database}.c")
        finally:
            with suppress(ParaplyError):
                runner.run(f"DROP {make} {database} {drop}")
        return CostModel(*model, measured_on=runner.place, capacity=capacity)


def connected(url: str, defaults_file: str | None) -> MySqlRunner | PostgresRunner:
    """Return a connection to a server.

    Raises:
        ConnectionFailed: The server cannot be reached.
    """
    if url.startswith(("postgresql://", "postgres://")):
        return PostgresRunner(url)
    return MySqlRunner(parse_url(url, defaults_file=defaults_file))


def measure(runner: Runner, table: str) -> tuple[float, float, float, float, float]:
    """Return microseconds of a transaction, of a row, nanoseconds of a byte, and microseconds of a commit and of a DDL statement."""
    numbers = iter(range(1, 10_000_000))

    def insert(rows: int, width: int) -> str:
        values = ",".join(f"({next(numbers)},'{'x' * width}')" for _ in range(rows))
        return f"INSERT INTO {table} VALUES {values}"

    def timed(rows: int, width: int, end: str) -> float:
        return statistics.median(seconds(runner, f"BEGIN;{insert(rows, width)};{end}") for _ in range(ROUNDS)) * 1e6

    timed(1, 1, "COMMIT")  # the first ones fill caches
    single, committed = timed(1, 1, "ROLLBACK"), timed(1, 1, "COMMIT")
    many, wide = timed(ROWS, 1, "ROLLBACK"), timed(ROWS, WIDE, "ROLLBACK")
    byte_us = max(0.0, (wide - many) / (ROWS * (WIDE - 1)))
    row_us = max(_LEAST, (many - single) / (ROWS - 1) - byte_us * ROW_BYTES)
    tables = (f"CREATE TABLE {table}_{number} (id BIGINT PRIMARY KEY)" for number in range(STATEMENTS))
    ddl_us = statistics.median(seconds(runner, one) for one in tables) * 1e6
    return max(_LEAST, single - row_us), row_us, byte_us * 1000, max(_LEAST, committed - single), ddl_us


def seconds(runner: Runner, text: str) -> float:
    """Return the duration of some statements that are sent together."""
    started = time.perf_counter()
    runner.run(text)
    return time.perf_counter() - started
