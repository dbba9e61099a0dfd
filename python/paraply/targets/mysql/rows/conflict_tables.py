"""Definitions of a MySQL or MariaDB target's tables, for the rows in the table of conflicts."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from paraply.schema.readers.live import read_tables
from paraply.targets.mysql.sql import Connection, rows_of

if TYPE_CHECKING:
    from paraply.schema.model import Table

__all__ = ["ConflictTables"]


class ConflictTables:
    """Definitions of the target's tables; a database is read once, and again after a DDL."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._databases: dict[str, dict[str, Table]] = {}

    def find(self, connection: Connection, database: str, name: str, columns: int) -> Table | None:
        """Return a table with its first columns.

        Args:
            connection: Any connection to the target.
            database: The database.
            name: The table.
            columns: Number of columns of the table in the log; the target may have further ones after them.
        """
        with self._lock:
            if database not in self._databases:
                tables = read_tables(lambda sql: rows_of(connection.query(sql)), [database])
                self._databases[database] = {table.name: table for table in tables}
            table = self._databases[database].get(name)
        if table is None or len(table.columns) <= columns:
            return table
        own = tuple(table.columns[:columns])
        names = {column.name for column in own}
        keys = tuple(key for key in table.keys if all(part.column in names for part in key.parts))
        links = tuple(link for link in table.foreign_keys if names.issuperset(link.columns))
        return replace(table, columns=own, keys=keys, foreign_keys=links)

    def forget(self) -> None:
        """Discard the definitions after a DDL."""
        with self._lock:
            self._databases.clear()
