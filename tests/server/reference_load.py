"""Random tables with foreign keys of many kinds, random changes of them, and random damage to a target."""

from __future__ import annotations

import random
from dataclasses import dataclass

__all__ = ["ReferenceLoad"]

DATABASE = "errs"
_Kind = tuple[str, list[str]]
#: A table, and its keys: their columns with type and values.
_Parent = tuple[str, list[tuple[list[str], list[_Kind]]]]


#: Columns of a parent's key, of the child's reference to it, and values; the last kinds are such that questions are not asked about them.
KINDS: list[_Kind] = [
    ("INT", ["0", "1", "-1", "2147483647", "7"]),
    ("BIGINT UNSIGNED", ["0", "1", "18446744073709551615", "9223372036854775808"]),
    ("SMALLINT", ["1", "2", "-32768"]),
    ("VARCHAR(12) COLLATE utf8mb4_0900_ai_ci", ["'a'", "'A'", "'\u00e4'", "''", "'x y'", "'b '"]),
    ("VARCHAR(12) CHARACTER SET latin1", ["'a'", "'a '", "'\u00e9'", "'it''s'"]),
    ("CHAR(5) COLLATE utf8mb4_bin", ["'a'", "'A'", "'abcde'"]),
    ("BINARY(4)", ["X'61'", "X'6100'", "X'61626364'", "X'00'"]),
    ("VARBINARY(8)", ["X'61'", "X'6100'", "X''"]),
    ("DATE", ["'2026-01-01'", "'2026-12-31'"]),
    ("DECIMAL(6,2)", ["1.50", "-1.50"]),
]
ACTIONS = ["", "", "", " ON DELETE CASCADE", " ON DELETE SET NULL", " ON UPDATE CASCADE"]


@dataclass
class _Reference:
    """A child's columns, and the parent's key that they refer to."""

    child: str
    columns: list[str]
    parent: str
    key: list[str]
    values: list[list[str]]


class ReferenceLoad:
    """Tables ``p0`` to ``p2``, each with two keys, and children of them; ``c2`` refers to ``c0`` and to itself too.

    Args:
        seed: The same seed makes the same load.
    """

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        self._references: list[_Reference] = []
        self.tables = ["SET SESSION restrict_fk_on_non_standard_key=OFF", f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4"]
        parents = [self._parent(number) for number in range(3)]
        for number in range(4):
            self._child(number, parents)

    def _parent(self, number: int) -> _Parent:
        kinds = [self._draw.choice(KINDS) for _ in range(self._draw.choice([1, 1, 2]))]
        other = self._draw.choice(KINDS[:3])
        columns = [f"k{n} {kind} NOT NULL" for n, (kind, _) in enumerate(kinds)]
        names = [f"k{n}" for n in range(len(kinds))]
        # A foreign key may refer to a key that is not unique.
        key = f"{self._draw.choice(['UNIQUE KEY'] * 4 + ['KEY'])} u ({', '.join(names)})"
        more = f"o {other[0]} NULL, UNIQUE KEY o (o), n INT NOT NULL"
        self.tables.append(f"CREATE TABLE {DATABASE}.p{number} (id INT PRIMARY KEY, {', '.join(columns)}, {key}, {more})")
        return f"p{number}", [(names, kinds), (["o"], [other]), (["id"], [("INT", ["1", "2", "3", "4", "5", "6"])])]

    def _child(self, number: int, parents: list[_Parent]) -> None:
        table, columns, constraints = f"c{number}", [], []
        for place in range(self._draw.choice([1, 2, 2, 3])):
            parent, keys = self._draw.choice(parents)
            names, kinds = self._draw.choice(keys)
            own = [f"r{place}_{n}" for n in range(len(names))]
            columns += [f"{column} {kind} NULL" for column, (kind, _) in zip(own, kinds, strict=True)]
            reference = _Reference(table, own, parent, names, [values for _, values in kinds])
            self._references.append(reference)
            referred = f"REFERENCES {DATABASE}.{parent} ({', '.join(names)}){self._draw.choice(ACTIONS)}"
            constraints.append(f"FOREIGN KEY ({', '.join(own)}) {referred}")
        if number == 2:
            columns.append("up INT NULL")
            constraints.append(f"FOREIGN KEY (up) REFERENCES {DATABASE}.{table} (id)")
        if number == 3:
            columns.append("up INT NULL")
            constraints.append(f"FOREIGN KEY (up) REFERENCES {DATABASE}.c0 (id){self._draw.choice(ACTIONS[:4])}")
        self.tables.append(f"CREATE TABLE {DATABASE}.{table} (id INT PRIMARY KEY, n INT NOT NULL, {', '.join(columns + constraints)})")

    def parents(self, count: int) -> list[str]:
        """Statements that make parents, of which many fail."""
        return [self._insert_parent(f"p{self._draw.randrange(3)}") for _ in range(count)]

    def changes(self, count: int) -> list[str]:
        """Statements, of which many fail."""
        return [self._change() for _ in range(count)]

    def _change(self) -> str:
        draw = self._draw.random()
        if draw < 0.15:
            return self._insert_parent(f"p{self._draw.randrange(3)}")
        if draw < 0.8:
            return self._insert_child(f"c{self._draw.randrange(4)}")
        table = self._draw.choice(["p0", "p1", "p2", "c0", "c1", "c2", "c3"])
        where = f"id={self._id()}" if self._draw.random() < 0.8 else f"id<{self._id()}"
        if draw < 0.86:
            return f"DELETE FROM {DATABASE}.{table} WHERE {where}"
        if draw < 0.93:
            return f"UPDATE {DATABASE}.{table} SET n=n+1 WHERE {where}"
        if table[0] == "p":
            column, values = self._draw.choice(self._keys_of(table))
            return f"UPDATE {DATABASE}.{table} SET {column}={self._draw.choice(values)} WHERE {where}"
        reference = self._draw.choice([r for r in self._references if r.child == table])
        sets = (
            f"{column}={self._draw.choice([*values, 'NULL'])}" for column, values in zip(reference.columns, reference.values, strict=True)
        )
        return f"UPDATE {DATABASE}.{table} SET {', '.join(sets)} WHERE {where}"

    def _id(self) -> int:
        return self._draw.randrange(1, 8)

    def _keys_of(self, parent: str) -> list[tuple[str, list[str]]]:
        found = [(column, values) for r in self._references if r.parent == parent for column, values in zip(r.key, r.values, strict=True)]
        return found or [("n", ["1", "2"])]

    def _insert_parent(self, table: str) -> str:
        values = {column: self._draw.choice(values) for column, values in self._keys_of(table)}
        values |= {"id": str(self._id()), "n": "0"}
        return f"INSERT INTO {DATABASE}.{table} ({', '.join(values)}) VALUES ({', '.join(values.values())})"

    def _insert_child(self, table: str) -> str:
        values = {"id": str(self._draw.randrange(1, 60)), "n": "0"}
        for reference in (r for r in self._references if r.child == table):
            if self._draw.random() < 0.9:
                pairs = zip(reference.columns, reference.values, strict=True)
                values |= {column: self._draw.choice(choice[:3]) for column, choice in pairs}
        if table in ("c2", "c3") and self._draw.random() < 0.5:
            values["up"] = str(self._id())
        return f"INSERT INTO {DATABASE}.{table} ({', '.join(values)}) VALUES ({', '.join(values.values())})"

    def damage(self) -> list[str]:
        """Statements that take a row or two away, or put some there, as somebody might have done."""
        tables = ["p0", "p1", "p2", "c0"]
        statements = [
            f"DELETE FROM {DATABASE}.{self._draw.choice(tables)} WHERE id={self._id()}" for _ in range(self._draw.choice([0, 0, 1, 2]))
        ]
        if self._draw.random() < 0.2:
            statements.append(self._insert_child(f"c{self._draw.randrange(4)}"))
        return statements
