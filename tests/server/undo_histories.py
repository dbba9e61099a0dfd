"""Random histories for ``undo``, and what a replay of their log without some transactions gives."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pymysql

import paraply

TABLES = ("parent", "child", "swap", "hot", "plain")

Row = tuple[tuple[str, str | None], ...]
Rows = dict[str, Counter[Row]]
"""The rows of each table: how often each is there."""

SCHEMA = (
    "CREATE TABLE parent (id INT PRIMARY KEY, name VARCHAR(20) CHARACTER SET utf8mb4 UNIQUE, n INT, price DECIMAL(8,2)) ENGINE=InnoDB",
    "CREATE TABLE child (id INT PRIMARY KEY, parent_id INT, v FLOAT, CONSTRAINT up FOREIGN KEY (parent_id) REFERENCES parent (id))",
    "CREATE TABLE swap (id INT PRIMARY KEY, u INT NOT NULL, UNIQUE KEY (u), at DATETIME(3), b VARBINARY(9)) ENGINE=InnoDB",
    "CREATE TABLE hot (id INT PRIMARY KEY, n INT, note TEXT CHARACTER SET latin1) ENGINE=InnoDB",
    "CREATE TABLE plain (a INT, b CHAR(3)) ENGINE=InnoDB",
    "CREATE TABLE other (id INT PRIMARY KEY) ENGINE=InnoDB",
)


class UndoHistory:
    """A random history in a database of its own.

    Args:
        sql: Runs statements of one session; it raises pymysql's errors.
        seed: The seed.
        cascades: True if changes of parents cascade, on a server that logs them.
    """

    def __init__(self, sql: Callable[[str], Any], seed: int, *, cascades: bool = False) -> None:
        self._sql = sql
        self._cascades = cascades
        self._random = random.Random(seed)
        self.database = f"undo_{seed}"

    def run(self, transactions: int) -> None:
        """Make the tables, fill them, and run transactions."""
        for statement in (f"DROP DATABASE IF EXISTS {self.database}", f"CREATE DATABASE {self.database}", f"USE {self.database}", *SCHEMA):
            self._sql(statement)
        if self._cascades:
            actions = "ON DELETE SET NULL ON UPDATE CASCADE"
            self._sql(f"ALTER TABLE child DROP FOREIGN KEY up, ADD FOREIGN KEY (parent_id) REFERENCES parent (id) {actions}")
        for number in range(1, 6):
            self._sql(f"INSERT INTO parent VALUES ({number}, 'p{number}', 0, 1.50)")
            self._sql(f"INSERT INTO swap VALUES ({number}, {number}, '2026-01-02 03:04:05.678', x'00FF')")
            self._sql(f"INSERT INTO hot VALUES ({number}, 0, 'caf\u00e9')")
        for _ in range(transactions):
            if self._random.random() < 0.05:
                self._sql(f"ALTER TABLE other ADD c{self._random.randrange(10**9)} INT")
            else:
                self._transaction()

    def _transaction(self) -> None:
        self._sql("BEGIN")
        for _ in range(self._random.randint(1, 3)):
            with suppress(pymysql.IntegrityError):
                self._sql(self._statement())
        self._sql("COMMIT")

    def _statement(self) -> str:
        pick = self._random.randrange
        number, other = pick(1, 9), pick(1, 9)
        choices: tuple[str, ...] = (
            f"INSERT INTO parent VALUES ({number}, 'p{other}', {pick(9)}, {pick(99)}.25)",
            f"UPDATE parent SET n = n + 1 WHERE id = {number}",
            f"UPDATE parent SET name = 'p{pick(1, 12)}' WHERE id = {number}",
            f"DELETE FROM parent WHERE id = {number}",
            f"UPDATE parent SET id = {number} WHERE id = {other}",
            f"INSERT INTO child VALUES ({pick(1, 15)}, {number}, {pick(99)} / 7)",
            f"UPDATE child SET parent_id = {number} WHERE id = {pick(1, 15)}",
            f"DELETE FROM child WHERE id = {pick(1, 15)}",
            f"UPDATE swap SET u = u + {self._random.choice((1, -1, 20))} WHERE id = {number}",
            f"DELETE FROM swap WHERE id = {number}",
            f"INSERT INTO swap VALUES ({number}, {other}, NULL, NULL)",
            f"UPDATE hot SET n = n + 1, note = 'it''s \\\\ {pick(9)}' WHERE id = {pick(1, 4)}",
            f"INSERT INTO plain VALUES ({pick(4)}, {self._random.choice(('NULL', repr('x'), repr('y ')))})",
            f"DELETE FROM plain WHERE a = {pick(4)} LIMIT 1",
            f"UPDATE plain SET a = a + 1 WHERE a = {pick(3)}",
            f"UPDATE hot SET id = {pick(5, 9)} WHERE id = {pick(4, 9)}",
        )
        return self._random.choice(choices)

    def choose(self, gtids: list[str]) -> str:
        """Return some of the GTIDs as a set."""
        return ",".join(self._random.sample(gtids, self._random.randint(1, min(3, len(gtids)))))


def replayed(log: Iterable[Path], database: str, without: Callable[[str], bool]) -> Rows:
    """Return the rows after a replay of the log without some transactions, in plain Python.

    Each change must find its row: a transaction that does not find it was wrongly taken for independent.
    """
    state: Rows = {table: Counter() for table in TABLES}
    for change in paraply.rows([str(path) for path in log], tables=[database]).read_all().to_pylist():
        if change["table"] not in state or without(change["gtid"]):
            continue
        rows = state[change["table"]]
        if change["before"] is not None:
            row = tuple(sorted(change["before"]))
            assert rows[row] > 0, f"{change['gtid']} does not find {row}"
            rows[row] -= 1
        if change["after"] is not None:
            rows[tuple(sorted(change["after"]))] += 1
    return {table: +rows for table, rows in state.items()}


def by_key(rows: Rows) -> dict[tuple[str, str | None], Row | None]:
    """Return the rows of the tables with a primary key by table and key."""
    return {(table, dict(row)["id"]): row for table in rows if table != "plain" for row in rows[table]}


def before_the_first(log: Iterable[Path], database: str, chosen: Callable[[str], bool]) -> dict[tuple[str, str | None], Row | None]:
    """Return each row that chosen transactions change as it was before the first of them; None for one that was not there."""
    now: dict[tuple[str, str | None], Row | None] = {}
    first: dict[tuple[str, str | None], Row | None] = {}
    for change in paraply.rows([str(path) for path in log], tables=[database]).read_all().to_pylist():
        if change["table"] not in TABLES or change["table"] == "plain":
            continue
        images = [None if change[name] is None else tuple(sorted(change[name])) for name in ("before", "after")]
        keys = [None if image is None else (change["table"], dict(image)["id"]) for image in images]
        for key in {key for key in keys if key is not None and chosen(change["gtid"])}:
            first.setdefault(key, now.get(key))
        if keys[0] is not None:
            now[keys[0]] = None
        if keys[1] is not None:
            now[keys[1]] = images[1]
    return first


def gtids_of(log: Iterable[Path], database: str) -> list[str]:
    """Return the GTIDs of the transactions that change rows of a database, in order."""
    return list(dict.fromkeys(paraply.rows([str(p) for p in log], tables=[database], columns=["gtid"]).read_all()["gtid"].to_pylist()))
