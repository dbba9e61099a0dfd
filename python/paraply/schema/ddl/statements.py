"""Parsed DDL statements, before they are executed on a catalog."""

from __future__ import annotations

from dataclasses import dataclass, field

from paraply.schema.ddl.elements import ColumnSpec, ForeignSpec, KeySpec

__all__ = [
    "AddColumn",
    "AddConstraint",
    "AlterTableStatement",
    "ChangeColumn",
    "Conversion",
    "CreateDatabaseStatement",
    "CreateTableStatement",
    "DatabaseStatement",
    "DropDatabaseStatement",
    "DropTablesStatement",
    "Element",
    "IrrelevantStatement",
    "Name",
    "RenameTablesStatement",
    "Statement",
    "TableOptions",
    "TruncateStatement",
]

Name = tuple[str | None, str]
Element = ColumnSpec | KeySpec | ForeignSpec


@dataclass(frozen=True, slots=True)
class Conversion:
    """CONVERT TO CHARACTER SET. Without a charset, that of the database is used. ``before`` holds the table options before the clause."""

    charset: str | None
    collation: str | None
    before: tuple[str | None, str | None] = (None, None)


@dataclass(slots=True)
class TableOptions:
    """Table options with a meaning for the catalog. ``convert`` is for the columns; it may differ from the table's default."""

    charset: str | None = None
    collation: str | None = None
    engine: str | None = None
    convert: Conversion | None = None


@dataclass(frozen=True, slots=True)
class CreateTableStatement:
    """CREATE TABLE; ``like`` is the copied table, ``select`` is True if rows and columns come from a query."""

    name: Name
    elements: tuple[Element, ...] = ()
    options: TableOptions = field(default_factory=TableOptions)
    if_not_exists: bool = False
    replace: bool = False
    like: Name | None = None
    select: bool = False


@dataclass(frozen=True, slots=True)
class AddColumn:
    """ADD COLUMN; ``position`` is ``FIRST``, a column's name in a tuple, or None for the end."""

    column: ColumnSpec
    position: str | tuple[str] | None = None
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class ChangeColumn:
    """CHANGE, MODIFY (``column`` has the new definition), RENAME COLUMN (only ``new_name``) or visibility in ALTER COLUMN."""

    old_name: str
    column: ColumnSpec | None = None
    new_name: str | None = None
    invisible: bool | None = None
    position: str | tuple[str] | None = None
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class AddConstraint:
    """ADD KEY or ADD FOREIGN KEY."""

    spec: KeySpec | ForeignSpec


@dataclass(frozen=True, slots=True)
class DropPart:
    """DROP of a ``column``, ``key``, ``foreign key`` or ``constraint`` (which may be any but a column)."""

    what: str
    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class RenameKey:
    """RENAME KEY."""

    old_name: str
    new_name: str
    if_exists: bool = False


Action = AddColumn | ChangeColumn | AddConstraint | DropPart | RenameKey


@dataclass(frozen=True, slots=True)
class AlterTableStatement:
    """ALTER TABLE, CREATE INDEX or DROP INDEX.

    Attributes:
        name: The table.
        actions: Changes of the definition.
        options: Table options in the statement.
        rename: New name of the table.
        if_exists: True if the table may be missing.
        taken: MariaDB's CONVERT TABLE ... TO PARTITION: the table that becomes a partition of this one.
        made: MariaDB's CONVERT PARTITION ... TO TABLE: the table that a partition of this one becomes.
        unlogged: Action on whole partitions or files that changes rows without logging them, such as ``DROP PARTITION``; else empty.
        exchanged: The table of EXCHANGE PARTITION ... WITH TABLE.
        single: True if it is an ALTER TABLE with one action and nothing else, not even ALGORITHM.
        ignores: ALTER IGNORE: the server changes values that do not fit, regardless of sql_mode, and drops rows that violate a constraint.
    """

    name: Name
    actions: tuple[Action, ...] = ()
    options: TableOptions | None = None
    rename: Name | None = None
    if_exists: bool = False
    taken: Name | None = None
    made: Name | None = None
    unlogged: str = ""
    exchanged: Name | None = None
    single: bool = False
    ignores: bool = False


@dataclass(frozen=True, slots=True)
class DatabaseStatement:
    """ALTER DATABASE; a name of None is the default database."""

    name: str | None
    charset: str | None
    collation: str | None


@dataclass(frozen=True, slots=True)
class CreateDatabaseStatement:
    """CREATE DATABASE."""

    name: str
    charset: str | None
    collation: str | None
    if_not_exists: bool = False
    replace: bool = False


@dataclass(frozen=True, slots=True)
class DropDatabaseStatement:
    """DROP DATABASE."""

    name: str


@dataclass(frozen=True, slots=True)
class DropTablesStatement:
    """DROP TABLE."""

    names: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class RenameTablesStatement:
    """RENAME TABLE, with pairs of old and new names in order."""

    pairs: tuple[tuple[Name, Name], ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class TruncateStatement:
    """TRUNCATE TABLE."""

    name: Name


@dataclass(frozen=True, slots=True)
class IrrelevantStatement:
    """A statement that does not change tables.

    Attributes:
        what: Verb and kind of object.
        views: The views that it makes or drops.
    """

    what: str
    views: tuple[Name, ...] = ()


Statement = (
    CreateTableStatement
    | AlterTableStatement
    | DatabaseStatement
    | CreateDatabaseStatement
    | DropDatabaseStatement
    | DropTablesStatement
    | RenameTablesStatement
    | TruncateStatement
    | IrrelevantStatement
)
