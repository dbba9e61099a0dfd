"""Random histories, run on a real source so that the log is real: hot rows, keys that move, foreign keys, tables without a key,
huge transactions, statements that change nothing, and DDL, by several sessions in turn."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from typing import Any, Protocol

import pymysql

__all__ = ["DATABASE", "SESSIONS", "History"]

DATABASE = "history"
SESSIONS = 5
HOT = 4

TABLES = (
    "CREATE TABLE hot (id INT PRIMARY KEY, n INT NOT NULL, note VARCHAR(40) COLLATE utf8mb4_general_ci)",
    "CREATE TABLE item (id INT PRIMARY KEY, code VARCHAR(20) NOT NULL, rank_ INT NULL, UNIQUE KEY code (code), UNIQUE KEY rank_ (rank_))",
    "CREATE TABLE parent (id INT PRIMARY KEY, name VARCHAR(20) NOT NULL)",
    """CREATE TABLE child (id INT PRIMARY KEY, parent_id INT NULL, n INT NOT NULL, KEY (parent_id),
       CONSTRAINT child_parent FOREIGN KEY (parent_id) REFERENCES parent (id))""",
    """CREATE TABLE leaf (id INT PRIMARY KEY, parent_id INT NOT NULL, KEY (parent_id),
       CONSTRAINT leaf_parent FOREIGN KEY (parent_id) REFERENCES parent (id){cascade})""",
    "CREATE TABLE no_key (a INT NOT NULL, b VARCHAR(10) NULL)",
    "CREATE TABLE wide (id INT AUTO_INCREMENT PRIMARY KEY, t TEXT NOT NULL)",
)


class Cursor(Protocol):
    """A session as a history needs it."""

    def execute(self, query: str) -> Any:
        """Runs a statement."""


class History:
    """Statements of several sessions, drawn from a seed.

    Args:
        seed: The same seed makes the same history.
        connect: Makes a connection in autocommit mode to the source.
        mariadb: True if it is MariaDB. Its logs do not tell sessions, so there each session writes as a server of its own.
        cascades: True if a foreign key deletes the children with the parent, which not every target can follow.
        spread: More transactions that conflict with none, no huge ones, and no DDL behind the tables' own. Other histories have a huge one.
        sessions: How many.
    """

    def __init__(
        self,
        seed: int,
        connect: Callable[[], pymysql.connections.Connection[Any]],
        *,
        mariadb: bool,
        cascades: bool = False,
        spread: bool = False,
        sessions: int = SESSIONS,
    ) -> None:
        self._sessions = sessions
        self._draw = random.Random(seed)
        self._connect = connect
        self._mariadb = mariadb
        self._cascade = " ON DELETE CASCADE" if cascades else ""
        self._spread = spread
        self._weights = [1, 0, 0, 0] if spread else [90, 2, 4, 3]
        self._more = [self._wide] * 20 if spread else []
        self._columns = 0

    def run(self, transactions: int) -> None:
        """Makes the tables, which must not be there, and runs so many transactions."""
        connections = [self._connect() for _ in range(self._sessions)]
        try:
            sessions = [connection.cursor() for connection in connections]
            sessions[0].execute(f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4")
            for number, session in enumerate(sessions):
                session.execute(f"USE {DATABASE}")
                if self._mariadb:
                    session.execute(f"SET SESSION server_id={101 + number}")
            for table in TABLES:
                sessions[0].execute(table.format(cascade=self._cascade))
            for number in range(HOT):
                sessions[0].execute(f"INSERT INTO hot VALUES ({number}, 0, NULL)")
            huge = self._draw.randrange(transactions)
            for number in range(transactions):
                session = self._draw.choice(sessions)
                if number == huge and not self._spread:
                    self._huge(session)
                else:
                    self._transaction(session)
        finally:
            for connection in connections:
                connection.close()

    def _transaction(self, session: Cursor) -> None:
        kind = self._draw.choices([self._some_rows, self._huge, self._nothing, self._ddl], self._weights)[0]
        kind(session)

    def _some_rows(self, session: Cursor) -> None:
        """One to four changes; one that the source refuses takes no part."""
        session.execute("BEGIN")
        changes = [self._hot, self._hot, self._item, self._item, self._parent, self._child, self._leaf, self._no_key, self._wide]
        changes += self._more
        for change in self._draw.choices(changes, k=self._draw.randint(1, 4)):
            with contextlib.suppress(pymysql.err.IntegrityError):
                session.execute(change())
        session.execute(self._draw.choices(["COMMIT", "ROLLBACK"], [15, 1])[0])

    def _huge(self, session: Cursor) -> None:
        first = self._draw.randint(1, 10**6) * 1000
        session.execute("BEGIN")
        rows = ", ".join(f"('{self._draw.randint(0, 9) * str(number)}')" for number in range(first, first + 400))
        session.execute(f"INSERT INTO wide (t) VALUES {rows}")
        session.execute("UPDATE wide SET t = CONCAT(t, 'x') WHERE id % 3 = 0")
        session.execute("DELETE FROM wide WHERE id % 7 = 0")
        session.execute("COMMIT")

    def _nothing(self, session: Cursor) -> None:
        session.execute(self._draw.choice(["UPDATE hot SET n = n WHERE id < 0", "DROP TABLE IF EXISTS never_there"]))

    def _ddl(self, session: Cursor) -> None:
        self._columns += 1
        number = self._columns
        table = self._draw.choice(["hot", "item", "child", "no_key"])
        session.execute(
            self._draw.choice(
                [
                    f"ALTER TABLE {table} ADD COLUMN c{number} INT NULL",
                    f"CREATE TABLE extra{number} (id INT PRIMARY KEY, v INT)",
                    "DELETE FROM no_key",
                ]
            )
        )

    def _hot(self) -> str:
        note = self._draw.choice(["'a'", "'A'", "'b'", "NULL"])
        return f"UPDATE hot SET n = n + 1, note = {note} WHERE id = {self._draw.randrange(HOT)}"

    def _item(self) -> str:
        key, code, rank = self._draw.randint(1, 12), self._draw.choice("abcdefgh"), self._draw.choice(["NULL", *"123456"])
        return self._draw.choice(
            [
                f"INSERT INTO item (id, code, rank_) VALUES ({key}, '{code}', {rank})",
                f"UPDATE item SET code = '{code}', rank_ = {rank} WHERE id = {key}",
                f"UPDATE item SET id = {self._draw.randint(1, 12)} WHERE id = {key}",
                f"DELETE FROM item WHERE id = {key}",
            ]
        )

    def _parent(self) -> str:
        key = self._draw.randint(1, 6)
        return self._draw.choice(
            [
                f"INSERT INTO parent VALUES ({key}, 'p{key}')",
                f"UPDATE parent SET name = 'q{self._draw.randint(1, 9)}' WHERE id = {key}",
                f"DELETE FROM parent WHERE id = {key}",
            ]
        )

    def _child(self) -> str:
        key, parent = self._draw.randint(1, 12), self._draw.choice(["NULL", *"123456"])
        return self._draw.choice(
            [
                f"INSERT INTO child (id, parent_id, n) VALUES ({key}, {parent}, 1)",
                f"UPDATE child SET parent_id = {parent}, n = n + 1 WHERE id = {key}",
                f"DELETE FROM child WHERE id = {key}",
            ]
        )

    def _leaf(self) -> str:
        key = self._draw.randint(1, 12)
        return self._draw.choice([f"INSERT INTO leaf VALUES ({key}, {self._draw.randint(1, 6)})", f"DELETE FROM leaf WHERE id = {key}"])

    def _no_key(self) -> str:
        a, b = self._draw.randint(1, 4), self._draw.choice(["'x'", "'y'", "NULL"])
        return self._draw.choice(
            [
                f"INSERT INTO no_key (a, b) VALUES ({a}, {b})",
                f"UPDATE no_key SET b = {b} WHERE a = {a} LIMIT 1",
                f"DELETE FROM no_key WHERE a = {a} LIMIT 1",
            ]
        )

    def _wide(self) -> str:
        return f"INSERT INTO wide (t) VALUES ('{self._draw.randint(0, 999)}')"
