"""Which keys of a source table the target gets, and under which names."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paraply.targets.postgres.types import MAX_NAME_BYTES, ColumnMapping, TableMapping, quote_identifier

if TYPE_CHECKING:
    from paraply.schema.model import Key, Table

__all__ = ["CarriedKey", "carried_keys", "index_name"]

MAX_INDEX_ROW_BYTES = 2600
"""What surely fits PostgreSQL's limit for a row of a B-tree index (2,704 bytes), headers included."""

_WIDTHS = {
    "integer": 8,
    "unsigned": 24,
    "decimal": 48,
    "real": 4,
    "double": 8,
    "bit": 16,
    "date": 4,
    "timestamp": 8,
    "timestamptz": 8,
    "interval": 16,
    "year": 2,
    "uuid": 16,
    "inet4": 24,
    "inet6": 24,
}


@dataclass(frozen=True, slots=True)
class CarriedKey:
    """A key that the target gets.

    Attributes:
        name: In the source.
        columns: In order, as the target spells them.
        primary: Whether it is the primary key.
        unique: Whether it is unique.
    """

    name: str
    columns: tuple[str, ...]
    primary: bool = False
    unique: bool = False

    def create(self, mapping: TableMapping) -> str:
        """The statement that makes the key."""
        name = quote_identifier(index_name(mapping.table, self.name))
        columns = ", ".join(quote_identifier(column) for column in self.columns)
        if self.primary:
            return f"ALTER TABLE {mapping.target} ADD CONSTRAINT {name} PRIMARY KEY ({columns})"
        return f"CREATE {'UNIQUE ' if self.unique else ''}INDEX {name} ON {mapping.target} ({columns})"

    def drop(self, mapping: TableMapping) -> str:
        """The statement that drops the key."""
        name = quote_identifier(index_name(mapping.table, self.name))
        if self.primary:
            return f"ALTER TABLE {mapping.target} DROP CONSTRAINT {name}"
        return f"DROP INDEX {quote_identifier(mapping.schema)}.{name}"

    def rename(self, schema: str, old: str, new: str) -> str:
        """Return the statement that gives the key's index another name."""
        return f"ALTER INDEX {quote_identifier(schema)}.{quote_identifier(old)} RENAME TO {quote_identifier(new)}"


def index_name(table: str, key: str) -> str:
    """The name of a key's index: unique in its schema, where PostgreSQL keeps tables and indexes together, and short enough.

    >>> index_name("orders", "PRIMARY")
    'orders_PRIMARY_6a367997'
    """
    digest = zlib.crc32("\0".join((table, key.lower())).encode())
    mark = f"_{digest:08x}"
    head = f"{table}_{key}".encode()[: MAX_NAME_BYTES - len(mark)]
    return head.decode(errors="ignore") + mark


def carried_keys(table: Table, mapping: TableMapping) -> dict[str, CarriedKey]:
    """The keys that the target gets, by their lower-case names.

    Left out are keys with prefixes or expressions, full-text and spatial keys, and keys whose rows might not fit an index.
    """
    keys = (_carried(key, mapping) for key in table.keys)
    return {key.name.lower(): key for key in keys if key is not None}


def _carried(key: Key, mapping: TableMapping) -> CarriedKey | None:
    if key.kind != "btree" or not key.parts:
        return None
    columns: list[ColumnMapping] = []
    for part in key.parts:
        column = mapping.column(part.column) if part.column is not None else None
        if column is None or part.prefix is not None or part.expression is not None:
            return None
        columns.append(column)
    widths = [_width(column) for column in columns]
    if sum(width or 0 for width in widths) > MAX_INDEX_ROW_BYTES or None in widths:
        return None
    return CarriedKey(key.name, tuple(column.name for column in columns), key.primary, key.unique or key.primary)


def _width(column: ColumnMapping) -> int | None:
    """The most bytes that a value takes in an index; None without a bound."""
    if column.kind == "enum":
        return 4 + max(len(label.encode()) for label in column.labels)
    if column.kind == "set":
        return 4 + sum(len(label.encode()) + 1 for label in column.labels)
    if column.kind == "text":
        return 4 + 4 * column.length if column.length is not None else None
    if column.kind in {"binary", "varbinary"}:
        return 4 + column.length if column.length is not None else None
    return _WIDTHS.get(column.kind)
