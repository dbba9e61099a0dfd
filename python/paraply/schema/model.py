"""Tables as a log's DDL or a server's information_schema describes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

__all__ = ["SYSTEM_DATABASES", "Column", "Default", "ForeignKey", "Key", "KeyPart", "Table"]


SYSTEM_DATABASES = ("information_schema", "mysql", "performance_schema", "sys")
"""The databases that a server keeps for itself."""


@dataclass(frozen=True, slots=True)
class Default:
    """What a column's definition says about its default.

    Attributes:
        kind: ``none`` without a DEFAULT clause, ``literal``, ``automatic`` for AUTO_INCREMENT, or ``expression`` for everything else that
            must be computed (CURRENT_TIMESTAMP, ``(uuid())``).
        text: A literal's value as text, unquoted; None for DEFAULT NULL.
        form: What the literal is: a ``string``, a ``number`` as written, a ``temporal`` literal (``DATE'...'``), ``bytes`` or ``bits`` in
            hexadecimal (``bits`` are a number where a number is asked for), or ``utc``: a TIMESTAMP's value, in UTC.
        introduced: Whether it is bytes behind the name of a character set (``_latin1 x'E9'``, or text that is not ASCII).
    """

    kind: Literal["none", "literal", "automatic", "expression"] = "none"
    text: str | None = None
    form: Literal["string", "number", "temporal", "bytes", "bits", "utc"] = "string"
    introduced: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """One column, in the order of the row image.

    Attributes:
        name: As declared.
        type: The type's keyword in lower case, without length or sign: ``bigint``, ``varchar``, ``enum``.
            Synonyms are resolved: ``integer`` is ``int``, ``bool`` is ``tinyint``, ``numeric`` is ``decimal``.
        length: Declared length: characters of CHAR and VARCHAR, bytes of BINARY and VARBINARY, bits of BIT, digits of DECIMAL.
        scale: Digits behind the point of DECIMAL, or of the seconds of TIME, DATETIME and TIMESTAMP.
        unsigned: Whether a number is UNSIGNED.
        nullable: Whether NULL may be stored.
        charset: Character set of a character type, ``binary`` for binary strings, else None.
        collation: Full name of the collation of a character type, ``binary`` for binary strings, else None.
        labels: Labels of ENUM and SET.
        generated: ``virtual``, ``stored`` or None.
        expression: A generated column's expression; None where it is not known. It does not count when columns are compared.
        invisible: Whether the column is INVISIBLE.
        default: The DEFAULT clause; None where it is not known. It does not count when columns are compared.
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


@dataclass(frozen=True, slots=True)
class KeyPart:
    """One part of a key: a column, a column's prefix, or an expression (then ``column`` is None)."""

    column: str | None
    prefix: int | None = None
    expression: str | None = None


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a table; ``PRIMARY`` is the primary key's name.

    Attributes:
        name: The key's name.
        parts: Its parts in order.
        unique: Whether it is unique.
        kind: ``btree``, ``fulltext`` or ``spatial``.
        position: Its place among the table's keys as the server keeps them. It does not count when keys are compared.
    """

    name: str
    parts: tuple[KeyPart, ...]
    unique: bool = False
    kind: Literal["btree", "fulltext", "spatial"] = "btree"
    position: int = field(default=0, compare=False)

    @property
    def primary(self) -> bool:
        """Whether this is the primary key."""
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
    """One table's definition."""

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
        """The primary key, if the table has one."""
        return next((key for key in self.keys if key.primary), None)
