"""Comparison of table definitions with the table-map events of the log (R31)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from paraply.schema import type_codes as codes
from paraply.schema.advance import ASSUMED_COLLATION
from paraply.schema.collations import collations
from paraply.schema.ddl.rules import Rules
from paraply.schema.model import Column, Table
from paraply.schema.types import BINARY, CHARACTER, SPATIAL

__all__ = ["mismatch", "real_type", "settle"]


class ColumnLike(Protocol):
    """The interface of ``_native.ColumnInfo``."""

    @property
    def type_code(self) -> int: ...
    @property
    def metadata(self) -> int: ...
    @property
    def nullable(self) -> bool: ...
    @property
    def unsigned(self) -> bool | None: ...
    @property
    def name(self) -> str | None: ...
    @property
    def collation_id(self) -> int | None: ...


class TableMapLike(Protocol):
    """The interface of ``_native.TableMap``."""

    @property
    def database(self) -> str: ...
    @property
    def table(self) -> str: ...
    @property
    def columns(self) -> Sequence[ColumnLike]: ...


#: Type codes that each type may be logged with.
CODES: dict[str, tuple[int, ...]] = {
    "tinyint": (codes.TINY,), "smallint": (codes.SHORT,), "int": (codes.LONG,), "float": (codes.FLOAT,), "double": (codes.DOUBLE,),
    "bigint": (codes.LONGLONG,), "mediumint": (codes.INT24,), "date": (codes.DATE, codes.NEWDATE), "year": (codes.YEAR,),
    "bit": (codes.BIT,), "json": (codes.JSON,), "decimal": (codes.NEWDECIMAL, codes.DECIMAL), "time": (codes.TIME2, codes.TIME),
    "datetime": (codes.DATETIME2, codes.DATETIME), "timestamp": (codes.TIMESTAMP2, codes.TIMESTAMP), "varchar": codes.VARCHARS,
    "varbinary": codes.VARCHARS, "char": (codes.STRING,), "binary": (codes.STRING,), "enum": (codes.STRING, codes.ENUM),
    "set": (codes.STRING, codes.SET), "vector": (codes.VECTOR, codes.VARCHAR), "uuid": (codes.STRING,), "inet6": (codes.STRING,),
    "inet4": (codes.STRING,),
}  # fmt: skip
LENGTH_BYTES = {"tiny": 1, "": 2, "medium": 3, "long": 4}
NUMERIC = {"tinyint", "smallint", "mediumint", "int", "bigint", "float", "double", "decimal"}


def _codes(column: Column) -> tuple[int, ...]:
    if column.type in SPATIAL:
        return (codes.GEOMETRY,)
    if column.type.endswith(("text", "blob")):
        return codes.BLOBS
    return CODES.get(column.type, ())


def mismatch(table: Table, table_map: TableMapLike, *, mariadb: bool = False) -> str | None:
    """Return the difference between a definition and the log's rows, or None if they agree as far as the log shows.

    Compares column count, types, lengths and nullability, and also signedness, names and collations if the source logs them.

    Args:
        table: The definition, from the log's own DDL, a dump or the target.
        table_map: The log's event.
        mariadb: True if a MariaDB server wrote the log.
    """
    columns = table_map.columns
    if len(columns) != len(table.columns):
        return f"the log's rows have {len(columns)} columns, the table has {len(table.columns)}"
    for number, (column, logged) in enumerate(zip(table.columns, columns, strict=True), start=1):
        reason = _column_mismatch(column, logged, mariadb)
        if reason:
            return f"column {number} ({column.name}): {reason}"
    return None


def _column_mismatch(column: Column, logged: ColumnLike, mariadb: bool) -> str | None:
    if logged.name is not None and logged.name.lower() != column.name.lower():
        return f"the log calls it {logged.name}"
    code, metadata = real_type(logged)
    if code not in _codes(column):
        return f"type code {code} in the log, {column.type} in the table"
    if shape := _shape_mismatch(column, code, metadata, mariadb):
        return shape
    if logged.nullable != column.nullable:
        return f"{'nullable' if logged.nullable else 'NOT NULL'} in the log, not so in the table"
    if logged.unsigned is not None and column.type in NUMERIC and logged.unsigned != column.unsigned:
        return f"{'unsigned' if logged.unsigned else 'signed'} in the log, not so in the table"
    if logged.collation_id is not None and column.collation is not None and column.type in CHARACTER:
        name = collations("mariadb" if mariadb else "mysql").name(logged.collation_id)
        if name != column.collation:
            return f"collation {name or logged.collation_id} in the log, {column.collation} in the table"
    return None


def real_type(logged: ColumnLike) -> tuple[int, int]:
    """Return type code and metadata, also for CHAR, ENUM and SET, which share one type code in the log.

    For these, the high byte of the metadata is the real type. For CHAR, it also contains two bits of the length (``(type ^ 0x30) & 0x30``).
    A length alone never exceeds 1023.
    """
    code, metadata = logged.type_code, logged.metadata
    if code != codes.STRING or metadata < 1024:
        return code, metadata
    kind, length = metadata >> 8, metadata & 0xFF
    return (kind, length) if kind in (codes.ENUM, codes.SET) else (code, ((kind & 0x30) ^ 0x30) << 4 | length)


def _shape_mismatch(column: Column, code: int, metadata: int, mariadb: bool) -> str | None:
    """Compare the length in the metadata with the definition."""
    if column.type == "decimal" and code == codes.NEWDECIMAL:
        logged_digits: tuple[int | None, int | None] = (metadata >> 8, metadata & 0xFF)
        wanted_digits = (column.length, column.scale)
        return None if logged_digits == wanted_digits else f"DECIMAL{logged_digits} in the log, DECIMAL{wanted_digits} in the table"
    if column.type == "bit":
        bits = (metadata & 0xFF) * 8 + (metadata >> 8)
        return None if bits == column.length else f"BIT({bits}) in the log, BIT({column.length}) in the table"
    if code in codes.NEW_SECONDS and metadata != (column.scale or 0):
        return f"{metadata} digits of the second in the log, {column.scale or 0} in the table"
    if code in codes.PLAIN_BLOBS and LENGTH_BYTES.get(column.type[:-4]) != metadata:
        return f"length in {metadata} bytes in the log, {column.type} in the table"
    if code in (codes.VARCHAR, codes.VAR_STRING, codes.STRING) and column.length is not None and column.type != "vector":
        wanted = column.length * _width(column, mariadb)
        return None if wanted == 0 or metadata == wanted else f"{metadata} bytes in the log, {wanted} in the table"
    if code in (codes.ENUM, codes.SET) and (size := _label_bytes(column)) != metadata:
        return f"{metadata} bytes in the log, {size} bytes of labels in the table"
    return None


def _width(column: Column, mariadb: bool) -> int:
    """Return the bytes of a character, or 0 if the character set is not known."""
    if column.type in BINARY:
        return 1
    return collations("mariadb" if mariadb else "mysql").width_of.get(column.charset or "", 0)


def _label_bytes(column: Column) -> int:
    """Return the bytes of an ENUM or SET value."""
    count = len(column.labels)
    if column.type == "enum":
        return 1 if count < 256 else 2
    size = (count + 7) // 8
    return 8 if size > 4 else size


def settle(table: Table, table_map: TableMapLike, *, mariadb: bool = False) -> Table:
    """Return the definition with the log's collations; discard an assumed collation that the log does not confirm (R13).

    A table has an assumed collation (``options["assumed_collation"]``) if the log does not contain the CREATE of its database: the server's
    default. Collation numbers in the log replace it. Without such numbers, columns with the table's default get the collation None, for
    unknown.

    Args:
        table: A definition with the column count of the log.
        table_map: The log's event.
        mariadb: True if a MariaDB server wrote the log.
    """
    if len(table.columns) != len(table_map.columns):
        return table
    assumed = ASSUMED_COLLATION in table.options
    rules = Rules(mariadb=mariadb)
    columns = tuple(
        _settled(column, logged.collation_id, rules, assumed=assumed and column.collation == table.collation)
        for column, logged in zip(table.columns, table_map.columns, strict=True)
    )
    options = {name: value for name, value in table.options.items() if name != ASSUMED_COLLATION}
    return replace(table, columns=columns, options=options)


def _settled(column: Column, number: int | None, rules: Rules, *, assumed: bool) -> Column:
    if column.type not in CHARACTER:
        return column
    if number is not None:
        name = rules.collations.name(number)
        return replace(column, collation=name, charset=rules.charset_of(name) if name else None)
    return replace(column, collation=None, charset=None) if assumed else column
