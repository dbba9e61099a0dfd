"""Columns, keys and foreign keys in CREATE TABLE and ALTER TABLE."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from paraply.schema.collations import canonical_collation
from paraply.schema.ddl.literals import read_bytes, read_literal, read_now
from paraply.schema.model import Default, KeyPart
from paraply.schema.types import TypeSpec, accept_compressed, read_type

if TYPE_CHECKING:
    from paraply.schema.ddl.cursor import Cursor

__all__ = ["ColumnSpec", "ForeignSpec", "KeySpec", "at_constraint", "read_column", "read_constraint", "read_parts"]

Action = Literal["refuse", "cascade", "set null"]
Kind = Literal["btree", "fulltext", "spatial"]
VALUED_KEY_OPTIONS = ("KEY_BLOCK_SIZE", "COMMENT", "ENGINE_ATTRIBUTE", "SECONDARY_ENGINE_ATTRIBUTE", "CLUSTERING")
PLAIN_KEY_OPTIONS = ("VISIBLE", "INVISIBLE", "IGNORED")
VALUED_ATTRIBUTES = ("COMMENT", "COLUMN_FORMAT", "STORAGE", "ENGINE_ATTRIBUTE", "SECONDARY_ENGINE_ATTRIBUTE", "SRID", "REF_SYSTEM_ID")


@dataclass(frozen=True, slots=True)
class ForeignSpec:
    """A foreign key as written; ``name`` is the name of the constraint, ``index_name`` the name after FOREIGN KEY."""

    columns: tuple[str, ...]
    parent_database: str | None
    parent_table: str
    parent_columns: tuple[str, ...]
    on_delete: Action = "refuse"
    on_update: Action = "refuse"
    name: str | None = None
    index_name: str | None = None
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class KeySpec:
    """A key as written; ``generated`` is True if the server adds it for a foreign key."""

    name: str | None
    parts: tuple[KeyPart, ...]
    unique: bool = False
    primary: bool = False
    kind: Kind = "btree"
    generated: bool = False
    if_not_exists: bool = False


NO_DEFAULT = Default()


@dataclass(frozen=True, slots=True)
class ColumnSpec:
    """A column as written; ``nullable`` is None without NULL or NOT NULL."""

    name: str
    type: TypeSpec
    nullable: bool | None = None
    primary: bool = False
    unique: bool = False
    automatic: bool = False
    generated: Literal["virtual", "stored"] | None = None
    invisible: bool = False
    references: ForeignSpec | None = None
    default: Default = NO_DEFAULT
    expression: str | None = None


def read_column(cursor: Cursor, name: str | None = None) -> ColumnSpec:
    """Read ``name type attributes``, up to a comma, a closing parenthesis, FIRST, AFTER or the end."""
    name = cursor.column_name() if name is None else name
    spec = ColumnSpec(name, read_type(cursor))
    if spec.type.serial:
        spec = replace(spec, nullable=False, automatic=True, unique=True)
    while not (cursor.done or cursor.at(",") or cursor.at(")") or cursor.at("FIRST") or cursor.at("AFTER")):
        spec = _attribute(cursor, spec)
    return spec


def _attribute(cursor: Cursor, spec: ColumnSpec) -> ColumnSpec:
    """Read one attribute; fail for an unknown one (R13)."""
    if cursor.accept("NOT", "NULL"):
        return replace(spec, nullable=False)
    if cursor.accept("NULL"):
        return replace(spec, nullable=True)
    if cursor.accept("AUTO_INCREMENT"):
        return replace(spec, automatic=True, default=Default("automatic"))
    if cursor.accept("DEFAULT"):
        return replace(spec, default=_default(cursor))
    if cursor.accept("SERIAL", "DEFAULT", "VALUE"):
        return replace(spec, automatic=True, nullable=False, unique=True)
    if cursor.accept("UNIQUE"):
        cursor.accept("KEY")
        return replace(spec, unique=True)
    if cursor.accept("PRIMARY"):
        cursor.accept("KEY")
        return replace(spec, primary=True)
    if cursor.accept("KEY"):
        return replace(spec, primary=True)
    if cursor.accept("VISIBLE"):
        return spec
    if cursor.accept("INVISIBLE"):
        return replace(spec, invisible=True)
    if cursor.accept("GENERATED", "ALWAYS", "AS") or cursor.accept("AS"):
        spec = replace(spec, expression=cursor.parenthesised())
        return replace(spec, generated="stored" if cursor.accept_any(("STORED", "PERSISTENT")) else _virtual(cursor))
    if cursor.at("REFERENCES"):
        return replace(spec, references=read_references(cursor, (spec.name,)))
    if cursor.accept("COLLATE"):
        collation = cursor.string() if cursor.token.kind == "string" else cursor.name()
        return replace(spec, type=replace(spec.type, collation=canonical_collation(collation)))
    _skip_attribute(cursor)
    return spec


def _virtual(cursor: Cursor) -> Literal["virtual"]:
    cursor.accept("VIRTUAL")
    return "virtual"


def _skip_attribute(cursor: Cursor) -> None:
    """Skip an attribute that does not affect keys."""
    if cursor.accept("ON", "UPDATE"):
        _skip_default(cursor)
    elif cursor.accept_any(VALUED_ATTRIBUTES):
        cursor.accept("=")
        cursor.next()
    elif cursor.at("CONSTRAINT") or cursor.at("CHECK"):
        if cursor.accept("CONSTRAINT") and not cursor.at("CHECK"):
            cursor.name()
        cursor.expect("CHECK")
        cursor.parenthesised()
        cursor.accept("NOT", "ENFORCED") or cursor.accept("ENFORCED")
    elif not (accept_compressed(cursor) or cursor.accept("NOT", "SECONDARY") or cursor.accept("WITHOUT", "SYSTEM", "VERSIONING")):
        cursor.fail("a column attribute")


def _default(cursor: Cursor) -> Default:
    """Read a default; only a literal has a known value, and CURRENT_TIMESTAMP one that the statement's time tells."""
    found = read_literal(cursor) or read_now(cursor)
    if found is None:
        _skip_default(cursor)
    return found or Default("expression")


def _skip_default(cursor: Cursor) -> None:
    """Skip a default: a literal, an expression in parentheses, a function call or NEXT VALUE FOR."""
    if cursor.at("("):
        cursor.parenthesised()
        return
    if cursor.accept("NEXT", "VALUE", "FOR"):
        cursor.table_name()
        return
    cursor.accept("-") or cursor.accept("+")
    first = cursor.next()
    if first.kind == "word" and first.text.startswith("_") and (read_bytes(cursor) or cursor.token.kind == "string"):
        pass
    elif first.kind in ("word", "name"):
        while cursor.accept("."):
            cursor.name()
        if cursor.at("("):
            cursor.parenthesised()
    while cursor.token.kind == "string":
        cursor.next()


def read_parts(cursor: Cursor) -> tuple[KeyPart, ...]:
    """Read the parts of a key in parentheses: columns, prefixes and expressions."""
    return tuple(cursor.items(lambda: _part(cursor)))


def _part(cursor: Cursor) -> KeyPart:
    if cursor.at("("):
        part = KeyPart(None, expression=cursor.parenthesised())
    else:
        name = cursor.column_name()
        prefix = cursor.items(cursor.number)[0] if cursor.at("(") else None
        part = KeyPart(name, prefix or None)
    cursor.accept_any(("ASC", "DESC"))
    return part


def read_references(cursor: Cursor, columns: tuple[str, ...]) -> ForeignSpec:
    """Read ``REFERENCES table (columns) MATCH ... ON DELETE ... ON UPDATE ...``."""
    cursor.expect("REFERENCES")
    database, table = cursor.parent_name()
    parents = tuple(cursor.items(cursor.column_name)) if cursor.at("(") else ()
    spec = ForeignSpec(columns, database, table, parents)
    if cursor.accept("MATCH"):
        cursor.name()
    while cursor.at("ON", "DELETE") or cursor.at("ON", "UPDATE"):
        cursor.next()
        spec = replace(spec, on_delete=_action(cursor)) if cursor.next().upper == "DELETE" else replace(spec, on_update=_action(cursor))
    return spec


def _action(cursor: Cursor) -> Action:
    if cursor.accept("CASCADE"):
        return "cascade"
    if cursor.accept("SET", "NULL"):
        return "set null"
    if not (cursor.accept("RESTRICT") or cursor.accept("NO", "ACTION") or cursor.accept("SET", "DEFAULT")):
        cursor.fail("RESTRICT, CASCADE, SET NULL or NO ACTION")
    return "refuse"


def at_constraint(cursor: Cursor) -> bool:
    """Return True if a key, foreign key or check comes next, and not a column."""
    return cursor.token.upper in ("CONSTRAINT", "PRIMARY", "UNIQUE", "KEY", "INDEX", "FULLTEXT", "SPATIAL", "FOREIGN", "CHECK") or (
        cursor.at("VECTOR", "INDEX") or cursor.at("VECTOR", "KEY") or cursor.at("PERIOD", "FOR")
    )


def read_constraint(cursor: Cursor) -> KeySpec | ForeignSpec | None:
    """Read a key, a foreign key or a check; return None for a check."""
    symbol = None
    if cursor.accept("CONSTRAINT"):
        cursor.accept("IF", "NOT", "EXISTS")
        if cursor.token.upper not in ("PRIMARY", "UNIQUE", "FOREIGN", "CHECK"):
            symbol = cursor.name()
    if cursor.accept("CHECK"):
        cursor.parenthesised()
        cursor.accept("NOT", "ENFORCED") or cursor.accept("ENFORCED")
        return None
    if cursor.accept("FOREIGN", "KEY"):
        return _foreign_key(cursor, symbol)
    if cursor.accept("PRIMARY", "KEY"):
        return replace(_key(cursor, None), name="PRIMARY", primary=True, unique=True)
    if cursor.accept("UNIQUE"):
        cursor.accept_any(("KEY", "INDEX"))
        return replace(_key(cursor, symbol), unique=True)
    kind: Kind = "fulltext" if cursor.accept("FULLTEXT") else "spatial" if cursor.accept("SPATIAL") else "btree"
    vector = cursor.accept("VECTOR")
    if cursor.accept_any(("KEY", "INDEX")) is None and kind == "btree" and not vector:
        cursor.fail("a key")
    return replace(_key(cursor, None), kind=kind)


def _foreign_key(cursor: Cursor, symbol: str | None) -> ForeignSpec:
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    index_name = None if cursor.at("(") else cursor.name()
    columns = tuple(cursor.items(cursor.column_name))
    return replace(read_references(cursor, columns), name=symbol, index_name=index_name, if_not_exists=if_not_exists)


def _key(cursor: Cursor, symbol: str | None) -> KeySpec:
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = symbol
    if not (cursor.at("(") or cursor.at("USING")):  # USING is reserved, TYPE is not: before the name it is the name
        name = cursor.name()
    if cursor.accept("USING") or cursor.accept("TYPE"):
        cursor.name()
    parts = read_parts(cursor)
    read_key_options(cursor)
    return KeySpec(name, parts, if_not_exists=if_not_exists)


def read_key_options(cursor: Cursor) -> None:
    """Skip the options after a key's parts, which do not affect which values are equal."""
    while True:
        if cursor.accept_any(("USING", "TYPE")) or cursor.accept("WITH", "PARSER"):
            cursor.name()
        elif cursor.accept_any(VALUED_KEY_OPTIONS):
            cursor.accept("=")
            cursor.next()
        elif cursor.rules.mariadb and cursor.at_name and cursor.ahead(1).text == "=":
            cursor.next()
            cursor.expect("=")
            cursor.next()
        elif not (cursor.accept_any(PLAIN_KEY_OPTIONS) or cursor.accept("NOT", "IGNORED")):
            return
