"""Schema changes by a statement of the log."""

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
    """A created database; ``existed`` is True if it existed already, with IF NOT EXISTS."""

    database: str
    charset: str | None
    collation: str | None
    existed: bool = False


@dataclass(frozen=True, slots=True)
class AlterDatabase:
    """A change of a database's defaults; existing tables keep theirs."""

    database: str
    charset: str | None
    collation: str | None


@dataclass(frozen=True, slots=True)
class DropDatabase:
    """A dropped database with all its tables."""

    database: str


@dataclass(frozen=True, slots=True)
class CreateTable:
    """A created table; ``replaced`` is True if CREATE OR REPLACE may have dropped a table of the same name."""

    table: Table
    replaced: bool = False


@dataclass(frozen=True, slots=True)
class DropTable:
    """A dropped table or view, which need not have existed."""

    database: str
    name: str


@dataclass(frozen=True, slots=True)
class TruncateTable:
    """A table without its rows; its definition is unchanged."""

    database: str
    name: str


@dataclass(frozen=True, slots=True)
class RenameTable:
    """A renamed table; ``table`` is the definition under the new name."""

    old_database: str
    old_name: str
    table: Table


@dataclass(frozen=True, slots=True)
class AlterTable:
    """A change of a table's definition; ``old`` equals ``new`` if the table was rebuilt unchanged.

    Attributes:
        old: Definition before the statement.
        new: Definition after the statement; under another name if the statement renamed the table.
        column_renames: New column name to old column name, for renamed columns only.
        added: Names of new columns, including columns that were dropped and added again.
        consequence: True if the only reason is the change of another table, such as the rename of a parent.
        unlogged: Action on whole partitions or files that changes rows without logging them, such as ``DROP PARTITION``; else empty.
        with_tables: Database and name of other tables from which the statement takes rows.
        pads_char: True if a CHAR was read with the spaces up to its length, if it became another type.
        strict: True if a value that does not fit the new type of its column was an error; otherwise the server changed it.
        ignores: True if the statement was ALTER IGNORE, which drops rows that violate a key, a check or the partitions, without logging it.
    """

    old: Table
    new: Table
    column_renames: dict[str, str] = field(default_factory=dict, hash=False)
    added: tuple[str, ...] = ()
    consequence: bool = False
    unlogged: str = ""
    with_tables: tuple[tuple[str, str], ...] = ()
    strict: bool = True
    pads_char: bool = False
    ignores: bool = False


@dataclass(frozen=True, slots=True)
class Unknown:
    """A statement that was not understood, or that touches unknown tables (R13).

    Attributes:
        reason: The reason, for the report.
        tables: Tables that became unknown, as pairs of database and name.
        databases: Databases with all tables unknown.
        everything: True if all tables are unknown.
    """

    reason: str
    tables: tuple[tuple[str, str], ...] = ()
    databases: tuple[str, ...] = ()
    everything: bool = False


@dataclass(frozen=True, slots=True)
class Irrelevant:
    """A statement that does not change tables: views, routines, users, statistics, temporary tables."""

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
