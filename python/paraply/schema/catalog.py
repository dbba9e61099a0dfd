"""The schema at one position of the log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from paraply.schema.collations import canonical_collation
from paraply.schema.ddl.spelling import Spellings
from paraply.schema.model import Table

__all__ = ["Database", "SchemaCatalog"]


@dataclass(frozen=True, slots=True)
class Database:
    """The defaults of a database. They are ``assumed`` if they were taken from the server because its CREATE was not seen."""

    name: str
    charset: str | None
    collation: str | None
    assumed: bool = False


@dataclass
class SchemaCatalog:
    """Databases and tables, changed by the log's DDL.

    A table is known (``table`` returns a definition), unknown (``is_unknown``), or never seen. Transactions that touch a table of the last
    two kinds are barriers (R13).

    Args:
        lower_case_table_names: The source's setting. With 0, ``T`` and ``t`` are different tables; with 1 and 2, they are the same. No log
            holds it. While it is None, a statement that names ``T`` makes a known table ``t`` and ``T`` unknown (R13), unless the statement
            can only have succeeded with 0.
        complete: True if the catalog holds every existing table and database, so that IF NOT EXISTS can be decided: after reading a whole
            server, or for a log that begins with the server.
        lists_tables: True if the catalog holds every existing table, but possibly not every database.

    >>> from paraply.schema.advance import advance
    >>> catalog = SchemaCatalog(complete=True)
    >>> _ = advance(catalog, "create table t (a int primary key)", "d", {}, mariadb=False, version=(9, 7, 0))
    >>> catalog.table("d", "t").primary_key.name
    'PRIMARY'
    """

    lower_case_table_names: int | None = None
    complete: bool = False
    lists_tables: bool = False
    databases: dict[str, Database] = field(default_factory=dict)
    _tables: dict[tuple[str, str], Table] = field(default_factory=dict, repr=False)
    _unknown: set[tuple[str, str]] = field(default_factory=set, repr=False)
    _absent: set[tuple[str, str]] = field(default_factory=set, repr=False)
    _views: set[tuple[str, str]] = field(default_factory=set, repr=False)
    _complete_databases: set[str] = field(default_factory=set, repr=False)
    _spellings: Spellings = field(default_factory=Spellings, repr=False)

    def __len__(self) -> int:
        """Return the number of known tables."""
        return len(self._tables)

    def __iter__(self) -> Iterator[Table]:
        """Iterate over the known tables."""
        return iter(list(self._tables.values()))

    def copy(self) -> SchemaCatalog:
        """Return an independent copy. It shares the tables, which are immutable, and the spellings, which only grow."""
        return SchemaCatalog(
            self.lower_case_table_names,
            self.complete,
            self.lists_tables,
            dict(self.databases),
            dict(self._tables),
            set(self._unknown),
            set(self._absent),
            set(self._views),
            set(self._complete_databases),
            self._spellings,
        )

    def without_tables(self) -> SchemaCatalog:
        """Return a catalog with the same server settings and databases, but without tables."""
        return SchemaCatalog(self.lower_case_table_names, self.complete, self.lists_tables, dict(self.databases))

    def fold(self, name: str) -> str:
        """Return the name of a database or table in the form used for lookups."""
        return name.lower() if self.lower_case_table_names else name

    def stored(self, name: str) -> str:
        """Return the name of a database or table as the server stores it and writes it into table-map events."""
        return name.lower() if self.lower_case_table_names == 1 else name

    def _key(self, database: str, name: str) -> tuple[str, str]:
        return self.fold(database), self.fold(name)

    def table(self, database: str, name: str) -> Table | None:
        """Return the definition of a table, or None if unknown."""
        return self._tables.get(self._key(database, name))

    def is_unknown(self, database: str, name: str) -> bool:
        """Return True if a statement that was not understood touched the table."""
        return self._key(database, name) in self._unknown

    @property
    def unknown(self) -> list[tuple[str, str]]:
        """Database and name of the tables that a statement which was not understood touched."""
        return sorted(self._unknown)

    def is_absent(self, database: str, name: str) -> bool:
        """Return True if the table certainly does not exist."""
        key = self._key(database, name)
        if key in self._tables or key in self._unknown:
            return False
        return self.complete or self.lists_tables or key in self._absent or key[0] in self._complete_databases

    def database(self, name: str) -> Database | None:
        """Return the defaults of a database, or None if unknown."""
        return self.databases.get(self.fold(name))

    def children(self, database: str, name: str) -> list[Table]:
        """Return the tables with a foreign key to this table, including the table itself."""
        key = self._key(database, name)
        return [t for t in self if any(self._key(f.parent_database, f.parent_table) == key for f in t.foreign_keys)]

    def put(self, table: Table) -> None:
        """Add a table or replace its definition."""
        key = self._key(table.database, table.name)
        self._unknown.discard(key)
        self._absent.discard(key)
        self._views.discard(key)
        self._tables[key] = table
        self._spellings.add(table)

    def remove(self, database: str, name: str) -> None:
        """Record that a table does not exist."""
        key = self._key(database, name)
        self._tables.pop(key, None)
        self._unknown.discard(key)
        self._absent.add(key)

    def is_view(self, database: str, name: str) -> bool:
        """Return True if the log made a view of this name, which is still there."""
        return self._key(database, name) in self._views

    def put_view(self, database: str, name: str, *, exists: bool) -> None:
        """Record that a view exists, or that it no longer does."""
        (self._views.add if exists else self._views.discard)(self._key(database, name))

    def forget(self, database: str, name: str) -> None:
        """Make a table unknown (R13)."""
        key = self._key(database, name)
        self._tables.pop(key, None)
        self._absent.discard(key)
        self._unknown.add(key)

    def put_database(self, database: Database, *, empty: bool = False) -> None:
        """Add a database or change its defaults; ``empty`` is True if it was just created."""
        key = self.fold(database.name)
        self.databases[key] = database
        if empty:
            self._complete_databases.add(key)
            self._unknown = {k for k in self._unknown if k[0] != key}

    def remove_database(self, name: str) -> None:
        """Remove a database with its tables."""
        key = self.fold(name)
        self._tables = {k: t for k, t in self._tables.items() if k[0] != key}
        self._unknown = {k for k in self._unknown if k[0] != key}
        self._absent = {k for k in self._absent if k[0] != key}
        self._views = {k for k in self._views if k[0] != key}
        self.databases.pop(key, None)
        self._complete_databases.add(key)

    def forget_database(self, name: str) -> None:
        """Make all tables of a database unknown."""
        key = self.fold(name)
        for database, table in [k for k in (*self._tables, *self._absent) if k[0] == key]:
            self.forget(database, table)
        self.databases.pop(key, None)
        self._complete_databases.discard(key)

    def forget_everything(self) -> None:
        """Make all tables unknown."""
        self._unknown |= set(self._tables)
        self._tables.clear()
        self._absent.clear()
        self._views.clear()
        self.databases.clear()
        self._complete_databases.clear()
        self.complete = self.lists_tables = False

    def seed(self, tables: Iterable[Table], databases: Mapping[str, str] | None = None, *, complete: bool = False) -> None:
        """Add the definitions read from a server or a dump.

        Args:
            tables: The definitions.
            databases: Each database's default collation.
            complete: True if these are all existing tables.
        """
        for table in tables:
            self.put(table)
        for name, collation in (databases or {}).items():
            collation = canonical_collation(collation)
            self.put_database(Database(name, collation.split("_", 1)[0], collation))
        self.complete = self.complete or complete

    def close_dump(self) -> None:
        """Finish reading a dump: from here on, a table that is not in the dump may exist."""
        self.complete = self.lists_tables = False
        self._complete_databases.clear()
        self._absent.clear()

    def other_spellings(self, place: tuple[str, str]) -> list[tuple[str, str]]:
        """Return the known or referenced tables whose names differ from this name only in case."""
        return [other for other in self._spellings.others(place) if other in self._tables or self.children(*other)]

    def has_other_spelling(self, place: tuple[str, str]) -> bool:
        """Return True if there is a known table whose name differs from this name only in case."""
        return any(other in self._tables for other in self._spellings.others(place))

    def restore(self, before: SchemaCatalog) -> None:
        """Restore the state of an earlier copy."""
        self.databases, self._tables, self._unknown = before.databases, before._tables, before._unknown
        self._absent, self._views = before._absent, before._views
        self._complete_databases, self.complete = before._complete_databases, before.complete
        self.lower_case_table_names, self.lists_tables = before.lower_case_table_names, before.lists_tables


def assume(catalog: SchemaCatalog, name: str, collation: str | None, charset: str | None) -> Database:
    """Return the defaults of a database, or the defaults of the server marked as ``assumed``."""
    known = catalog.database(name)
    return known if known is not None else replace(Database(name, charset, collation), assumed=True)
