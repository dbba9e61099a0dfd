"""Tables of a member's database, and write sets of their rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from paraply._native import Catalog, explain_values
from paraply.errors import UsageError
from paraply.group.delivery.messages import Row, RowChange
from paraply.schema.advance import advance
from paraply.schema.catalog import SchemaCatalog
from paraply.schema.collations import collations
from paraply.schema.model import Table

__all__ = ["SERVER_VERSION", "Definitions"]

SERVER_VERSION = (9, 7, 0)
"""Version whose DDL the group accepts."""

CHARSETS = (255, 255, 255)
"""Collations of client, connection and server by number: utf8mb4_0900_ai_ci."""

Key = tuple[Any, ...]


class Definitions:
    """Table definitions of one member, kept up to date by its DDL.

    >>> definitions = Definitions()
    >>> definitions.advance("create table item (id bigint primary key, name varchar(40))", "shop")
    >>> definitions.key("shop.item", {"id": 7, "name": "pen"})
    (7,)
    >>> len(definitions.write_set([RowChange("shop.item", None, {"id": 7, "name": "pen"})]))
    1
    """

    def __init__(self) -> None:
        self._schema = SchemaCatalog(complete=True)
        self._catalog = Catalog()
        self.collations: dict[str, int] = {}
        """Numbers of the collations of text columns, by name."""

    def __iter__(self) -> Any:
        return iter(self._schema)

    def advance(self, statement: str, database: str) -> None:
        """Apply a statement to the definitions."""
        for _change in advance(self._schema, statement, database, {"charset": CHARSETS}, mariadb=False, version=SERVER_VERSION):
            pass
        self._catalog = Catalog()
        self._take(self._schema)

    def _take(self, tables: Iterable[Table]) -> None:
        numbers = {name: number for number, name in collations("mysql").by_number.items()}
        for table in tables:
            self._catalog.put(table)
            used = [column.collation for column in table.columns if column.collation in numbers]
            self.collations |= {name: numbers[name] for name in used if name is not None}

    @property
    def catalog(self) -> Catalog:
        """Catalog for hashing and encoding rows."""
        return self._catalog

    def adopt(self, tables: Iterable[Table]) -> None:
        """Add definitions that were read from a database."""
        for table in tables:
            self._schema.put(table)
        self._take(self._schema)

    def table(self, name: str) -> Table:
        """Return a table by its full name.

        Raises:
            UsageError: No table has this name, or it has no primary key, which a group needs.
        """
        database, _, plain = name.partition(".")
        table = self._schema.table(database, plain)
        if table is None:
            raise UsageError(f"there is no table {name} in the group: create it first, and name it with its database")
        if table.primary_key is None:
            raise UsageError(f"table {name} has no primary key: a group accepts only rows of tables with a primary key")
        return table

    def key_columns(self, name: str) -> list[str]:
        """Return the columns of a table's primary key."""
        key = self.table(name).primary_key
        return [part.column for part in key.parts if part.column is not None] if key is not None else []

    def key(self, name: str, row: Row) -> Key:
        """Return the primary key of a row."""
        try:
            return tuple(row[column] for column in self.key_columns(name))
        except KeyError as missing:
            raise UsageError(f"a row of table {name} needs its key column {missing}") from None

    def complete(self, name: str, row: Row) -> dict[str, Any]:
        """Return a row with all columns of its table; missing values are NULL.

        Raises:
            UsageError: The row has a column that the table lacks.
        """
        columns = [column.name for column in self.table(name).columns]
        unknown = [column for column in row if column not in columns]
        if unknown:
            raise UsageError(f"table {name} has no column {unknown[0]}")
        return {column: row.get(column) for column in columns}

    def write_set(self, changes: Sequence[RowChange]) -> tuple[int, ...]:
        """Return the hashes of a member's certifier for some rows (R11, R12); empty, which means a barrier, if keys are unknown (R13)."""
        items: dict[int, None] = {}
        for change in changes:
            table = self.table(change.table)
            found = explain_values(self._catalog, table.database, table.name, change.before, change.after, scheme="group")
            if found["barrier"]:
                return ()
            items.update(dict.fromkeys(found["exclusive"]))
            items.update(dict.fromkeys(found["shared"]))
        return tuple(items)

    def names(self) -> Iterable[str]:
        """Return the full names of all tables."""
        return [table.full_name for table in self._schema]
