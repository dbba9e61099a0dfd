"""Databases and tables that have other names on the target than in the log."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from paraply.wording import option_text, table_option

if TYPE_CHECKING:
    from collections.abc import Mapping

    from paraply.schema.catalog import SchemaCatalog
    from paraply.schema.model import Table

__all__ = ["KEPT_NAMES", "NameTaken", "Place", "Renames"]

Place = tuple[str, str]
"""Database and table."""


class NameTaken(Exception):
    """Two names of the log would be one name on the target; ``args[0]`` says which."""


@dataclass(frozen=True, slots=True)
class Renames:
    """Names of the log and their names on the target. The rename of a table goes before that of its database.

    Attributes:
        databases: Pairs of a database in the log and on the target.
        tables: Pairs of a (database, table) in the log and on the target.
        lower_case: True if names of the log are compared in lower case; the log's names here are in lower case then.

    >>> renames = Renames((("shop", "copy"),), ((("shop", "item"), ("old", "goods")),))
    >>> renames.table("shop", "item"), renames.table("shop", "bill"), renames.table("hr", "item")
    (('old', 'goods'), ('copy', 'bill'), ('hr', 'item'))
    """

    databases: tuple[tuple[str, str], ...] = ()
    tables: tuple[tuple[Place, Place], ...] = ()
    lower_case: bool = False

    def __bool__(self) -> bool:
        """Return True if anything is renamed."""
        return bool(self.databases or self.tables)

    def __str__(self) -> str:
        """Return the renames as command line options."""
        words = [option_text("--rename-database", f"{old}={new}") for old, new in self.databases]
        return " ".join([*words, *(table_option("--rename-table", *pair) for pair in self.tables)])

    def identity(self) -> Mapping[str, object]:
        """Return the part that belongs to the identity of the progress (R25); empty without renames."""
        parts = {
            "rename_databases": sorted("=".join(pair) for pair in self.databases),
            "rename_tables": sorted(f"{'.'.join(old)}={'.'.join(new)}" for old, new in self.tables),
        }
        return {name: part for name, part in parts.items() if part}

    def in_lower_case(self) -> Renames:
        """Return the renames for a source that does not distinguish upper and lower case (``lower_case_table_names``)."""
        databases = tuple((old.lower(), new) for old, new in self.databases)
        return Renames(databases, tuple(((old[0].lower(), old[1].lower()), new) for old, new in self.tables), lower_case=True)

    def database(self, name: str) -> str:
        """Return the name of a database on the target.

        Raises:
            NameTaken: Another database of the log has this name on the target.
        """
        found = dict(self.databases).get(self._folded(name))
        if found is None and any(self._folded(new) == self._folded(name) for _, new in self.databases):
            raise NameTaken(f"another database of the log is renamed to {name}, which the log has too")
        return name if found is None else found

    def table(self, database: str, name: str) -> Place:
        """Return database and name of a table on the target.

        Raises:
            NameTaken: Another table of the log has this name on the target.
        """
        found = dict(self.tables).get((self._folded(database), self._folded(name)))
        if found is not None:
            return found
        new = (self.database(database), name)
        if any(self._same(new, taken) for _, taken in self.tables):
            raise NameTaken(f"another table of the log is renamed to {new[0]}.{new[1]}")
        return new

    def renames_database(self, name: str) -> bool:
        """Return True if a database, or a table in it, has another name on the target."""
        name = self._folded(name)
        return any(old == name for old, _ in self.databases) or any(of == name for (of, _), _ in self.tables)

    def renames_wholly(self, name: str) -> bool:
        """Return True if a database itself has another name on the target."""
        return any(old == self._folded(name) for old, _ in self.databases)

    def words(self) -> frozenset[str]:
        """Return all names that belong to a rename, on either side, in lower case."""
        names = [name for pair in self.databases for name in pair]
        return frozenset(name.lower() for name in [*names, *(name for pair in self.tables for place in pair for name in place)])

    def is_near(self, database: str, name: str) -> bool:
        """Return True if a name is none of the renamed ones, and would be one if upper and lower case were not distinct."""
        if self.lower_case:
            return False
        databases = [old for old, _ in self.databases]
        places = [old for old, _ in self.tables]
        near = any(old != database and old.lower() == database.lower() for old in [*databases, *(of for of, _ in places)])
        return near or any(
            old != (database, name) and (old[0].lower(), old[1].lower()) == (database.lower(), name.lower()) for old in places
        )

    def log_names(self, database: str, name: str) -> list[Place]:
        """Return the tables of the log that a table of the target gets its rows from: one, or none."""
        candidates = [old for old, _ in self.tables] + [(old, name) for old, _ in self.databases] + [(database, name)]
        found = []
        for candidate in dict.fromkeys(candidates):
            try:
                if self.table(*candidate) == (database, name):
                    found.append(candidate)
            except NameTaken:
                continue
        return found

    def catalog(self, catalog: SchemaCatalog) -> SchemaCatalog:
        """Return a catalog with the names of the target.

        Raises:
            NameTaken: Two tables have one name on the target.
        """
        renamed = catalog.without_tables()
        renamed.databases = {}
        for database in catalog.databases.values():
            if not self.renames_database(database.name) or self.renames_wholly(database.name):
                renamed.put_database(replace(database, name=self.database(database.name)))
        for table in catalog:
            renamed.put(self.definition(table))
        for name in catalog.unknown:
            renamed.forget(*self.table(*name))
        return renamed

    def definition(self, table: Table) -> Table:
        """Return a table's definition with the names of the target.

        Raises:
            NameTaken: Two tables have one name on the target.
        """
        database, name = self.table(table.database, table.name)
        keys = []
        for key in table.foreign_keys:
            parent_database, parent_table = self.table(key.parent_database, key.parent_table)
            keys.append(replace(key, parent_database=parent_database, parent_table=parent_table))
        return replace(table, database=database, name=name, foreign_keys=tuple(keys))

    def _folded(self, name: str) -> str:
        return name.lower() if self.lower_case else name

    def _same(self, one: Place, other: Place) -> bool:
        return (self._folded(one[0]), self._folded(one[1])) == (self._folded(other[0]), self._folded(other[1]))


KEPT_NAMES = Renames()
"""Renames under which every name stays."""
