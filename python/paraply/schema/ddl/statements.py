"""DDL statements as parsed, before they meet the catalog."""

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
    """CONVERT TO CHARACTER SET; without a charset the database's is meant. ``before``: what the table options before it named."""

    charset: str | None
    collation: str | None
    before: tuple[str | None, str | None] = (None, None)


@dataclass(slots=True)
class TableOptions:
    """Options that matter. ``convert`` is what the columns are to become, which may be another than the table's default."""

    charset: str | None = None
    collation: str | None = None
    engine: str | None = None
    convert: Conversion | None = None


@dataclass(frozen=True, slots=True)
class CreateTableStatement:
    """CREATE TABLE; ``like`` is the table copied, ``select`` whether rows and columns come from a query."""

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
    """CHANGE, MODIFY (``column`` has the new definition), RENAME COLUMN (only ``new_name``) or ALTER COLUMN's visibility."""

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
        actions: What is done to its definition.
        options: Table options that it names.
        rename: Its new name.
        if_exists: Whether the table may be missing.
        taken: MariaDB's CONVERT TABLE ... TO PARTITION: the table that becomes a partition of this one.
        made: MariaDB's CONVERT PARTITION ... TO TABLE: the table that a partition of this one becomes.
        unlogged: What it does to rows in whole partitions or files, which no log holds row by row: ``DROP PARTITION``; empty for nothing.
        exchanged: The table of EXCHANGE PARTITION ... WITH TABLE.
        ignores: ALTER IGNORE: values that do not fit are made to fit whatever the sql_mode, and rows that violate something are left out.
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
    ignores: bool = False


@dataclass(frozen=True, slots=True)
class DatabaseStatement:
    """ALTER DATABASE; None means the default database."""

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
    """RENAME TABLE, pairs in order."""

    pairs: tuple[tuple[Name, Name], ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class TruncateStatement:
    """TRUNCATE TABLE."""

    name: Name


@dataclass(frozen=True, slots=True)
class IrrelevantStatement:
    """Anything that leaves tables as they are."""

    what: str


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
