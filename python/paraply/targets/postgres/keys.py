"""The keys of a source table that the target gets, with their names."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paraply.targets.postgres.types import MAX_NAME_BYTES, ColumnMapping, TableMapping, quote_identifier

if TYPE_CHECKING:
    from paraply.schema.model import Key, Table

__all__ = ["CarriedKey", "carried_keys", "index_name"]

MAX_INDEX_ROW_BYTES = 2600
"""A size that always fits PostgreSQL's limit for a row of a B-tree index (2,704 bytes), including headers."""

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
        name: Name of the key on the source.
        columns: Columns in order, with their names in the target.
        primary: True if the key is the primary key.
        unique: True if the key is unique.
    """

    name: str
    columns: tuple[str, ...]
    primary: bool = False
    unique: bool = False

    def create(self, mapping: TableMapping) -> str:
        """Return the statement that creates the key."""
        name = quote_identifier(index_name(mapping.table, self.name))
        columns = ", ".join(quote_identifier(column) for column in self.columns)
        if self.primary:
            return f"ALTER TABLE {mapping.target} ADD CONSTRAINT {name} PRIMARY KEY ({columns})"
        return f"CREATE {'UNIQUE ' if self.unique else ''}INDEX {name} ON {mapping.target} ({columns})"

    def drop(self, mapping: TableMapping) -> str:
        """Return the statement that drops the key."""
        name = quote_identifier(index_name(mapping.table, self.name))
        if self.primary:
            return f"ALTER TABLE {mapping.target} DROP CONSTRAINT {name}"
        return f"DROP INDEX {quote_identifier(mapping.schema)}.{name}"

    def rename(self, schema: str, old: str, new: str) -> str:
        """Return the statement that renames the key's index."""
        return f"ALTER INDEX {quote_identifier(schema)}.{quote_identifier(old)} RENAME TO {quote_identifier(new)}"


def index_name(table: str, key: str) -> str:
    """Return the name of a key's index: short enough, and unique in its schema, where tables and indexes share their names.

    >>> index_name("orders", "PRIMARY")
    'orders_PRIMARY_6a367997'
    """
    digest = zlib.crc32("\0".join((table, key.lower())).encode())
    mark = f"_{digest:08x}"
    head = f"{table}_{key}".encode()[: MAX_NAME_BYTES - len(mark)]
    return head.decode(errors="ignore") + mark


def carried_keys(table: Table, mapping: TableMapping) -> dict[str, CarriedKey]:
    """Return the keys that the target gets, by their lower-case names.

    Keys with prefixes or expressions, full-text and spatial keys, and keys with rows that may not fit an index are left out.
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
    """Return the most bytes that a value takes in an index, or None without a limit."""
    if column.kind == "enum":
        return 4 + max(len(label.encode()) for label in column.labels)
    if column.kind == "set":
        return 4 + sum(len(label.encode()) + 1 for label in column.labels)
    if column.kind == "text":
        return 4 + 4 * column.length if column.length is not None else None
    if column.kind in {"binary", "varbinary"}:
        return 4 + column.length if column.length is not None else None
    return _WIDTHS.get(column.kind)
