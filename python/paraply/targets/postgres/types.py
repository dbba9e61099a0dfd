"""PostgreSQL's counterparts of MySQL's and MariaDB's column types; the table is in docs/targets/postgresql.md."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from paraply.errors import SchemaMismatch, TypeNotMapped
from paraply.schema.advance import ASSUMED_COLLATION
from paraply.wording import option_text

if TYPE_CHECKING:
    from paraply.schema.model import Column, Key, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "CHARSETS", "SINGLE_BYTE", "UNICODE", "ColumnMapping", "TableMapping", "check_name", "map_column", "map_table", "over_automatic",
    "quote_identifier", "quote_literal",
]  # fmt: skip

UNICODE = frozenset({"utf8mb4", "utf8mb3", "utf8", "ucs2", "utf16", "utf16le", "utf32"})
"""Character sets of Unicode."""

SINGLE_BYTE = frozenset({
    "armscii8", "ascii", "cp1250", "cp1251", "cp1256", "cp1257", "cp850", "cp852", "cp866", "dec8", "geostd8", "greek", "hebrew", "hp8",
    "keybcs2", "koi8r", "koi8u", "latin1", "latin2", "latin5", "latin7", "macce", "macroman", "swe7", "tis620",
})  # fmt: skip
"""Character sets with one byte a character."""

CHARSETS = UNICODE | SINGLE_BYTE | {"big5", "cp932", "eucjpms", "euckr", "gb18030", "gb2312", "gbk", "sjis", "ujis"}
"""Character sets with an exact conversion to UTF-8."""

ELSEWHERE = frozenset({"merge", "mrg_myisam", "blackhole", "federated", "connect", "spider", "sphinx", "oqgraph"})
"""Engines with tables whose rows differ from their row events."""

MAX_NAME_BYTES = 63
#: Columns that every table has (src/backend/catalog/heap.c). The check is for the exact name: XMIN is free.
SYSTEM_COLUMNS = frozenset({"tableoid", "cmax", "xmax", "cmin", "xmin", "ctid"})
"""PostgreSQL truncates longer names without an error."""

_INTEGERS = {
    ("tinyint", False): "smallint",
    ("tinyint", True): "smallint",
    ("smallint", False): "smallint",
    ("smallint", True): "integer",
    ("mediumint", False): "integer",
    ("mediumint", True): "integer",
    ("int", False): "integer",
    ("int", True): "bigint",
    ("bigint", False): "bigint",
    ("bigint", True): "numeric(20,0)",
}
_TEXTS = frozenset({"tinytext", "text", "mediumtext", "longtext"})
_BLOBS = frozenset({"tinyblob", "blob", "mediumblob", "longblob", "varbinary"})
_TEMPORAL = frozenset({"time", "datetime", "timestamp"})
_BINARY_COUNTERPARTS = {"char": "binary", "varchar": "varbinary"}


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """The counterpart of a column.

    Attributes:
        name: Name of the column on source and target.
        kind: Format of the values: a name known to ``Kind::from_name`` of the native renderer.
        sql_type: Type in the target, in the spelling of PostgreSQL's ``format_type``.
        nullable: True if NULL may be stored.
        generated: True if the source computes the column; the target stores its values.
        charset: Character set of text; None if unknown, so that the log must have it.
        length: Width of BINARY, to which values are padded; maximum characters of CHAR and VARCHAR.
        labels: Labels of ENUM and SET.
        decimals: Fractional digits of TIME, DATETIME and TIMESTAMP; None if unknown.
    """

    name: str
    kind: str
    sql_type: str
    nullable: bool = True
    generated: bool = False
    charset: str | None = None
    length: int | None = None
    labels: tuple[str, ...] = ()
    decimals: int | None = None

    @property
    def is_text(self) -> bool:
        """True if the target's column is text, compared byte by byte (COLLATE "C")."""
        return self.kind in {"text", "enum", "set"}

    @property
    def definition(self) -> str:
        """The column in the syntax of CREATE TABLE and ADD COLUMN."""
        collate = ' COLLATE "C"' if self.is_text else ""
        return f"{quote_identifier(self.name)} {self.sql_type}{collate}{'' if self.nullable else ' NOT NULL'}"


@dataclass(frozen=True, slots=True)
class TableMapping:
    """The counterpart of a table.

    Attributes:
        database: Database on the source.
        name: Table name on the source.
        schema: Schema in the target.
        table: Table name in the target.
        columns: Columns in the order of the source's row image.
        keys: Keys that identify a row, as column indexes, best first: the primary key, then unique keys without nullable
            columns. A key on prefixes counts with its whole columns.
        other_keys: Unique keys with nullable columns.
        cascades_delete: True if deleting a row changes rows of other tables on the source.
        cascades_update: Indexes of the columns whose updates change rows of other tables on the source.
        is_alone: True if the target may hold several rows with one value of the best key, so that a statement may change one row only.
        recomputed: Indexes of the generated columns whose logged values are not used: those over an AUTO_INCREMENT column, which MariaDB
            logs as computed before the row had its number (seen with 10.5 to 11.8; MySQL has no such columns).
    """

    database: str
    name: str
    schema: str
    table: str
    columns: tuple[ColumnMapping, ...]
    keys: tuple[tuple[int, ...], ...]
    cascades_delete: bool = False
    cascades_update: tuple[int, ...] = ()
    other_keys: tuple[tuple[int, ...], ...] = ()
    is_alone: bool = False
    recomputed: tuple[int, ...] = ()

    @property
    def target(self) -> str:
        """The target table as an identifier in SQL."""
        return f"{quote_identifier(self.schema)}.{quote_identifier(self.table)}"

    def column(self, name: str) -> ColumnMapping | None:
        """Return the column of that name, ignoring case like the source."""
        return next((column for column in self.columns if column.name.lower() == name.lower()), None)


def quote_identifier(name: str) -> str:
    """Return a name as an identifier in SQL.

    >>> print(quote_identifier('a"b'))
    "a""b"
    """
    return '"' + name.replace('"', '""') + '"'


def quote_literal(text: str) -> str:
    """Return a text as a literal in SQL (the session has ``standard_conforming_strings`` on).

    >>> print(quote_literal("it's"))
    'it''s'
    """
    return "'" + text.replace("'", "''") + "'"


def check_name(name: str, table: str) -> str:
    """Return the name, after checking that PostgreSQL can store it.

    Raises:
        SchemaMismatch: The name is longer than 63 bytes or contains a NUL byte.
    """
    if len(name.encode()) > MAX_NAME_BYTES or "\0" in name:
        raise SchemaMismatch(f"the name {name!r} does not fit PostgreSQL's limit of {MAX_NAME_BYTES} bytes", table=table)
    return name


def check_column_name(name: str, table: str) -> str:
    """Return the name of a column, after checking that PostgreSQL can store it.

    Raises:
        SchemaMismatch: The name does not fit, or every table of PostgreSQL has a system column of that name.
    """
    if name in SYSTEM_COLUMNS:
        problem = f"every table of PostgreSQL has a system column {name}, so the source's column cannot have that name"
        raise SchemaMismatch(f"{problem}; rename the column on the source, or leave the table out", table=table)
    return check_name(name, table)


def check_schema_name(database: str) -> str:
    """Return the name of the schema for a database, after checking it.

    Raises:
        SchemaMismatch: PostgreSQL or paraply reserves the name.
    """
    if database in {"paraply", "information_schema"} or database.startswith("pg_"):
        raise SchemaMismatch(
            f"the database {database!r} cannot become a schema of that name: it is reserved in the target; leave it out with"
            f" {option_text('--exclude-database', database)}"
        )
    return check_name(database, database)


def map_table(table: Table, children: Iterable[Table] = ()) -> TableMapping:
    """Return the counterpart of a table.

    Args:
        table: The source's table.
        children: Tables whose foreign keys may refer to it.

    Raises:
        TypeNotMapped: A column has no exact counterpart, or the table's rows differ from its logged rows.
        SchemaMismatch: A name is too long or reserved.
    """
    if (table.engine or "").lower() in ELSEWHERE:
        problem = f"the rows of a table of engine {table.engine} are not those that the log holds for it"
        raise TypeNotMapped(f"{problem}; leave it out, or use a MySQL or MariaDB target", table=table.full_name)
    schema, name = check_schema_name(table.database), check_name(table.name, table.full_name)
    columns = tuple(map_column(_certain(column, table), table.full_name) for column in table.columns)
    places = {column.name.lower(): index for index, column in enumerate(table.columns)}
    unique = [key for key in sorted(table.keys, key=lambda key: not key.primary) if key.unique or key.primary]
    keys, others = _split_keys(table, [(key, _key_columns(key, places)) for key in unique])
    itself = (table.database, table.name)
    references = [key for child in children for key in child.foreign_keys if (key.parent_database, key.parent_table) == itself]
    delete = any(key.on_delete != "refuse" for key in references)
    changed = {column.lower() for key in references if key.on_update != "refuse" for column in key.parent_columns}
    update = tuple(index for index, column in enumerate(table.columns) if column.name.lower() in changed)
    return TableMapping(
        table.database, table.name, schema, name, columns, keys, delete, update, others, recomputed=over_automatic(table.columns)
    )  # fmt: skip


def over_automatic(columns: Sequence[Column]) -> tuple[int, ...]:
    """Return the indexes of the generated columns that read an AUTO_INCREMENT column, also by way of others.

    >>> from paraply.schema.model import Column, Default
    >>> over_automatic((Column("id", "int", default=Default("automatic")), Column("g", "int", generated="virtual", expression="`id` * 2")))
    (1,)
    """
    read = {column.name.lower() for column in columns if column.default is not None and column.default.kind == "automatic"}
    found: set[int] = set()
    while read:
        names = re.compile("|".join(rf"(?<![\w$]){re.escape(name)}(?![\w$])" for name in sorted(read)))
        more = {
            index for index, column in enumerate(columns)
            if index not in found and column.generated is not None and names.search((column.expression or "").lower())
        }  # fmt: skip
        found |= more
        read = {columns[index].name.lower() for index in more}
    return tuple(sorted(found))


def _certain(column: Column, table: Table) -> Column:
    """Return the column without a character set that was only assumed: the server's default, for a database whose CREATE is not known.

    The log must have the character set then. Rows would be read in a wrong one otherwise.
    """
    assumed = ASSUMED_COLLATION in table.options and column.collation == table.collation and column.charset not in {None, "binary"}
    return replace(column, charset=None, collation=None) if assumed else column


def _key_columns(key: Key, places: dict[str, int]) -> tuple[int, ...]:
    """Return the columns of a key; empty for a key with expressions or unknown columns."""
    columns = [places.get(part.column.lower()) if part.column is not None else None for part in key.parts]
    known = tuple(place for place in columns if place is not None)
    return known if len(known) == len(columns) else ()


def _split_keys(table: Table, unique: list[tuple[Key, tuple[int, ...]]]) -> tuple[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]]:
    """Return the keys that identify rows, and the unique keys with nullable columns."""
    found: tuple[list[tuple[int, ...]], list[tuple[int, ...]]] = ([], [])
    for key, columns in unique:
        if columns:
            nullable = not key.primary and any(table.columns[place].nullable for place in columns)
            found[nullable].append(columns)
    return tuple(found[0]), tuple(found[1])


def map_column(column: Column, table: str) -> ColumnMapping:
    """Return the counterpart of a column.

    Args:
        column: The source's column.
        table: The table as ``database.table``, for the error.

    Raises:
        TypeNotMapped: The column has no exact counterpart.
    """
    check_column_name(column.name, table)
    kind, sql_type = _kind_and_type(column, table)
    charset, length = None, None
    if kind == "text":
        charset = _charset(column, table)
    if kind == "binary":
        length = 1 if column.length is None else column.length
    elif column.type in {"char", "varchar", "varbinary", "bit"}:
        length = column.length
    labels = column.labels if kind in {"enum", "set"} else ()
    if kind in {"enum", "set"} and not labels:
        raise TypeNotMapped(f"the labels of {column.type.upper()} column {column.name} are not known; give them with --schema", table=table)
    decimals = column.scale if column.type in _TEMPORAL else None
    return ColumnMapping(column.name, kind, sql_type, column.nullable, column.generated is not None, charset, length, labels, decimals)


def _charset(column: Column, table: str) -> str | None:
    """Return the character set, or None if only the log's table maps have it."""
    if column.charset is None or column.charset in CHARSETS:
        return column.charset
    raise TypeNotMapped(f"the character set {column.charset} of column {column.name} has no exact conversion", table=table)


def _kind_and_type(column: Column, table: str) -> tuple[str, str]:
    """Return the kind and the type in the target."""
    name = column.type
    if column.charset == "binary" and name in _BINARY_COUNTERPARTS:
        name = _BINARY_COUNTERPARTS[name]
    if (name, column.unsigned) in _INTEGERS:
        return "unsigned" if column.unsigned else "integer", _INTEGERS[name, column.unsigned]
    if name in {"char", "varchar"}:
        return "text", _varchar(column.length if column.length is not None or name == "varchar" else 1)
    if name in _TEXTS:
        return "text", "text"
    if name in _BLOBS:
        return "varbinary", "bytea"
    simple = {
        "float": ("real", "real"),
        "double": ("double", "double precision"),
        "binary": ("binary", "bytea"),
        "date": ("date", "date"),
        "time": ("interval", "interval"),
        "year": ("year", "smallint"),
        "enum": ("enum", "text"),
        "set": ("set", "text"),
        "json": ("json", "jsonb"),
        "uuid": ("uuid", "uuid"),
        "inet4": ("inet4", "inet"),
        "inet6": ("inet6", "inet"),
        "decimal": ("decimal", f"numeric({column.length or 10},{column.scale or 0})"),
        "bit": ("bit", f"bit({column.length or 1})"),
        "datetime": ("timestamp", f"timestamp({column.scale or 0}) without time zone"),
        "timestamp": ("timestamptz", f"timestamp({column.scale or 0}) with time zone"),
    }
    if name not in simple:
        problem = f"column {column.name} has type {column.type.upper()}, which has no counterpart in PostgreSQL"
        raise TypeNotMapped(f"{problem}; use a MySQL or MariaDB target", table=table)
    return simple[name]


def _varchar(length: int | None) -> str:
    """Return ``varchar(n)``, or ``text`` for length 0, because PostgreSQL has no ``varchar(0)``."""
    return f"character varying({length})" if length else "text"
