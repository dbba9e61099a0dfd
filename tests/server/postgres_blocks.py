"""Stand-ins for native blocks: statements rendered by hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from paraply._native import GtidSet, RenderedStatement
from paraply.schema.model import Column, Key, KeyPart, Table

SOURCE = "11111111-1111-1111-1111-111111111111"


@dataclass
class FakeBlock:
    """A block whose statements are given."""

    ordinal: int
    statements: list[tuple[bytes, int, str]] = field(default_factory=list)
    kind: str = "dml"
    file: str = "binlog.000001"
    transaction_count: int = 1
    skipped: int = 0
    numbers: tuple[()] = ()
    transactions: tuple[()] = ()
    xid: str | None = None
    has_rows: bool = True
    format: Any = field(default_factory=lambda: SimpleNamespace(mariadb=False, version=(9, 7, 0)))

    def pieces(self) -> list[FakeBlock]:
        """No block of the tests is large."""
        return []

    @property
    def id(self) -> int:
        return self.ordinal

    @property
    def rows(self) -> int:
        return sum(rows for _, rows, _ in self.statements)

    @property
    def first_gtid(self) -> str:
        return f"{SOURCE}:{self.ordinal}"

    @property
    def gtids(self) -> GtidSet:
        return GtidSet(self.first_gtid)

    @property
    def offset(self) -> int:
        return self.ordinal * 100

    @property
    def end_file(self) -> str:
        return self.file

    @property
    def end_offset(self) -> int:
        return self.ordinal * 100 + 99


class FakeRenderer:
    """Gives a block's statements back, and notes the definitions that held."""

    def __init__(self) -> None:
        self.tables: dict[tuple[str, str], Any] = {}

    def define(self, table: Table, mapping: Any) -> None:
        self.tables[table.database, table.name] = mapping

    def forget(self, database: str, table: str) -> None:
        self.tables.pop((database, table), None)

    def render(self, block: FakeBlock, *, sets: bool) -> list[RenderedStatement]:
        return [RenderedStatement(*statement) for statement in block.statements]

    def preparation(self, name: str) -> bytes | None:
        return None

    def set_repeated(self, database: str, table: str) -> None:
        pass


def key(name: str, *columns: str, unique: bool = True) -> Key:
    return Key(name, tuple(KeyPart(column) for column in columns), unique)


def simple_table(name: str = "t", *more: Column, database: str = "shop") -> Table:
    columns = (Column("id", "int", nullable=False), Column("name", "varchar", 20, charset="utf8mb4"), *more)
    return Table(database, name, columns, (key("PRIMARY", "id"),))


def insert(ordinal: int, row: int, name: str = "x", table: str = "t") -> FakeBlock:
    sql = f'INSERT INTO "shop"."{table}" ("id","name") VALUES (\'{row}\',\'{name}\')'
    return FakeBlock(ordinal, [(sql.encode(), 1, f"shop.{table}")])
