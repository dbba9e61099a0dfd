"""Random schemas and loads of one session, by seed: keys of every shape, foreign keys, tables without keys, DDL in between."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["Load"]

WORDS = ("a", "A", "á", "ab", "AB ", "b", "ß", "ss", "z", "", "a ", "Ω", "ω")
LONG = tuple(f"'{start} {middle} {end}'" for start in ("abc", "ABC") for middle in ("d e f g h i", "d e f g h j") for end in ("", "x", "y"))
TYPES: dict[str, tuple[str, ...]] = {
    "int": ("1", "2", "3", "-4", "5"),
    "bigint unsigned": ("1", "2", "18446744073709551615"),
    "varchar(20)": tuple(f"'{word}'" for word in WORDS),
    "varchar(20) collate utf8mb4_bin": tuple(f"'{word}'" for word in WORDS),
    "varchar(20) collate utf8mb4_general_ci": tuple(f"'{word}'" for word in WORDS),
    "char(9)": tuple(f"'{word}'" for word in WORDS),
    "char(5) character set latin1": ("'a'", "'A'", "'b'", "'ss'", "'ß'"),
    "varbinary(9)": ("'a'", "'A'", "x'00'", "x'0000'", "''"),
    "binary(3)": ("'a'", "'A'", "x'00'", "x'61'"),
    "date": ("'2024-01-01'", "'2024-11-30'", "'1999-12-31'"),
    "datetime(3)": ("'2024-01-01 00:00:00'", "'2024-01-01 00:00:00.5'", "'2024-01-01 00:00:00.500'"),
    "timestamp null": ("'2024-01-01 00:00:00'", "'2024-01-01 00:00:01'"),
    "time": ("'-01:00:00'", "'01:00:00'", "'100:00:00'"),
    "decimal(8,2)": ("1", "1.00", "-1.5", "0", "-0", "99999.99"),
    "enum('x','y','z')": ("'x'", "'y'", "'z'"),
    "set('x','y')": ("'x'", "'y,x'", "''"),
    "year": ("2024", "1999"),
    "bit(9)": ("b'1'", "b'100000000'", "0"),
    "double": ("0", "-0e0", "1.5", "1e100"),
    "text": (*LONG, "'a'", "'A '", "repeat('ab', 40)", "concat(repeat('ab', 40), 'c')"),
    "tinytext collate utf8mb4_general_ci": (*LONG, "'ß'", "'s'", "'a  '"),
    "mediumtext collate utf8mb4_0900_as_cs": (*LONG, "repeat('a', 60)", "concat(repeat('a', 59), 'A')", "concat(repeat('a', 29), 'A')"),
    "longtext character set latin2": (*LONG, "'a '"),
    "blob": (*LONG, "x'6100'", "x'61'"),
}


@dataclass
class RandomTable:
    """A table of the load; keys have few values, so that transactions meet."""

    name: str
    columns: dict[str, str]
    keys: list[str]
    parent: RandomTable | None = None


@dataclass
class Load:
    """Statements of one session; those that the server refuses do not count.

    Args:
        seed: Equal seeds give equal loads.
        transactions: How many to make.
        ddl: Chance of a DDL statement in front of a transaction.
        large: Chance of a transaction of a few hundred rows.
    """

    seed: int
    transactions: int = 200
    ddl: float = 0.03
    large: float = 0.01
    tables: list[RandomTable] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.made = 0

    def schema(self) -> Iterator[str]:
        """CREATE TABLE statements, also of tables without keys and of parents and children."""
        for _ in range(self.random.randint(3, 6)):
            yield self._create()

    def statements(self) -> Iterator[list[str]]:
        """Transactions as lists of statements, DDL by itself."""
        for _ in range(self.transactions):
            if self.random.random() < self.ddl:
                yield [self._alter()]
            if self.random.random() < self.large:
                yield self._transaction(self.random.randint(100, 300))
            else:
                yield self._transaction(self.random.choice((1, 1, 1, 2, 3, 6)))

    def _create(self) -> str:
        rng = self.random
        self.made += 1
        columns = {f"c{number}": rng.choice(list(TYPES)) for number in range(rng.randint(2, 5))}
        parent = rng.choice(self.tables) if self.tables and rng.random() < 0.5 else None
        shape = rng.choice(("primary", "primary", "primary", "composite", "unique", "nullable", "none"))
        lines, keys = [], []
        names = list(columns)
        lines += [f"{name} {kind}" + ("" if shape == "nullable" else " not null" if name == "c0" else "") for name, kind in columns.items()]
        if shape in ("primary", "composite"):
            parts = [self._whole(name, columns[name]) for name in names[: 1 if shape == "primary" else 2]]
            keys.append(f"primary key ({', '.join(parts)})")
        elif shape in ("unique", "nullable"):
            keys.append(f"unique u0 ({self._whole('c0', columns['c0'])})")
        for number in range(rng.randint(0, 2) if shape != "none" else 0):
            parts = [self._part(name, columns[name]) for name in rng.sample(names, rng.randint(1, min(2, len(names))))]
            keys.append(f"unique u{number + 1} ({', '.join(parts)})")
        references = []
        if parent is not None and any(key.endswith("(c0)") for key in parent.keys):
            columns["r"] = parent.columns["c0"]
            lines.append(f"r {columns['r']} null")
            action = rng.choice(("", " on delete cascade", " on delete set null on update cascade"))
            references.append(f"foreign key (r) references {parent.name} (c0){action}")
        table = RandomTable(f"t{self.made}", columns, keys, parent if references else None)
        self.tables.append(table)
        return f"create table {table.name} ({', '.join([*lines, *keys, *references])})"

    def _part(self, name: str, kind: str) -> str:
        if "text" in kind or kind == "blob":
            return self._whole(name, kind) + self.random.choice(("", " desc"))
        prefix = kind.startswith(("varchar", "char")) and self.random.random() < 0.3
        return f"{name}({self.random.randint(1, 3)})" if prefix else name + self.random.choice(("", " desc"))

    def _whole(self, name: str, kind: str) -> str:
        """A column as a part of a key, and only a prefix of it where the server asks for one."""
        return f"{name}({self.random.choice((2, 5, 20, 50))})" if "text" in kind or kind == "blob" else name

    def _alter(self) -> str:
        rng = self.random
        table = rng.choice(self.tables)
        name = rng.choice(list(table.columns))
        return rng.choice(
            (
                f"alter table {table.name} add unique x{rng.randint(1, 9)} ({name})",
                f"alter table {table.name} drop key u1",
                f"alter table {table.name} comment 'x'",
                f"create table other{rng.randint(1, 10**9)} (id int primary key)",
                f"alter table {table.name} drop primary key",
                f"truncate table {table.name}",
                f"alter table {table.name} convert to character set utf8mb4 collate utf8mb4_0900_as_cs",
            )
        )

    def _transaction(self, size: int) -> list[str]:
        rows = [self._change(many=size > 10) for _ in range(size)]
        return rows if size == 1 else ["begin", *rows, "commit"]

    def _change(self, *, many: bool) -> str:
        rng = self.random
        table = rng.choice(self.tables)
        kind = rng.choice(("insert", "insert", "insert", "update", "delete"))
        columns = ", ".join(table.columns)
        if kind == "insert":
            # A statement that fails in its middle leaves hashes behind that no log shows, so rows go one by one.
            return f"insert ignore into {table.name} ({columns}) values ({self._values(table, many)})"
        name, other = rng.choice(list(table.columns)), rng.choice(list(table.columns))
        where = f"{other} = {self._value(table.columns[other], many=False)}"
        if kind == "update":
            return f"update {table.name} set {name} = {self._value(table.columns[name], many)} where {where} limit 1"
        return f"delete from {table.name} where {where} limit 1"

    def _values(self, table: RandomTable, many: bool) -> str:
        return ", ".join(self._value(kind, many) for kind in table.columns.values())

    def _value(self, kind: str, many: bool) -> str:
        if self.random.random() < 0.1:
            return "null"
        if kind in ("int", "bigint unsigned") and (many or self.random.random() < 0.5):
            return str(self.random.randint(1, 10**6 if many else 40))
        return self.random.choice(TYPES[kind])
