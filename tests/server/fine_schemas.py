"""Random schemas with foreign keys and unique keys of every shape, for the proof of scheme ``fine`` (rules R13 to R15a)."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

TEXTS = ["'a'", "'A'", "'a '", "'ä'", "'Ä'", "'b'", "'B'", "'ss'", "'ß'", "''"]
"""Values that collations call equal in many ways."""
KINDS: dict[str, list[str]] = {
    "INT": [str(n) for n in range(1, 6)],
    "DECIMAL(6,2)": ["0", "1", "1.50", "-1", "2.00"],
    "DATE": ["'2024-01-01'", "'2024-01-02'", "'2024-02-29'"],
    "VARBINARY(8)": ["'a'", "'A'", "'a '", "x'00'"],
}
COLLATIONS = {
    "mysql": ["0900_ai_ci", "0900_as_cs", "general_ci", "bin", "de_pb_0900_ai_ci", "latin1_swedish_ci"],
    "mariadb": ["general_ci", "unicode_ci", "bin", "uca1400_ai_ci", "latin1_swedish_ci", "latin1_german2_ci"],
}
"""Of utf8mb4 where they name no character set."""
ACTIONS = ["", "ON DELETE CASCADE", "ON UPDATE CASCADE", "ON DELETE CASCADE ON UPDATE CASCADE"]
NULLING = ["ON DELETE SET NULL", "ON UPDATE SET NULL", "ON DELETE SET NULL ON UPDATE CASCADE", "ON DELETE CASCADE ON UPDATE SET NULL"]


COMPUTED = ["v % 7", "v * 2 - 1", "IF(v > 15, v, NULL)", "v DIV 3"]
"""Expressions of generated columns; the last one is not understood."""


@dataclass
class Column:
    """A column and the few values that a history gives it."""

    name: str
    kind: str
    values: list[str]
    nullable: bool = False
    generated: str = ""
    storage: str = "VIRTUAL"

    def definition(self) -> str:
        if self.generated:
            return f"{self.name} {self.kind} AS ({self.generated}) {self.storage}"
        return f"{self.name} {self.kind} {'NULL' if self.nullable else 'NOT NULL'}"

    def value(self, chance: random.Random) -> str:
        """A literal; NULL now and then where it may be."""
        return "NULL" if self.nullable and chance.random() < 0.3 else chance.choice(self.values)


@dataclass
class Table:
    """A table; its first unique key is the primary key where ``has_primary``."""

    name: str
    columns: list[Column] = field(default_factory=list)
    keys: list[list[Column]] = field(default_factory=list)
    has_primary: bool = False
    plain_keys: list[list[Column]] = field(default_factory=list)
    odd_keys: list[str] = field(default_factory=list)
    references: list[str] = field(default_factory=list)
    is_parent: bool = False

    def add(self, column: Column) -> Column:
        self.columns.append(column)
        return column

    def create(self) -> str:
        """The statement."""
        parts = [column.definition() for column in self.columns]
        for number, key in enumerate(self.keys):
            names = ",".join(column.name for column in key)
            parts.append(f"PRIMARY KEY ({names})" if number == 0 and self.has_primary else f"UNIQUE KEY u{number} ({names})")
        parts += [f"KEY k{number} ({','.join(column.name for column in key)})" for number, key in enumerate(self.plain_keys)]
        return f"CREATE TABLE {self.name} ({', '.join(parts + self.odd_keys + self.references)}) ENGINE=InnoDB"


def random_schema(chance: random.Random, family: str) -> list[Table]:
    """Some tables, parents before children."""
    text = chance.choice(COLLATIONS[family])
    tables: list[Table] = []
    for number in range(chance.randint(2, 4)):
        table = Table(f"t{number}")
        _add_own_keys(chance, table, text)
        for _ in range(chance.choice([0, 1, 1, 2]) if tables else chance.choice([0, 0, 1])):
            _add_reference(chance, table, chance.choice([*tables, table]), family)
        table.add(Column("v", "INT", ["10", "20", "30"]))
        _add_odd_keys(chance, table)
        tables.append(table)
    return tables


def _random_column(chance: random.Random, name: str, text: str, *, nullable: bool = False) -> Column:
    kind = chance.choice([*KINDS, "INT", "text", "text"])
    if kind == "text":
        charset, collation = ("latin1", text) if text.startswith("latin1") else ("utf8mb4", f"utf8mb4_{text}")
        return Column(name, f"VARCHAR(10) CHARACTER SET {charset} COLLATE {collation}", TEXTS, nullable)
    return Column(name, kind, KINDS[kind], nullable)


def _add_own_keys(chance: random.Random, table: Table, text: str) -> None:
    shape = chance.choice(["one", "one", "one", "two", "nullable", "none"])
    if shape in ("one", "two"):
        table.has_primary = True
        table.keys.append([table.add(_random_column(chance, f"p{n}", text)) for n in range(1 if shape == "one" else 2)])
    elif shape == "nullable":
        table.keys.append([table.add(_random_column(chance, "q", text, nullable=True))])
    for number in range(0 if shape == "none" else chance.choice([0, 1, 1, 2])):
        width = chance.choice([1, 1, 2])
        columns = [_random_column(chance, f"u{number}{n}", text, nullable=chance.random() < 0.5) for n in range(width)]
        table.keys.append([table.add(column) for column in columns])
    if shape == "none" or chance.random() < 0.1:
        # A foreign key may refer to a key that is not unique (rule R14).
        table.plain_keys.append([table.add(_random_column(chance, "n", text, nullable=chance.random() < 0.5))])


def _add_odd_keys(chance: random.Random, table: Table) -> None:
    """A key over the first character of a text, and one over a generated column; no foreign key refers to them."""
    text = next((column for column in table.columns if column.kind.startswith("VARCHAR")), None)
    if text is not None and chance.random() < 0.2:
        table.odd_keys.append(f"UNIQUE KEY first_character ({text.name}(1))")
    if chance.random() < 0.3:
        table.add(Column("w", "INT", ["DEFAULT"], generated=chance.choice(COMPUTED), storage=chance.choice(["VIRTUAL", "STORED"])))
        table.odd_keys.append("UNIQUE KEY computed (w)")


def _add_reference(chance: random.Random, table: Table, parent: Table, family: str) -> None:
    targets = parent.keys + (parent.plain_keys if not parent.keys or chance.random() < 0.3 else [])
    if parent is table and not table.has_primary and family == "mysql":
        return
    target = chance.choice(targets)
    parent.is_parent = True
    number = len(table.references)
    nullable = parent is table or chance.random() < 0.6
    own = [Column(f"f{number}{n}", column.kind, column.values, nullable) for n, column in enumerate(target)]
    for column in own:
        table.add(column)
    if not nullable and parent is not table and chance.random() < 0.4:
        # The reference is (part of) a key of the child.
        extra = [] if chance.random() < 0.5 else [table.add(Column(f"x{number}", "INT", ["1", "2", "3"]))]
        table.keys.append(own + extra)
    action = chance.choice(ACTIONS + (NULLING if nullable else []))
    if parent is table and family == "mysql":
        action = action.replace("ON UPDATE CASCADE", "")
    child, other = (",".join(column.name for column in columns) for columns in (own, target))
    table.references.append(f"CONSTRAINT {table.name}_f{number} FOREIGN KEY ({child}) REFERENCES {parent.name} ({other}) {action}")
