"""Rows as SQL that keeps newer rows, for MySQL and MariaDB (policy ``unordered``, where the last writer wins)."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paraply.errors import SchemaMismatch, ServerError, TemporaryFailure, TypeNotMapped
from paraply.schema.ddl.rules import MODE_PAD_CHAR_TO_FULL_LENGTH
from paraply.schema.readers.live import by_last_column
from paraply.targets.last_writer import check_definition, rows_of_table, tables_of
from paraply.targets.mysql.preflight.session_dependence import describe_columns, session_dependent_column
from paraply.targets.mysql.rows.values import KeyColumn, condition, literal
from paraply.targets.mysql.sql import Connection, identifier, name_literal, query_all, query_each, rows_of, to_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from paraply._native import Block

__all__ = ["MySqlLastWriter"]

#: Most statements in one round trip.
_TOGETHER = 200
_DUPLICATE = frozenset({1022, 1062, 1586})
#: Values come from columns of the same type. A child may come before its parent, and dates may be as odd as the source allowed.
_SETTINGS = "SET time_zone='+00:00', foreign_key_checks=0, sql_mode='STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO'"
#: MariaDB's generation expressions of the columns for the start and end time of a row version.
_VERSION_TIMES = ("ROW START", "ROW END")
_NOT_WRITTEN = frozenset({"json", "vector"})


@dataclass(frozen=True, slots=True)
class _Table:
    """A table of the target.

    Attributes:
        name: Database and table, quoted.
        written: Columns that are not generated.
        key: The primary key.
        timestamp: Column with the time of the last write.
        computes: True if the target computes stored or indexed columns again.
    """

    name: str
    written: tuple[KeyColumn, ...]
    key: tuple[KeyColumn, ...]
    timestamp: KeyColumn
    computes: bool

    def where_key(self, image: dict[int, Any]) -> str:
        """Return the condition that finds the row of an image."""
        return " AND ".join(condition(column, column.value(image[column.position])) for column in self.key)

    def where_not_newer(self, image: dict[int, Any]) -> str:
        """Return the condition that the target's row is not newer than an image; a row of the same age is overwritten."""
        own, value = identifier(self.timestamp.name), self.timestamp.value(image[self.timestamp.position])
        return f"{own} IS NULL" if value is None else f"({own} IS NULL OR {own}<={literal(self.timestamp, value)})"


class MySqlLastWriter:
    """The statements for rows of blocks; shared by the sessions of a target.

    Args:
        column: Name of the timestamp column.
    """

    def __init__(self, column: str) -> None:
        self._column = column
        self._tables: dict[tuple[str, str], _Table] = {}
        self._lock = threading.Lock()

    def forget(self) -> None:
        """Discard the table definitions after a DDL."""
        with self._lock:
            self._tables.clear()

    @property
    def settings(self) -> str:
        """The statement before the transaction of a block."""
        return _SETTINGS

    def statements(self, connection: Connection, block: Block) -> list[str]:
        """Return the block's rows as statements.

        Raises:
            SchemaMismatch: A table has triggers, or lacks the timestamp column or the primary key.
            TypeNotMapped: A column has a type that cannot be written as SQL.
        """
        return [statement for place in tables_of(block) for statement in self._of_table(connection, block, *place)]

    def run(self, connection: Connection, statements: list[str]) -> None:
        """Run the statements.

        Raises:
            TemporaryFailure: Another session inserted a row with the same key meanwhile, or the statements were interrupted.
        """
        for start in range(0, len(statements), _TOGETHER):
            some = statements[start : start + _TOGETHER]
            try:
                query_all(connection, some)
            except ServerError as error:
                if error.code in _DUPLICATE:
                    raise TemporaryFailure(f"a row with this key is there already: {error.message}") from error
                raise

    def _of_table(self, connection: Connection, block: Block, database: str, name: str, columns: int) -> Iterator[str]:
        table = self._table(connection, database, name, columns)
        if table.computes and any((one.row_settings or {}).get("sql_mode", 0) & MODE_PAD_CHAR_TO_FULL_LENGTH for one in block.transactions):
            problem = (
                "policy 'unordered' would compute generated columns without PAD_CHAR_TO_FULL_LENGTH, which the source's session had in its"
                " sql_mode; use --policy dependency"
            )
            raise SchemaMismatch(problem, table=f"{database}.{name}")
        for row in rows_of_table(block, database, name, columns, [column.position for column in table.key]):
            if row.gone is not None:
                newest = row.kept if row.kept is not None else row.gone
                yield f"DELETE FROM {table.name} WHERE {table.where_key(row.gone)} AND {table.where_not_newer(newest)}"
            if row.kept is not None:
                yield from _upsert(table, row.kept)

    def _table(self, connection: Connection, database: str, name: str, columns: int) -> _Table:
        with self._lock:
            known = self._tables.get((database, name))
        if known is None:
            known = self._read(connection, database, name, columns)
            with self._lock:
                self._tables[database, name] = known
        return known

    def _read(self, connection: Connection, database: str, name: str, logged: int) -> _Table:
        where = f"table_schema={name_literal(database)} AND table_name={name_literal(name)}"
        statements = [
            (
                "SELECT column_name, data_type, column_type, character_maximum_length, character_set_name, generation_expression,"
                f" extra, column_key, ordinal_position FROM information_schema.columns WHERE {where}"
            ),
            f"SELECT column_name, sub_part, seq_in_index FROM information_schema.statistics WHERE {where} AND index_name='PRIMARY'",
            (
                f"SELECT trigger_name FROM information_schema.triggers WHERE event_object_schema={name_literal(database)}"
                f" AND event_object_table={name_literal(name)}"
            ),
        ]
        results = query_each(connection, statements)
        triggers = rows_of(results)
        if triggers:
            problem = f"policy 'unordered' would run the trigger {to_text(triggers[0][0])}, whose changes are in the log already"
            raise SchemaMismatch(f"{problem}: drop it for the time being", table=f"{database}.{name}")
        found = by_last_column(rows_of(results, 0))
        columns = [KeyColumn.of(position, row[:5]) for position, row in enumerate(found)]
        by_name = {column.name.lower(): column for column in columns}
        odd = next((column for column in columns if column.data_type in _NOT_WRITTEN), None)
        if odd is not None:
            problem = f"policy 'unordered' cannot write the {odd.data_type.upper()} column {odd.name}; use --policy dependency"
            raise TypeNotMapped(problem, table=f"{database}.{name}")
        if any(to_text(row[5] or "").upper() in _VERSION_TIMES for row in found):
            problem = "policy 'unordered' cannot write the versions of a system-versioned table's rows; use --policy dependency"
            raise SchemaMismatch(problem, table=f"{database}.{name}")
        described = describe_columns((row[0], row[1], *row[5:8]) for row in found)
        dependent = session_dependent_column(described)
        if dependent is not None:
            problem = (
                f"policy 'unordered' writes rows under another time zone and language than the source, on which the generated column"
                f" {dependent} depends; use --policy dependency"
            )
            raise SchemaMismatch(problem, table=f"{database}.{name}")
        found_key = by_last_column(rows_of(results, 1))
        parts = [by_name[to_text(column).lower()] for column, prefix in found_key if prefix is None]
        key = tuple(parts) if len(parts) == len(found_key) else ()
        timestamp = by_name.get(self._column.lower())
        place = check_definition(
            f"{database}.{name}", len(columns), logged, key=[column.position for column in key],
            timestamp=None if timestamp is None else timestamp.position, column=self._column,
        )  # fmt: skip
        written = tuple(column for column, row in zip(columns, found, strict=True) if not row[5])
        computes = any(expression and stored for _, _, expression, stored in described)
        return _Table(f"{identifier(database)}.{identifier(name)}", written, key, columns[place], computes)


def _upsert(table: _Table, image: dict[int, Any]) -> Iterator[str]:
    """Yield the statements that overwrite a row that is not newer, or insert it if it does not exist."""
    values = {identifier(column.name): literal(column, column.value(image[column.position])) for column in table.written}
    own_key = table.where_key(image)
    assignments = ", ".join(f"{name}={value}" for name, value in values.items())
    yield f"UPDATE {table.name} SET {assignments} WHERE {own_key} AND {table.where_not_newer(image)}"
    yield (
        f"INSERT INTO {table.name} ({', '.join(values)}) SELECT {', '.join(values.values())} FROM DUAL"
        f" WHERE NOT EXISTS (SELECT 1 FROM {table.name} WHERE {own_key})"
    )
