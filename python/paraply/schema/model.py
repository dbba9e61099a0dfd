"""Table definitions, from a log's DDL or a server's information_schema."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from paraply._native import own_table_names

__all__ = ["OWN_DATABASE", "SYSTEM_DATABASES", "Column", "Default", "ForeignKey", "Key", "KeyPart", "Table", "is_own_table"]


SYSTEM_DATABASES = ("information_schema", "mysql", "performance_schema", "sys")
"""The system databases of a server."""

OWN_DATABASE = "paraply"
"""Database of paraply's own tables. In a log these are the source's, which mean nothing on the target."""
_OWN_TABLES = frozenset(own_table_names())


def is_own_table(database: str, table: str) -> bool:
    """Return True for the name of one of paraply's own tables.

    >>> is_own_table("paraply", "progress"), is_own_table("paraply", "item"), is_own_table("shop", "progress")
    (True, False, False)
    """
    return database == OWN_DATABASE and table in _OWN_TABLES


@dataclass(frozen=True, slots=True)
class Default:
    """The default of a column.

    Attributes:
        kind: ``none`` without a DEFAULT clause, ``literal``, ``automatic`` for AUTO_INCREMENT, or ``expression`` for all other computed
            values (CURRENT_TIMESTAMP, ``(uuid())``).
        text: A literal's value as text, unquoted; None for DEFAULT NULL.
        form: Form of the literal: a ``string``, a ``number`` as written, a ``temporal`` literal (``DATE'...'``), ``bytes`` or ``bits`` in
            hexadecimal (``bits`` are a number in a numeric context), or ``utc`` for the value of a TIMESTAMP in UTC. ``now`` is the
            expression CURRENT_TIMESTAMP or one of its synonyms; ``text`` has its fractional digits.
        introduced: True if the literal is bytes, or text that is not ASCII, after the name of a character set (``_latin1 x'E9'``).
    """

    kind: Literal["none", "literal", "automatic", "expression"] = "none"
    text: str | None = None
    form: Literal["string", "number", "temporal", "bytes", "bits", "utc", "now"] = "string"
    introduced: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """One column, in the order of the row image.

    Attributes:
        name: Name as declared.
        type: The type's keyword in lower case, without length or sign: ``bigint``, ``varchar``, ``enum``.
            Synonyms are resolved: ``integer`` is ``int``, ``bool`` is ``tinyint``, ``numeric`` is ``decimal``.
        length: Declared length: characters of CHAR and VARCHAR, bytes of BINARY and VARBINARY, bits of BIT, digits of DECIMAL.
        scale: Fractional digits of DECIMAL, or of the seconds of TIME, DATETIME and TIMESTAMP.
        unsigned: True if a number is UNSIGNED.
        nullable: True if NULL may be stored.
        charset: Character set of a character type, ``binary`` for binary strings, else None.
        collation: Full name of the collation of a character type, ``binary`` for binary strings, else None.
        labels: Labels of ENUM and SET.
        generated: ``virtual``, ``stored`` or None.
        expression: Expression of a generated column; None if unknown. It is ignored when columns are compared.
        zerofill: True if a number is shown with zeros in front, which become characters if it is changed to text. It is ignored when
            columns are compared.
        invisible: True if the column is INVISIBLE.
        default: The DEFAULT clause; None if unknown. It is ignored when columns are compared.
    """

    name: str
    type: str
    length: int | None = None
    scale: int | None = None
    unsigned: bool = False
    nullable: bool = True
    charset: str | None = None
    collation: str | None = None
    labels: tuple[str, ...] = ()
    generated: Literal["virtual", "stored"] | None = None
    invisible: bool = False
    default: Default | None = field(default=None, compare=False)
    expression: str | None = field(default=None, compare=False)
    zerofill: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class KeyPart:
    """One part of a key: a column, a column's prefix, or an expression (then ``column`` is None)."""

    column: str | None
    prefix: int | None = None
    expression: str | None = None


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a table; the primary key has the name ``PRIMARY``.

    Attributes:
        name: Name of the key.
        parts: Parts of the key in order.
        unique: True if the key is unique.
        kind: ``btree``, ``fulltext`` or ``spatial``.
        position: Index of the key in the server's own order. It is ignored when keys are compared.
    """

    name: str
    parts: tuple[KeyPart, ...]
    unique: bool = False
    kind: Literal["btree", "fulltext", "spatial"] = "btree"
    position: int = field(default=0, compare=False)

    @property
    def primary(self) -> bool:
        """True for the primary key."""
        return self.name == "PRIMARY"


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """A foreign key of a child table. Actions are ``refuse``, ``cascade`` or ``set null``."""

    name: str
    columns: tuple[str, ...]
    parent_database: str
    parent_table: str
    parent_columns: tuple[str, ...]
    on_delete: Literal["refuse", "cascade", "set null"] = "refuse"
    on_update: Literal["refuse", "cascade", "set null"] = "refuse"


@dataclass(frozen=True, slots=True)
class Table:
    """The definition of a table."""

    database: str
    name: str
    columns: tuple[Column, ...]
    keys: tuple[Key, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    engine: str | None = None
    charset: str | None = None
    collation: str | None = None
    options: dict[str, str] = field(default_factory=dict, hash=False)

    @property
    def full_name(self) -> str:
        """``database.table``."""
        return f"{self.database}.{self.name}"

    @property
    def primary_key(self) -> Key | None:
        """The primary key, or None."""
        return next((key for key in self.keys if key.primary), None)
