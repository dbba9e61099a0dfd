"""The schema as it holds at one position of the log (DESIGN: "Schema knowledge")."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from paraply.schema.collations import canonical_collation
from paraply.schema.ddl.spelling import Spellings
from paraply.schema.model import Table

__all__ = ["Database", "SchemaCatalog"]


@dataclass(frozen=True, slots=True)
class Database:
    """A database's defaults. ``assumed`` if they were taken from the server's, without having seen the database made."""

    name: str
    charset: str | None
    collation: str | None
    assumed: bool = False


@dataclass
class SchemaCatalog:
    """Databases and tables; advanced by the log's DDL.

    A name is known (``table`` gives a definition), not known (``is_unknown``), or never heard of. Tables of the latter two kinds must be
    handled as R13 says: what touches them is a barrier.

    Args:
        lower_case_table_names: The source's setting: 0 tells ``T`` from ``t``, 1 and 2 do not. No log says it. While it is None, a
            statement that names ``T`` where ``t`` is known makes both unknown (R13), unless it could only succeed under 0.
        complete: Whether every table that exists is in here, so that IF NOT EXISTS can be decided: True after reading a whole server
            or for a log that begins with the server.
        lists_tables: Whether every table that exists is in here, though databases may exist that are not.

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
    _complete_databases: set[str] = field(default_factory=set, repr=False)
    _spellings: Spellings = field(default_factory=Spellings, repr=False)

    def __len__(self) -> int:
        """How many tables are known."""
        return len(self._tables)

    def __iter__(self) -> Iterator[Table]:
        """All known tables."""
        return iter(list(self._tables.values()))

    def copy(self) -> SchemaCatalog:
        """An independent copy; tables themselves are immutable and shared, as is what only grows."""
        return SchemaCatalog(
            self.lower_case_table_names,
            self.complete,
            self.lists_tables,
            dict(self.databases),
            dict(self._tables),
            set(self._unknown),
            set(self._absent),
            set(self._complete_databases),
            self._spellings,
        )

    def without_tables(self) -> SchemaCatalog:
        """The same server with its databases, and nothing known of tables."""
        return SchemaCatalog(self.lower_case_table_names, self.complete, self.lists_tables, dict(self.databases))

    def fold(self, name: str) -> str:
        """A database's or table's name as it is looked up."""
        return name.lower() if self.lower_case_table_names else name

    def stored(self, name: str) -> str:
        """A database's or table's name as the server stores it, and writes it into table-map events."""
        return name.lower() if self.lower_case_table_names == 1 else name

    def _key(self, database: str, name: str) -> tuple[str, str]:
        return self.fold(database), self.fold(name)

    def table(self, database: str, name: str) -> Table | None:
        """A table's definition; None if it is not known."""
        return self._tables.get(self._key(database, name))

    def is_unknown(self, database: str, name: str) -> bool:
        """Whether a statement that was not understood touched the table."""
        return self._key(database, name) in self._unknown

    def is_absent(self, database: str, name: str) -> bool:
        """Whether the table certainly does not exist."""
        key = self._key(database, name)
        if key in self._tables or key in self._unknown:
            return False
        return self.complete or self.lists_tables or key in self._absent or key[0] in self._complete_databases

    def database(self, name: str) -> Database | None:
        """A database's defaults, if known."""
        return self.databases.get(self.fold(name))

    def children(self, database: str, name: str) -> list[Table]:
        """The tables with a foreign key to this one, itself included."""
        key = self._key(database, name)
        return [t for t in self if any(self._key(f.parent_database, f.parent_table) == key for f in t.foreign_keys)]

    def put(self, table: Table) -> None:
        """Adds a table or replaces its definition."""
        key = self._key(table.database, table.name)
        self._unknown.discard(key)
        self._absent.discard(key)
        self._tables[key] = table
        self._spellings.add(table)

    def remove(self, database: str, name: str) -> None:
        """Notes that a table does not exist (any more)."""
        key = self._key(database, name)
        self._tables.pop(key, None)
        self._unknown.discard(key)
        self._absent.add(key)

    def forget(self, database: str, name: str) -> None:
        """Makes a table unknown (R13)."""
        key = self._key(database, name)
        self._tables.pop(key, None)
        self._absent.discard(key)
        self._unknown.add(key)

    def put_database(self, database: Database, *, empty: bool = False) -> None:
        """Adds a database or changes its defaults; ``empty`` if it was just made."""
        key = self.fold(database.name)
        self.databases[key] = database
        if empty:
            self._complete_databases.add(key)
            self._unknown = {k for k in self._unknown if k[0] != key}

    def remove_database(self, name: str) -> None:
        """Drops a database with its tables."""
        key = self.fold(name)
        self._tables = {k: t for k, t in self._tables.items() if k[0] != key}
        self._unknown = {k for k in self._unknown if k[0] != key}
        self._absent = {k for k in self._absent if k[0] != key}
        self.databases.pop(key, None)
        self._complete_databases.add(key)

    def forget_database(self, name: str) -> None:
        """Makes all tables of a database unknown."""
        key = self.fold(name)
        for database, table in [k for k in (*self._tables, *self._absent) if k[0] == key]:
            self.forget(database, table)
        self.databases.pop(key, None)
        self._complete_databases.discard(key)

    def forget_everything(self) -> None:
        """Makes all tables unknown."""
        self._unknown |= set(self._tables)
        self._tables.clear()
        self._absent.clear()
        self.databases.clear()
        self._complete_databases.clear()
        self.complete = self.lists_tables = False

    def seed(self, tables: Iterable[Table], databases: Mapping[str, str] | None = None, *, complete: bool = False) -> None:
        """Puts in what was read from a server or a dump.

        Args:
            tables: The definitions.
            databases: Each database's default collation.
            complete: Whether these are all tables that exist.
        """
        for table in tables:
            self.put(table)
        for name, collation in (databases or {}).items():
            collation = canonical_collation(collation)
            self.put_database(Database(name, collation.split("_", 1)[0], collation))
        self.complete = self.complete or complete

    def close_dump(self) -> None:
        """Ends reading a dump: a table that it lacks may exist all the same."""
        self.complete = self.lists_tables = False
        self._complete_databases.clear()
        self._absent.clear()

    def other_spellings(self, place: tuple[str, str]) -> list[tuple[str, str]]:
        """Return the known or referenced tables whose names differ from this one only in case."""
        return [other for other in self._spellings.others(place) if other in self._tables or self.children(*other)]

    def has_other_spelling(self, place: tuple[str, str]) -> bool:
        """Return True if a table is known whose name differs from this one only in case."""
        return any(other in self._tables for other in self._spellings.others(place))

    def restore(self, before: SchemaCatalog) -> None:
        """Go back to a copy that was made earlier."""
        self.databases, self._tables, self._unknown = before.databases, before._tables, before._unknown
        self._absent, self._complete_databases, self.complete = before._absent, before._complete_databases, before.complete
        self.lower_case_table_names, self.lists_tables = before.lower_case_table_names, before.lists_tables


def assume(catalog: SchemaCatalog, name: str, collation: str | None, charset: str | None) -> Database:
    """A database's defaults, or the server's under the mark ``assumed``."""
    known = catalog.database(name)
    return known if known is not None else replace(Database(name, charset, collation), assumed=True)
