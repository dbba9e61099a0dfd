"""Checks of rows of tables that the log itself makes, by the source's definition (R31, R34)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from paraply.targets.mysql.preflight.column_check import TargetColumn, compare_columns
from paraply.targets.mysql.preflight.table_check import generated_refusal, refuse_engine
from paraply.targets.mysql.server_version import ServerKind
from paraply.targets.mysql.sql import Connection, rows_of, to_int, to_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from paraply.schema.model import Column, Table
    from paraply.targets.mysql.ddl.collation_numbers import CollationNumbers
    from paraply.targets.protocol import RowForecast

__all__ = ["DefinitionChecker"]

_UTF8_IS_UTF8MB3 = "UTF8_IS_UTF8MB3"
#: First version of MariaDB in which old_mode decides about the name utf8.
_OLD_MODE = (10, 6, 0)


@dataclass(frozen=True, slots=True)
class DefinitionChecker:
    """A comparison of the log's table maps with the tables that the target will have once it has run the log's DDL.

    Attributes:
        server: The target.
        default_engine: Engine of a table whose statement names none.
        engines: The target's spelling of the engines it knows, by the name in lower case.
        char_bytes: Bytes of the longest character, by character set.
        databases: Default character set of the databases that the target holds already.
        keeps_utf8: True if utf8 is a name of utf8mb3 on the target.
    """

    server: ServerKind
    default_engine: str
    engines: Mapping[str, str]
    char_bytes: Mapping[str, int]
    databases: Mapping[str, str]
    keeps_utf8: bool

    @classmethod
    def read(cls, connection: Connection) -> DefinitionChecker:
        """Read the settings of the target that decide about the tables which it makes."""
        server = ServerKind.parse(connection.server_version)
        has_mode = server.mariadb and server.version >= _OLD_MODE
        mode = to_text(rows_of(connection.query("SELECT @@GLOBAL.old_mode"))[0][0]) if has_mode else _UTF8_IS_UTF8MB3
        engines = rows_of(connection.query("SELECT engine FROM information_schema.engines"))
        charsets = rows_of(connection.query("SELECT character_set_name, maxlen FROM information_schema.character_sets"))
        databases = rows_of(connection.query("SELECT schema_name, default_character_set_name FROM information_schema.schemata"))
        return cls(
            server,
            to_text(rows_of(connection.query("SELECT @@GLOBAL.default_storage_engine"))[0][0]),
            {to_text(name).lower(): to_text(name) for (name,) in engines},
            {to_text(name): to_int(length) for name, length in charsets},
            {to_text(name): to_text(charset) for name, charset in databases},
            _UTF8_IS_UTF8MB3 in mode.upper(),
        )

    def check(self, forecast: RowForecast, collations: CollationNumbers) -> None:
        """Raise what ``TableChecker`` would find in the table that the log has made by then.

        Args:
            forecast: The first rows of the table.
            collations: The target's collations.

        Raises:
            SchemaMismatch: The table will differ from the log, or have an engine without transactions.
        """
        table, log = forecast.table, forecast.log
        if table is None:
            return
        if ServerKind(self.server.mariadb, log.version).leaves_generated_out and self.server.version[:2] < log.version[:2]:
            for column in table.columns:
                if column.generated is not None:
                    raise generated_refusal(forecast.name, column.name)
        engine = table.engine or self.default_engine
        refuse_engine(forecast.name, self.engines.get(engine.lower(), engine), allowed=forecast.plan.allow_nontransactional)
        columns = [self._column(table, column) for column in table.columns]
        logged = forecast.table_map.columns
        if len(logged) == len(columns):  # else the log has hidden columns too, or the definition is not known well enough
            known = [(logged_column, held) for logged_column, held in zip(logged, columns, strict=True) if held is not None]
            compare_columns(forecast.name, [logged_column for logged_column, _ in known], [held for _, held in known], collations.charset)

    def _column(self, table: Table, column: Column) -> TargetColumn | None:
        """Return the column that the target will have; None if that depends on more than the definition."""
        charset = self._charset(table, column)
        declared, octets = self._declared(column), column.length or 0
        if column.charset is not None and column.charset != "binary":
            if charset is None:
                return None
            octets *= self.char_bytes[charset]
        data_type = "longtext" if column.type == "json" and self.server.mariadb else column.type
        if data_type == "vector":
            octets = (column.length or 0) * 4
        if data_type == "decimal":
            length, scale = column.length or 10, column.scale or 0
        else:
            length, scale = column.length or 1, 0
        row = (column.name, data_type, declared, octets, length, scale, column.scale or 0, charset)
        found = TargetColumn.of(row, mariadb=self.server.mariadb)
        return found if found.type_code is not None else None

    def _charset(self, table: Table, column: Column) -> str | None:
        """Return the target's name of the column's character set; None if there is none, or it is not certain."""
        charset = column.charset
        if charset is None or charset == "binary" or (charset == "utf8mb3" and not self.keeps_utf8):
            return None
        if charset not in self.char_bytes and charset == "utf8mb3":
            charset = "utf8"
        own = self.databases.get(table.database)
        if own is not None and column.charset == table.charset and own != charset:
            return None  # the default of a database that the log does not make may differ from the source's
        return charset if charset in self.char_bytes else None

    @staticmethod
    def _declared(column: Column) -> str:
        """Return the declaration as the target would show it."""
        if column.labels:
            labels = ",".join("'" + label.replace("'", "''") + "'" for label in column.labels)
            return f"{column.type}({labels})"
        size = "" if column.length is None else f"({column.length})" if column.scale is None else f"({column.length},{column.scale})"
        return f"{column.type}{size}" + (" unsigned" if column.unsigned else "")
