"""Definitions of tables from table-map events, where the source wrote all metadata (``binlog_row_metadata=FULL``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from paraply.schema import type_codes as codes
from paraply.schema.ddl.rules import Rules
from paraply.schema.model import Column, Key, KeyPart, Table
from paraply.schema.readers.table_map import ColumnLike, TableMapLike, real_type

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["logged_definition"]

_PLAIN = {
    codes.TINY: "tinyint", codes.SHORT: "smallint", codes.INT24: "mediumint", codes.LONG: "int", codes.LONGLONG: "bigint",
    codes.FLOAT: "float", codes.DOUBLE: "double", codes.DATE: "date", codes.NEWDATE: "date", codes.YEAR: "year", codes.JSON: "json",
    codes.GEOMETRY: "geometry", codes.VECTOR: "vector", codes.ENUM: "enum", codes.SET: "set",
}  # fmt: skip
_SECONDS = {
    codes.TIMESTAMP2: "timestamp", codes.DATETIME2: "datetime", codes.TIME2: "time",
    codes.TIMESTAMP: "timestamp", codes.DATETIME: "datetime", codes.TIME: "time",
}  # fmt: skip
_BLOBS = {1: "tiny", 2: "", 3: "medium", 4: "long"}
_BINARY_COLLATION = 63


class FullTableMap(TableMapLike, Protocol):
    """The interface of ``_native.TableMap``, with the primary key."""

    @property
    def primary_key(self) -> Sequence[int]: ...


def logged_definition(table_map: FullTableMap, *, mariadb: bool) -> Table | None:
    """Return the definition of a table as its rows describe it; None if the log has no names of columns.

    Labels, defaults, other keys and foreign keys are not in it.

    Args:
        table_map: The log's event.
        mariadb: True if a MariaDB server wrote the log.
    """
    rules = Rules(mariadb=mariadb)
    columns = [_column(logged, rules) for logged in table_map.columns]
    known = [column for column in columns if column is not None]
    if len(known) != len(columns) or not known:
        return None
    parts = tuple(KeyPart(known[index].name) for index in table_map.primary_key)
    keys = (Key("PRIMARY", parts, unique=True),) if parts else ()
    return Table(table_map.database, table_map.table, tuple(known), keys)


def _column(logged: ColumnLike, rules: Rules) -> Column | None:
    code, metadata = real_type(logged)
    if logged.name is None:
        return None
    collation = None if logged.collation_id is None else rules.collations.name(logged.collation_id)
    charset = None if collation is None else rules.charset_of(collation)
    binary = logged.collation_id in (None, _BINARY_COLLATION)
    kind, length, scale = _type(code, metadata, binary=binary)
    if kind is None:
        return None
    if kind in ("char", "varchar") and length is not None:
        length //= rules.collations.width_of.get(charset or "", 1) or 1
    return Column(
        logged.name,
        kind,
        length=length,
        scale=scale,
        unsigned=bool(logged.unsigned),
        nullable=logged.nullable,
        charset="binary" if binary and kind.endswith(("binary", "blob")) else charset,
        collation="binary" if binary and kind.endswith(("binary", "blob")) else collation,
    )


def _type(code: int, metadata: int, *, binary: bool) -> tuple[str | None, int | None, int | None]:
    """Return the type of a column with its length and scale; no type for an unknown code."""
    if code in _PLAIN:
        return _PLAIN[code], None, None
    if code == codes.NEWDECIMAL:
        return "decimal", metadata >> 8, metadata & 0xFF
    if code in _SECONDS:
        return _SECONDS[code], None, metadata if code in codes.NEW_SECONDS else 0
    if code == codes.BIT:
        return "bit", (metadata & 0xFF) * 8 + (metadata >> 8), None
    if code in codes.VARCHARS:
        return "varbinary" if binary else "varchar", metadata, None
    if code == codes.STRING:
        return "binary" if binary else "char", metadata, None
    if code in codes.BLOBS and metadata in _BLOBS:
        return _BLOBS[metadata] + ("blob" if binary else "text"), None, None
    return None, None, None
