"""Databases and tables that the target will hold at a statement of the log."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from paraply.errors import ApplyFailed, ParaplyError, ServerError
from paraply.schema.ddl.change import (
    AlterTable,
    CreateDatabase,
    CreateTable,
    DropDatabase,
    DropTable,
    Irrelevant,
    RenameTable,
    SchemaChange,
    Unknown,
)
from paraply.schema.ddl.statements import AlterTableStatement, CreateDatabaseStatement, CreateTableStatement, Statement, TruncateStatement
from paraply.targets.mysql.errors import explain
from paraply.targets.mysql.sql import Connection, rows_of, to_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from paraply.schema.model import ForeignKey, Table

__all__ = ["StandingObjects"]

#: Database of the progress; an apply makes it before the log's first statement.
_OWN = "paraply"
_DATABASE_EXISTS, _TABLE_EXISTS, _NO_TABLE = 1007, 1050, 1146


@dataclass(slots=True)
class StandingObjects:
    """The databases and tables of the target, followed through the log's statements.

    Attributes:
        databases: Names of the databases.
        tables: (database, table) pairs.
        unsure: Pairs that may exist or not.
        knows_missing: True if a name that is not in ``tables`` and ``unsure`` is no table for certain.
    """

    databases: set[str]
    tables: set[tuple[str, str]]
    unsure: set[tuple[str, str]] = field(default_factory=set)
    knows_missing: bool = True

    @classmethod
    def read(cls, connection: Connection) -> StandingObjects:
        """Read the names of the target's databases and tables."""
        databases = {to_text(name) for (name,) in rows_of(connection.query("SELECT schema_name FROM information_schema.schemata"))}
        found = rows_of(connection.query("SELECT table_schema, table_name, table_type FROM information_schema.tables"))
        named = [((to_text(database), to_text(name)), to_text(kind).upper()) for database, name, kind in found]
        tables = {place for place, kind in named if kind in ("BASE TABLE", "SYSTEM VERSIONED")}
        return cls(databases | {_OWN}, tables, {place for place, _ in named} - tables)

    def has_database(self, name: str) -> bool:
        """Return True if a statement may name the database as its default."""
        return name in self.databases

    def check(self, statement: Statement, database: str) -> None:
        """Raise the error with which the server would answer that a name exists, or does not.

        Args:
            statement: A statement of the log.
            database: Its default database.

        Raises:
            ApplyFailed: The database or table exists already.
            SchemaMismatch: The table does not exist.
        """
        match statement:
            case CreateDatabaseStatement(name=name, if_not_exists=False, replace=False) if name in self.databases:
                raise _answer(f"Can't create database '{name}'; database exists", _DATABASE_EXISTS)
            case CreateTableStatement(name=(owner, name), if_not_exists=False, replace=False) if (owner or database, name) in self.tables:
                raise _answer(f"Table '{name}' already exists", _TABLE_EXISTS)
            case AlterTableStatement(name=(owner, name), if_exists=False) | TruncateStatement(name=(owner, name)):
                place = owner or database, name
                if self.knows_missing and place not in self.tables | self.unsure:
                    raise _answer(f"Table '{'.'.join(place)}' doesn't exist", _NO_TABLE)

    def check_parents(self, changes: Iterable[SchemaChange]) -> None:
        """Raise an error if a new foreign key refers to a table that the target will not have.

        Raises:
            ApplyFailed: The parent is missing.
        """
        made: set[tuple[str, str]] = set()
        for change in changes:
            match change:
                case CreateTable(table=table):
                    made.add((table.database, table.name))
                    self._check_keys(table, table.foreign_keys, made)
                case AlterTable(old=old, new=new, consequence=False):
                    made.add((new.database, new.name))
                    before = {key.name for key in old.foreign_keys}
                    self._check_keys(new, [key for key in new.foreign_keys if key.name not in before], made)

    def _check_keys(self, table: Table, keys: Iterable[ForeignKey], made: set[tuple[str, str]]) -> None:
        if not self.knows_missing or (table.engine or "innodb").lower() != "innodb":
            return
        for key in keys:
            parent = key.parent_database, key.parent_table
            if parent not in self.tables | self.unsure | made:
                raise ApplyFailed(
                    f"the foreign key {key.name} refers to {'.'.join(parent)}, which the target does not have here, so it refuses the"
                    " statement: let the filters apply both tables, or leave both out; or make the table in the target first",
                    table=table.full_name,
                )

    def follow(self, changes: Iterable[SchemaChange]) -> None:
        """Take over the changes of a statement that the target runs."""
        for change in changes:
            self._follow(change)

    def _follow(self, change: SchemaChange) -> None:
        match change:
            case CreateDatabase(database=database):
                self.databases.add(database)
            case DropDatabase(database=database):
                self.databases.discard(database)
                self.tables = {place for place in self.tables if place[0] != database}
                self.unsure = {place for place in self.unsure if place[0] != database}
            case CreateTable(table=table):
                self._put((table.database, table.name))
            case DropTable(database=database, name=name):
                self._remove((database, name))
            case RenameTable(old_database=database, old_name=name, table=table):
                self._remove((database, name))
                self._put((table.database, table.name))
            case AlterTable(old=old, new=new, consequence=False):
                self._remove((old.database, old.name))
                self._put((new.database, new.name))
            case Irrelevant(what="sequence"):  # a sequence can be altered and renamed as a table
                self.knows_missing = False
            case Unknown(tables=tables, databases=databases, everything=everything):
                self._forget({*tables}, {*databases}, everything=everything)

    def _put(self, place: tuple[str, str]) -> None:
        self.tables.add(place)
        self.unsure.discard(place)

    def _remove(self, place: tuple[str, str]) -> None:
        self.tables.discard(place)
        self.unsure.discard(place)

    def _forget(self, tables: set[tuple[str, str]], databases: set[str], *, everything: bool) -> None:
        """Note that it is not known any more which of these tables exist."""
        self.knows_missing = self.knows_missing and not (databases or everything)
        lost = {place for place in self.tables if everything or place in tables or place[0] in databases}
        self.tables -= lost
        self.unsure |= lost | tables


def _answer(message: str, code: int) -> ParaplyError:
    """Return the error of an answer of the server."""
    return explain(ServerError(message, code, "HY000"))
