"""Rows as SQL that keeps newer rows, for PostgreSQL (policy ``unordered``, where the last writer wins)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paraply._native import RenderedStatement, decode_text
from paraply.errors import TypeNotMapped, ValueNotStorable
from paraply.targets.last_writer import check_definition, rows_of_table, tables_of
from paraply.targets.postgres.types import ColumnMapping, TableMapping, map_table, quote_identifier, quote_literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from paraply._native import Block
    from paraply.schema.model import Table

__all__ = ["ANY_ROWS", "PgLastWriter", "pg_literal"]

ANY_ROWS = -1
"""Row count of a statement that may affect any number of rows."""

_BITS = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}


class PgLastWriter:
    """The statements for rows of blocks.

    Args:
        column: Name of the timestamp column.
        table: Returns the definition of a source's table, or None if unknown.
    """

    def __init__(self, column: str, table: Callable[[str, str], Table | None]) -> None:
        self._column = column
        self._definition = table

    def statements(self, block: Block) -> list[RenderedStatement]:
        """Return the block's rows as statements, in the form of the native renderer.

        Raises:
            SchemaMismatch: A table is unknown, or lacks the timestamp column or the primary key.
            TypeNotMapped: A column has a type that cannot be written as SQL.
            ValueNotStorable: A value cannot be stored.
        """
        found: list[RenderedStatement] = []
        for database, name, columns in tables_of(block):
            full_name = f"{database}.{name}"
            found += [RenderedStatement(sql.encode(), ANY_ROWS, full_name) for sql in self._of_table(block, database, name, columns)]
        return found

    def _of_table(self, block: Block, database: str, name: str, columns: int) -> Iterator[str]:
        full_name = f"{database}.{name}"
        definition = self._definition(database, name)
        mapping = map_table(definition) if definition is not None else None
        known = mapping.columns if mapping is not None else ()
        key = mapping.keys[0] if mapping is not None and mapping.keys and definition is not None and definition.primary_key else ()
        place = next((index for index, column in enumerate(known) if column.name.lower() == self._column.lower()), None)
        timestamp = check_definition(full_name, len(known), columns, key=key, timestamp=place, column=self._column)
        if mapping is None:
            return
        unsigned = _unsigned(definition)
        for row in rows_of_table(block, database, name, columns, key):
            for image in (row.gone, row.kept):
                _correct(image, unsigned)
            if row.gone is not None:
                newest = row.kept if row.kept is not None else row.gone
                own = _not_newer(mapping, timestamp, pg_literal(mapping.columns[timestamp], newest[timestamp], full_name))
                yield f"DELETE FROM {mapping.target} AS old WHERE {_where_key(mapping, key, row.gone)} AND {own}"
            if row.kept is not None:
                yield _upsert(mapping, key, timestamp, row.kept)


def _unsigned(definition: Table | None) -> dict[int, int]:
    """Return the widths in bits of the UNSIGNED columns, because logs may lack the UNSIGNED flag."""
    columns = definition.columns if definition is not None else ()
    return {index: _BITS[column.type] for index, column in enumerate(columns) if column.unsigned and column.type in _BITS}


def _correct(image: dict[int, Any] | None, unsigned: dict[int, int]) -> None:
    if image is None:
        return
    for index, bits in unsigned.items():
        value = image[index]
        if isinstance(value, int) and value < 0:
            image[index] = value + (1 << bits)


def _upsert(mapping: TableMapping, key: tuple[int, ...], timestamp: int, image: dict[int, Any]) -> str:
    full_name = f"{mapping.database}.{mapping.name}"
    names = [quote_identifier(column.name) for column in mapping.columns]
    values = [pg_literal(column, image[index], full_name) for index, column in enumerate(mapping.columns)]
    assignments = ", ".join(f"{name} = EXCLUDED.{name}" for name in names)
    return (
        f"INSERT INTO {mapping.target} AS old ({', '.join(names)}) VALUES ({', '.join(values)})"
        f" ON CONFLICT ({', '.join(names[index] for index in key)}) DO UPDATE SET {assignments}"
        f" WHERE {_not_newer(mapping, timestamp, f'EXCLUDED.{names[timestamp]}')}"
    )


def _where_key(mapping: TableMapping, key: tuple[int, ...], image: dict[int, Any]) -> str:
    full_name = f"{mapping.database}.{mapping.name}"
    columns = [(mapping.columns[index], image[index]) for index in key]
    return " AND ".join(f"old.{quote_identifier(column.name)} = {pg_literal(column, value, full_name)}" for column, value in columns)


def _not_newer(mapping: TableMapping, timestamp: int, value: str) -> str:
    own = f"old.{quote_identifier(mapping.columns[timestamp].name)}"
    return f"({own} IS NULL OR {own} <= {value})"


def pg_literal(column: ColumnMapping, value: Any, table: str) -> str:
    """Return a value of a row image as a literal of the column's type.

    Raises:
        TypeNotMapped: Values of this type cannot be written as SQL.
        ValueNotStorable: PostgreSQL cannot hold the value.

    >>> pg_literal(ColumnMapping("t", "timestamptz", "timestamptz"), "1700000000.25", "d.t")
    "(TIMESTAMPTZ 'epoch' + INTERVAL '1700000000.25 seconds')"
    """
    if value is None:
        return "NULL"
    kind = column.kind
    if kind in {"integer", "unsigned", "year", "decimal"}:
        return str(value)
    if kind in {"real", "double"}:
        return f"'{value!r}'::{column.sql_type}"
    if kind in {"date", "timestamp", "interval"}:
        return f"{quote_literal(str(value))}::{column.sql_type}"
    if kind == "timestamptz":
        if float(value) == 0:
            raise ValueNotStorable(f"column {column.name} has the zero date", table=table)
        return f"(TIMESTAMPTZ 'epoch' + INTERVAL '{value} seconds')"
    if kind in {"varbinary", "binary"}:
        padded = value.ljust(column.length or 0, b"\0") if kind == "binary" else value
        return f"'\\x{padded.hex()}'::bytea"
    if kind == "bit":
        return f"B'{value:0{column.length or 1}b}'"
    if kind in {"text", "enum", "set"}:
        return _text(column, value, table)
    raise TypeNotMapped(f"policy 'unordered' cannot write column {column.name} of kind {kind}; use --policy dependency", table=table)


def _text(column: ColumnMapping, value: Any, table: str) -> str:
    if column.kind == "enum":
        text = column.labels[value - 1] if 0 < value <= len(column.labels) else ""
    elif column.kind == "set":
        text = ",".join(label for place, label in enumerate(column.labels) if value >> place & 1)
    else:
        if column.charset is None:
            raise TypeNotMapped(f"the character set of column {column.name} is not known; give it with --schema", table=table)
        decoded = decode_text(column.charset, value)
        if decoded is None:
            raise ValueNotStorable(f"column {column.name} holds bytes that are no {column.charset} text", table=table)
        text = decoded
    if "\0" in text:
        raise ValueNotStorable(f"column {column.name} holds a NUL character", table=table)
    return quote_literal(text)
