"""What a statement of the log does to the schema."""

from __future__ import annotations

from dataclasses import dataclass, field

from paraply.schema.model import Table

__all__ = [
    "AlterDatabase",
    "AlterTable",
    "CreateDatabase",
    "CreateTable",
    "DropDatabase",
    "DropTable",
    "Irrelevant",
    "RenameTable",
    "SchemaChange",
    "TruncateTable",
    "Unknown",
]


@dataclass(frozen=True, slots=True)
class CreateDatabase:
    """A database was made; ``existed`` if IF NOT EXISTS found it there."""

    database: str
    charset: str | None
    collation: str | None
    existed: bool = False


@dataclass(frozen=True, slots=True)
class AlterDatabase:
    """A database's defaults changed; existing tables keep theirs."""

    database: str
    charset: str | None
    collation: str | None


@dataclass(frozen=True, slots=True)
class DropDatabase:
    """A database and all its tables went."""

    database: str


@dataclass(frozen=True, slots=True)
class CreateTable:
    """A table was made; ``replaced`` if CREATE OR REPLACE may have dropped one of the same name first."""

    table: Table
    replaced: bool = False


@dataclass(frozen=True, slots=True)
class DropTable:
    """A table (or a view) went, if it was there."""

    database: str
    name: str


@dataclass(frozen=True, slots=True)
class TruncateTable:
    """All rows of a table went; its definition stays."""

    database: str
    name: str


@dataclass(frozen=True, slots=True)
class RenameTable:
    """A table changed its name; ``table`` is the definition under the new one."""

    old_database: str
    old_name: str
    table: Table


@dataclass(frozen=True, slots=True)
class AlterTable:
    """A table's definition changed (or was rebuilt unchanged: then ``old`` equals ``new``).

    Attributes:
        old: Definition before.
        new: Definition after; under another name if the statement renamed the table.
        column_renames: New column name to old column name, for renamed columns only.
        added: Names of new columns (a column dropped and added again under its name is listed here).
        consequence: Whether only another table's change (a rename of its parent) caused this one.
        unlogged: What it does to rows in whole partitions or files, which no log holds row by row: ``DROP PARTITION``; empty for nothing.
        with_tables: Database and name of other tables whose rows it takes.
        strict: Whether values that did not fit their column's new type were an error, and not made to fit.
        ignores: ALTER IGNORE: whether rows that violate a key, a check or the partitions were left out without being logged.
    """

    old: Table
    new: Table
    column_renames: dict[str, str] = field(default_factory=dict, hash=False)
    added: tuple[str, ...] = ()
    consequence: bool = False
    unlogged: str = ""
    with_tables: tuple[tuple[str, str], ...] = ()
    strict: bool = True
    ignores: bool = False


@dataclass(frozen=True, slots=True)
class Unknown:
    """The statement was not understood, or it touches what is not known (R13).

    Attributes:
        reason: Why, for the report.
        tables: (database, table) pairs that are not known any more.
        databases: Databases whose tables are all not known any more.
        everything: Whether nothing at all is known any more.
    """

    reason: str
    tables: tuple[tuple[str, str], ...] = ()
    databases: tuple[str, ...] = ()
    everything: bool = False


@dataclass(frozen=True, slots=True)
class Irrelevant:
    """The statement does not change tables: views, routines, users, statistics, temporary tables."""

    what: str


SchemaChange = (
    CreateDatabase
    | AlterDatabase
    | DropDatabase
    | CreateTable
    | DropTable
    | TruncateTable
    | RenameTable
    | AlterTable
    | Unknown
    | Irrelevant
)
