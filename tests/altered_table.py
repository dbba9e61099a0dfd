"""A table on a real server that random statements change and alter, and a copy of its rows at the end, in the same log."""

from __future__ import annotations

import random
from collections.abc import Callable

__all__ = ["AlteredTable"]

Sql = Callable[[str], object]

#: Definition, literals of its rows, literals of a default.
TYPES: list[tuple[str, list[str], list[str]]] = [
    ("INT", ["0", "-5", "77"], ["1", "'12'", "NULL"]),
    ("BIGINT UNSIGNED", ["0", "9000000000"], ["5"]),
    ("DECIMAL(10,2)", ["1.25", "-3.50", "0"], ["1.5", "'2.255'"]),
    ("VARCHAR(30)", ["'a'", "'é x'", "''", "'7'"], ["'q'", "'it''s'"]),
    ("CHAR(8)", ["'ab'", "'c '"], ["'z '"]),
    ("VARBINARY(20)", ["'ab'", "x'00ff'"], ["'b'", "x'41'"]),
    ("BINARY(4)", ["'ab'", "x'00'"], []),
    ("DATE", ["'2024-02-29'", "'1999-12-31'"], ["'2020-01-02'"]),
    ("DATETIME(3)", ["'2024-02-29 23:59:59.999'", "'2001-01-01 00:00:00'"], ["'2020-01-02 03:04:05.6'"]),
    ("DOUBLE", ["0.1", "1e20", "-2.5"], ["1.25"]),
    ("FLOAT", ["0.1", "16777217"], ["0.5"]),
    ("ENUM('a','b','c')", ["'a'", "'c'"], ["'b'"]),
    ("SET('x','y','z')", ["'x,z'", "''"], ["'z,x'"]),
    ("TIME(2)", ["'10:11:12.25'", "'-01:02:03'"], ["'01:00:00'"]),
    ("BIT(9)", ["3", "257"], []),
    ("YEAR", ["2024", "1999"], []),
    ("TEXT", ["'long'", "NULL"], []),
]
#: Types that a column may have without NULL and without a default.
NOT_NULL = ("INT", "DECIMAL(10,2)", "VARCHAR(30)", "ENUM('a','b','c')", "VARBINARY(20)")
#: Types that a type may become, with the same values.
CHANGES = {
    "INT": ["BIGINT", "DECIMAL(14,3)", "VARCHAR(20)", "DOUBLE"],
    "BIGINT": ["DECIMAL(24,1)"],
    "BIGINT UNSIGNED": ["DECIMAL(22,2)", "VARCHAR(30)"],
    "DECIMAL(10,2)": ["DECIMAL(12,4)", "DECIMAL(10,1)", "INT", "VARCHAR(30)", "DOUBLE"],
    "VARCHAR(30)": ["VARCHAR(200)", "TEXT", "CHAR(40)", "VARCHAR(30) CHARACTER SET utf8mb3"],
    "CHAR(8)": ["VARCHAR(20)", "TEXT"],
    "VARBINARY(20)": ["VARBINARY(60)", "BLOB"],
    "BINARY(4)": ["BINARY(9)", "VARBINARY(30)"],
    "DATE": ["DATETIME", "DATETIME(2)", "VARCHAR(40)"],
    "DATETIME(3)": ["DATETIME(6)", "DATETIME(1)", "DATETIME"],
    "FLOAT": ["DOUBLE"],
    "ENUM('a','b','c')": ["ENUM('c','b','a','d')", "VARCHAR(10)"],
    "SET('x','y','z')": ["SET('x','y','z','w')", "VARCHAR(30)"],
    "TIME(2)": ["TIME(6)", "TIME"],
    "YEAR": ["INT"],
}


class AlteredTable:
    """A table ``d.t`` under random statements.

    Args:
        sql: Runs a statement on the server.
        seed: Of the statements.
        key: Definition of its key's column.
    """

    def __init__(self, sql: Sql, seed: int, key: str = "k INT PRIMARY KEY") -> None:
        self._sql = sql
        self._chance = random.Random(seed)
        self._name = "t"
        self._columns: dict[str, str] = {}
        self._number = 0
        self._keys = 0
        self.statements: list[str] = []
        sql("DROP DATABASE IF EXISTS d")
        sql("CREATE DATABASE d CHARACTER SET utf8mb4")
        self._run(f"CREATE TABLE d.t ({key})")
        for _ in range(4):
            self._add()

    def run(self, rounds: int) -> None:
        """Change rows and alter the table so many times; then copy its rows into ``d.copy``."""
        actions = [self._add, self._add, self._retype, self._retype, self._rename, self._drop, self._move, self._default]
        for number in range(rounds):
            self._rows()
            self._chance.choice(actions)()
            if number % 17 == 13:
                self._rename_table()
            if number == rounds // 5:
                self._run(f"TRUNCATE TABLE d.{self._name}")
        self._rows()
        if self._name != "t":
            self._rename_table("t")
        self._sql("CREATE TABLE d.copy LIKE d.t")
        self._sql("INSERT INTO d.copy SELECT * FROM d.t")

    def _run(self, statement: str) -> None:
        self.statements.append(statement)
        self._sql(statement)

    def _rows(self) -> None:
        """A few inserts, updates and deletes, some of which change the key."""
        for _ in range(self._chance.randrange(1, 4)):
            self._keys += 1
            values = {name: self._chance.choice(rows_of(kind)) for name, kind in self._columns.items()}
            names = ", ".join(["k", *values])
            self._run(f"INSERT INTO d.{self._name} ({names}) VALUES ({', '.join([str(self._keys), *values.values()])})")
        if self._columns:
            name, kind = self._chance.choice(list(self._columns.items()))
            where = f"WHERE k % 5 = {self._chance.randrange(5)}"
            self._run(f"UPDATE d.{self._name} SET {name} = {self._chance.choice(rows_of(kind))} {where}")
        if self._chance.random() < 0.3:
            self._keys += 1
            self._run(f"UPDATE d.{self._name} SET k = {self._keys} WHERE k = {self._chance.randrange(1, self._keys)}")
        if self._chance.random() < 0.3:
            self._run(f"DELETE FROM d.{self._name} WHERE k = {self._chance.randrange(1, self._keys + 1)}")

    def _add(self) -> None:
        kind, _, defaults = self._chance.choice(TYPES)
        self._number += 1
        clause = f" DEFAULT {self._chance.choice(defaults)}" if defaults and self._chance.random() < 0.7 else ""
        if not clause and kind in NOT_NULL and self._chance.random() < 0.3:
            clause = " NOT NULL"
        self._columns[f"c{self._number}"] = kind
        place = self._chance.choice(["", " FIRST", " AFTER k"])
        self._run(f"ALTER TABLE d.{self._name} ADD COLUMN c{self._number} {kind}{clause}{place}")

    def _retype(self) -> None:
        possible = [name for name, kind in self._columns.items() if kind in CHANGES]
        if possible:
            name = self._chance.choice(possible)
            kind = self._chance.choice(CHANGES[self._columns[name]])
            self._columns[name] = kind
            self._run(f"ALTER TABLE d.{self._name} MODIFY {name} {kind}")

    def _rename(self) -> None:
        if self._columns:
            name = self._chance.choice(list(self._columns))
            self._number += 1
            self._columns[f"r{self._number}"] = self._columns.pop(name)
            self._run(f"ALTER TABLE d.{self._name} RENAME COLUMN {name} TO r{self._number}")

    def _drop(self) -> None:
        if len(self._columns) > 3:
            name = self._chance.choice(list(self._columns))
            del self._columns[name]
            self._run(f"ALTER TABLE d.{self._name} DROP COLUMN {name}")

    def _move(self) -> None:
        if self._columns:
            name = self._chance.choice(list(self._columns))
            kind = self._columns[name]
            self._number += 1
            self._columns[f"m{self._number}"] = self._columns.pop(name)
            self._run(f"ALTER TABLE d.{self._name} CHANGE {name} m{self._number} {kind} AFTER k")

    def _default(self) -> None:
        self._run(
            f"ALTER TABLE d.{self._name} COMMENT '{self._chance.randrange(1000)}', ADD KEY i{self._number}_{len(self.statements)} (k)"
        )

    def _rename_table(self, name: str | None = None) -> None:
        name = name or ("s" if self._name == "t" else "t")
        self._run(f"RENAME TABLE d.{self._name} TO d.{name}")
        self._name = name


def rows_of(kind: str) -> list[str]:
    """Literals that fit a type."""
    for known, rows, _ in TYPES:
        if known == kind:
            return rows
    if kind.startswith(("VARCHAR", "TEXT", "CHAR", "VARBINARY", "BLOB", "BINARY")):
        return ["'1'", "'x'"]
    if kind.startswith("ENUM"):
        return ["'a'", "'b'"]
    if kind.startswith("SET"):
        return ["'x'", "'w,y'"]
    if kind.startswith("DATETIME"):
        return ["'2024-05-06 07:08:09'"]
    return ["'03:04:05'"] if kind.startswith("TIME") else ["3", "12"]
