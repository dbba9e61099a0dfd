"""Real servers as the comparison needs them: sessions, lock waits, and kills."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from typing import Any, ClassVar, Literal, Protocol
from urllib.parse import urlsplit

import psycopg
import pymysql
from conformance.steps import KEYS_OF_A_SEED, TABLES
from simulation.history import TABLES as COLUMNS
from simulation.history import Change, State

__all__ = ["MariaDb", "MySql", "Postgres", "Server", "server_of"]

DATABASE = f"conformance_{os.getpid()}"
DDL = (
    "CREATE TABLE item (id INT PRIMARY KEY, v INT NOT NULL)",
    "CREATE TABLE parent (id INT PRIMARY KEY, v INT NOT NULL)",
    "CREATE TABLE child (id INT PRIMARY KEY, parent_id INT NOT NULL, FOREIGN KEY (parent_id) REFERENCES parent (id))",
)
MARIADB_CACHE_SECONDS = 0.11
"""MariaDB tells new lock waits at most ten times a second."""


class Session(Protocol):
    """One connection to a server, in a transaction from its first change on."""

    number: int

    def change(self, change: Change) -> int:
        """Carry out a change; return the number of rows that it found."""

    def end(self, *, commit: bool) -> None:
        """End the transaction."""

    def kind(self, error: Exception) -> str:
        """Return the kind of an error."""

    def close(self) -> None:
        """Close the connection."""


class Server(Protocol):
    """A real server."""

    name: str
    locking: Literal["mysql", "mariadb", "postgresql"]

    def prepare(self) -> None:
        """Make the tables."""

    def fill(self, rows: State) -> None:
        """Insert rows and commit them."""

    def session(self, *, impatient: bool) -> Session:
        """Return a new session; of an impatient one, lock waits end soon."""

    def waits(self, numbers: Iterable[int], known: Iterable[int]) -> dict[int, frozenset[int] | None] | int:
        """Return the sessions among these that wait, and for which; or only how many, if the waits that are known are all there are."""

    def kill(self, number: int, *, connection: bool) -> None:
        """End the running statement of a session, or its connection."""

    def lives(self, number: int) -> bool:
        """Return True if the connection is there."""

    def close(self) -> None:
        """Remove the tables, and close the connection."""

    def content(self, first: int) -> State:
        """Return the committed rows of a seed."""


def statement(change: Change) -> str:
    """Return a change as SQL.

    >>> statement(Change("item", (1, 0), (2, 5)))
    'UPDATE item SET id = 2, v = 5 WHERE id = 1'
    """
    column = COLUMNS[change.table][1]
    values = None if change.after is None else (change.after[0], repr(change.after[1]))
    if change.before is None:
        assert values is not None
        return f"INSERT INTO {change.table} VALUES ({values[0]}, {values[1]})"
    where = f"WHERE id = {change.before[0]}"
    if values is None:
        return f"DELETE FROM {change.table} {where}"
    moved = f"id = {values[0]}, " if values[0] != change.before[0] else ""
    return f"UPDATE {change.table} SET {moved}{column} = {values[1]} {where}"


def _selects(first: int) -> list[tuple[str, str]]:
    between = f"WHERE id BETWEEN {first} AND {first + KEYS_OF_A_SEED - 1}"
    return [(table, f"SELECT id, {COLUMNS[table][1]} FROM {table} {between}") for table in TABLES]


class MySqlSession:
    """A session of MySQL or MariaDB."""

    KINDS: ClassVar = {
        1062: "duplicate",
        1205: "timeout",
        1213: "deadlock",
        1317: "killed",
        1452: "no parent",
        1451: "has children",
        2013: "lost",
    }

    def __init__(self, connection: Any, number: int) -> None:
        self._connection = connection
        self.number = number

    def change(self, change: Change) -> int:
        """Carry out a change."""
        found: int = self._connection.query(statement(change))
        return found

    def end(self, *, commit: bool) -> None:
        """End the transaction."""
        self._connection.query("COMMIT" if commit else "ROLLBACK")

    def kind(self, error: Exception) -> str:
        """Return the kind of an error."""
        return self.KINDS.get(error.args[0], repr(error))

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class MySql:
    """A MySQL.

    Args:
        url: ``mysql://user:password@host:port``.
    """

    name = "mysql"
    locking: Literal["mysql", "mariadb", "postgresql"] = "mysql"

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._place = {"host": parts.hostname, "port": parts.port, "user": parts.username, "password": parts.password}
        self._monitor = self._connect()
        self._cursor = self._monitor.cursor()

    def _connect(self, **options: Any) -> Any:
        return pymysql.connect(
            **self._place, charset="utf8mb4", autocommit=True, ssl_disabled=True, client_flag=pymysql.constants.CLIENT.FOUND_ROWS, **options
        )  # fmt: skip

    def _ask(self, sql: str) -> list[tuple[Any, ...]]:
        self._cursor.execute(sql)
        return list(self._cursor.fetchall())

    def prepare(self) -> None:
        """Make the tables."""
        word = "CREATE TABLE word (id INT PRIMARY KEY, w VARCHAR(20) COLLATE utf8mb4_general_ci NOT NULL, UNIQUE (w))"
        for sql in (f"DROP DATABASE IF EXISTS {DATABASE}", f"CREATE DATABASE {DATABASE}", f"USE {DATABASE}", *DDL, word):
            self._ask(sql)

    def fill(self, rows: State) -> None:
        """Insert rows and commit them."""
        self._ask("BEGIN")
        for (table, _), row in rows.items():
            self._ask(statement(Change(table, None, row)))
        self._ask("COMMIT")

    def session(self, *, impatient: bool) -> MySqlSession:
        """Return a new session."""
        setup = f"SET transaction_isolation='READ-COMMITTED', sql_log_bin=0, innodb_lock_wait_timeout={1 if impatient else 600}"
        connection = self._connect(database=DATABASE, init_command=self._setup(setup))
        connection.autocommit(False)
        return MySqlSession(connection, connection.thread_id())

    @staticmethod
    def _setup(text: str) -> str:
        return text

    def waits(self, numbers: Iterable[int], known: Iterable[int]) -> dict[int, frozenset[int] | None] | int:
        """Return the connections that wait, each with its blockers."""
        pairs = self._ask("SELECT REQUESTING_ENGINE_TRANSACTION_ID, BLOCKING_ENGINE_TRANSACTION_ID FROM performance_schema.data_lock_waits")
        # The thread of a row's lock may be another one, which made it when it met the row; that of a table's lock is its owner's.
        owners = dict(
            self._ask(
                "SELECT l.ENGINE_TRANSACTION_ID, t.PROCESSLIST_ID FROM performance_schema.data_locks l"
                " JOIN performance_schema.threads t USING (THREAD_ID) WHERE l.LOCK_TYPE = 'TABLE'"
            )
            if pairs
            else ()
        )
        found: dict[int, frozenset[int] | None] = {}
        for waiter, blocker in pairs:
            if (number := owners.get(waiter)) is not None:
                found[number] = (found.get(number) or frozenset()) | {owners.get(blocker, 0)}
        return {number: blockers for number, blockers in found.items() if number in set(numbers)}

    def kill(self, number: int, *, connection: bool) -> None:
        """End a statement or a connection."""
        self._ask(f"KILL {'CONNECTION' if connection else 'QUERY'} {number}")

    def lives(self, number: int) -> bool:
        """Return True if the connection is there."""
        return bool(self._ask(f"SELECT 1 FROM information_schema.processlist WHERE id = {number}"))

    def close(self) -> None:
        """Remove the tables, and close the connection."""
        self._ask(f"DROP DATABASE {DATABASE}")
        self._monitor.close()

    def content(self, first: int) -> State:
        """Return the committed rows of a seed."""
        return {(table, row[0]): (row[0], row[1]) for table, sql in _selects(first) for row in self._ask(sql)}


class MariaDb(MySql):
    """A MariaDB."""

    name = "mariadb"
    locking: Literal["mysql", "mariadb", "postgresql"] = "mariadb"

    @staticmethod
    def _setup(text: str) -> str:
        return text.replace("transaction_isolation", "tx_isolation")

    def waits(self, numbers: Iterable[int], known: Iterable[int]) -> dict[int, frozenset[int] | None] | int:
        """Return the connections that wait, each with its blockers; their number if they are the known ones."""
        asked, before = set(numbers), set(known)
        count = int(self._ask("SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'")[0][1])
        if count != len(asked) or asked <= before:
            return count
        time.sleep(MARIADB_CACHE_SECONDS)
        found: dict[int, frozenset[int] | None] = {}
        for waiter, blocker in self._ask(
            "SELECT r.trx_mysql_thread_id, b.trx_mysql_thread_id FROM information_schema.innodb_lock_waits w"
            " JOIN information_schema.innodb_trx r ON r.trx_id = w.requesting_trx_id"
            " JOIN information_schema.innodb_trx b ON b.trx_id = w.blocking_trx_id"
        ):
            found[waiter] = (found.get(waiter) or frozenset()) | {blocker}
        return {number: blockers for number, blockers in found.items() if number in asked}


class PostgresSession:
    """A session of PostgreSQL, which rolls back after each error, because the transaction has ended."""

    KINDS: ClassVar = {"23505": "duplicate", "55P03": "timeout", "40P01": "deadlock", "57014": "killed", "57P01": "lost"}

    def __init__(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        self._connection = connection
        self.number = connection.info.backend_pid

    def change(self, change: Change) -> int:
        """Carry out a change."""
        try:
            return self._connection.execute(statement(change).encode()).rowcount
        except psycopg.Error:
            if not self._connection.closed:
                self._connection.rollback()
            raise

    def end(self, *, commit: bool) -> None:
        """End the transaction."""
        if commit:
            self._connection.commit()
        else:
            self._connection.rollback()

    def kind(self, error: Exception) -> str:
        """Return the kind of an error."""
        state = getattr(error, "sqlstate", None)
        if state == "23503":
            return "no parent" if "insert or update" in str(error) else "has children"
        if state is None and isinstance(error, psycopg.OperationalError):
            return "lost"
        return self.KINDS.get(str(state), repr(error))

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class Postgres:
    """A PostgreSQL.

    Args:
        url: As libpq takes it; of a user who may set ``deadlock_timeout``.
    """

    name = "postgresql"
    locking: Literal["mysql", "mariadb", "postgresql"] = "postgresql"

    def __init__(self, url: str) -> None:
        self._url = url
        self._monitor = psycopg.connect(url, autocommit=True)

    def _ask(self, sql: str) -> list[tuple[Any, ...]]:
        cursor = self._monitor.execute(sql.encode())
        return cursor.fetchall() if cursor.description else []

    def prepare(self) -> None:
        """Make the tables."""
        word = ("CREATE TABLE word (id INT PRIMARY KEY, w VARCHAR(20) NOT NULL)", "CREATE UNIQUE INDEX word_w ON word (lower(w))")
        for sql in ("DROP TABLE IF EXISTS item, child, parent, word", *DDL, *word):
            self._ask(sql)

    def fill(self, rows: State) -> None:
        """Insert rows and commit them."""
        with self._monitor.transaction():
            for (table, _), row in rows.items():
                self._ask(statement(Change(table, None, row)))

    def session(self, *, impatient: bool) -> PostgresSession:
        """Return a new session."""
        options = (
            f"-c deadlock_timeout=10ms -c lock_timeout={'300ms' if impatient else 0} -c default_transaction_isolation=read\\ committed"
        )
        return PostgresSession(psycopg.connect(self._url, options=options))

    def waits(self, numbers: Iterable[int], known: Iterable[int]) -> dict[int, frozenset[int] | None] | int:
        """Return the connections that wait, each with its blockers."""
        pids = ", ".join(map(str, numbers))
        sql = f"SELECT pid, pg_blocking_pids(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND pid IN ({pids})"
        return {pid: frozenset(blockers) for pid, blockers in self._ask(sql) if blockers}

    def kill(self, number: int, *, connection: bool) -> None:
        """End a statement or a connection."""
        self._ask(f"SELECT pg_{'terminate' if connection else 'cancel'}_backend({number})")

    def lives(self, number: int) -> bool:
        """Return True if the connection is there."""
        return bool(self._ask(f"SELECT 1 FROM pg_stat_activity WHERE pid = {number}"))

    def close(self) -> None:
        """Remove the tables, and close the connection."""
        self._ask("DROP TABLE item, child, parent, word")
        self._monitor.close()

    def content(self, first: int) -> State:
        """Return the committed rows of a seed."""
        return {(table, row[0]): (row[0], row[1]) for table, sql in _selects(first) for row in self._ask(sql)}


def server_of(url: str) -> Server:
    """Return the server of a URL."""
    family = urlsplit(url).scheme
    if family == "mysql":
        return MySql(url)
    return MariaDb(url) if family == "mariadb" else Postgres(url)
