"""Table definitions from the information_schema of a running server."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from paraply.schema.collations import canonical_charset, canonical_collation
from paraply.schema.ddl.cursor import Cursor
from paraply.schema.ddl.rules import Rules
from paraply.schema.model import SYSTEM_DATABASES, Column, Default, ForeignKey, Key, KeyPart, Table
from paraply.schema.periods import with_period_parts
from paraply.schema.readers.build import in_order
from paraply.schema.types import BINARY, read_type

__all__ = ["Query", "by_last_column", "read_databases", "read_tables"]

Query = Callable[[str], Sequence[tuple[Any, ...]]]
ACTIONS: dict[str, Literal["refuse", "cascade", "set null"]] = {"CASCADE": "cascade", "SET NULL": "set null"}
APPLICABILITY = "COLLATION_CHARACTER_SET_APPLICABILITY"
Place = tuple[str, str]


def read_databases(query: Query) -> dict[str, str]:
    """Return the default collation of every database."""
    return {
        _text(name): canonical_collation(_text(collation))
        for name, collation in query("SELECT SCHEMA_NAME, DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA")
    }


def read_tables(query: Query, databases: Sequence[str] | None = None) -> list[Table]:
    """Return the base tables of these databases (None for all but the system's), in the same form as the DDL parser.

    Args:
        query: Runs a statement and returns its rows; values may be text, bytes or numbers.
        databases: Names of the databases.
    """
    mariadb = "mariadb" in _text(query("SELECT VERSION()")[0][0]).lower()
    where = _where(databases)
    columns = _columns(query, where, mariadb)
    keys = _keys(query, where, mariadb)
    foreign_keys = _foreign_keys(query, databases)
    charset_of = _charsets(query, mariadb)
    if mariadb:
        keys |= {place: with_period_parts(query, place, listed, columns.get(place, [])) for place, listed in keys.items()}
    rows = query(
        "SELECT TABLE_SCHEMA, TABLE_NAME, ENGINE, TABLE_COLLATION FROM information_schema.TABLES "
        f"WHERE TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED') AND {where}"
    )
    tables = []
    for row in rows:
        place = (_text(row[0]), _text(row[1]))
        if place not in columns:  # the user lacks the privilege to see the columns
            continue
        collation = canonical_collation(_text(row[3])) if row[3] is not None else None
        tables.append(
            Table(
                *place,
                tuple(columns[place]),
                in_order(_with_whole_parts(key, columns[place]) for key in keys[place]),
                tuple(sorted(foreign_keys[place], key=lambda key: key.name.lower())),
                None if row[2] is None else _text(row[2]),
                charset_of.get(collation or ""),
                collation,
            )
        )
    return tables


def by_last_column(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return the rows sorted by the number in their last column, without that column; a replacement for ORDER BY.

    If a KILL QUERY hits MariaDB 10.11 while it sorts rows of information_schema, the server returns no rows and no error.

    >>> by_last_column([("b", "2"), ("a", "10"), ("c", "1")])
    [('c',), ('b',), ('a',)]
    """
    return [row[:-1] for row in sorted(rows, key=lambda row: int(row[-1]))]


def _text(value: Any) -> str:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)


def _value(value: Any) -> Any:
    return _text(value) if isinstance(value, bytes) else value


def _literal(name: str) -> str:
    """Return a string literal with the same meaning in every sql_mode."""
    return "x'" + name.encode("utf-8").hex() + "'"


def _where(databases: Sequence[str] | None, column: str = "TABLE_SCHEMA") -> str:
    if databases is None:  # compare bytes, because a user's database may have the name Sys
        return f"CAST({column} AS BINARY) NOT IN ({', '.join(_literal(name) for name in SYSTEM_DATABASES)})"
    # The comparison uses the collation of the column. CONVERT would have a collation of its own, for which many names are equal.
    listed = ", ".join(f"_utf8mb4 {_literal(name)}" for name in databases) or "''"
    return f"{column} IN ({listed})"


def _charsets(query: Query, mariadb: bool) -> dict[str, str]:
    name = "FULL_COLLATION_NAME" if mariadb and _has_column(query, APPLICABILITY, "FULL_COLLATION_NAME") else "COLLATION_NAME"
    rows = query(f"SELECT {name}, CHARACTER_SET_NAME FROM information_schema.COLLATION_CHARACTER_SET_APPLICABILITY")
    return {canonical_collation(_text(a)): canonical_charset(_text(b)) for a, b in rows if b is not None} | {"binary": "binary"}


def _has_column(query: Query, table: str, name: str) -> bool:
    condition = f"TABLE_SCHEMA='information_schema' AND TABLE_NAME='{table}'"
    return bool(query(f"SELECT 1 FROM information_schema.COLUMNS WHERE {condition} AND COLUMN_NAME='{name}'"))


def _columns(query: Query, where: str, mariadb: bool) -> dict[Place, list[Column]]:
    expression = "GENERATION_EXPRESSION" if mariadb and _has_column(query, "COLUMNS", "GENERATION_EXPRESSION") else "NULL"
    rows = query(
        "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, CHARACTER_SET_NAME, COLLATION_NAME, EXTRA, "
        f"{expression}, ORDINAL_POSITION FROM information_schema.COLUMNS WHERE {where}"
    )
    found: dict[Place, list[Column]] = defaultdict(list)
    for database, table, *column in by_last_column(rows):
        found[_text(database), _text(table)].append(_column([_value(value) for value in column], mariadb))
    return found


def _column(row: list[Any], mariadb: bool) -> Column:
    name, declared, nullable, charset, collation, extra, expression = row
    spec = read_type(Cursor(declared.split(" /*", 1)[0], Rules(mariadb=mariadb)))
    binary = spec.type in BINARY or (bool(spec.labels) and charset is None)
    has_charset = charset is not None and spec.type != "json"
    extra = (extra or "").upper()
    return Column(
        name,
        spec.type,
        length=spec.length,
        scale=spec.scale,
        unsigned=spec.unsigned,
        zerofill=spec.zerofill,
        nullable=nullable == "YES",
        charset="binary" if binary else canonical_charset(charset) if has_charset else None,
        collation="binary" if binary else canonical_collation(collation) if has_charset else None,
        labels=spec.text_labels,
        generated="virtual" if "VIRTUAL GENERATED" in extra else "stored" if "STORED GENERATED" in extra else None,
        invisible="INVISIBLE" in extra,
        default=Default("automatic") if "AUTO_INCREMENT" in extra else None,
        expression=expression,
    )


def _keys(query: Query, where: str, mariadb: bool) -> dict[Place, list[Key]]:
    expression = "NULL" if mariadb or not _has_expressions(query) else "EXPRESSION"
    rows = query(
        f"SELECT TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, NON_UNIQUE, INDEX_TYPE, COLUMN_NAME, SUB_PART, {expression}, "
        f"SEQ_IN_INDEX FROM information_schema.STATISTICS WHERE {where}"
    )
    parts: dict[tuple[str, str, str, bool, str], list[KeyPart]] = defaultdict(list)
    for row in by_last_column(rows):
        database, table, name, non_unique, kind, column, prefix, text = (_value(value) for value in row)
        part = KeyPart(column, None if prefix is None else int(prefix), None if column is not None else str(text))
        parts[database, table, name, not int(non_unique), kind].append(part)
    found: dict[Place, list[Key]] = defaultdict(list)
    for (database, table, name, unique, kind), listed in parts.items():
        found[database, table].append(Key(name, tuple(listed), unique, _kind(kind)))
    return found


def _kind(name: str) -> Literal["btree", "fulltext", "spatial"]:
    return "fulltext" if name == "FULLTEXT" else "spatial" if name in ("SPATIAL", "RTREE") else "btree"


def _has_expressions(query: Query) -> bool:
    condition = "TABLE_SCHEMA='information_schema' AND TABLE_NAME='STATISTICS' AND COLUMN_NAME='EXPRESSION'"
    return bool(query(f"SELECT 1 FROM information_schema.COLUMNS WHERE {condition}"))


def _with_whole_parts(key: Key, columns: list[Column]) -> Key:
    """Remove prefixes that cover a whole column, and the prefixes that the server shows for spatial keys."""
    lengths = {column.name: column.length for column in columns}

    def part(old: KeyPart) -> KeyPart:
        length = lengths.get(old.column or "")
        whole = key.kind != "btree" or old.prefix is None or (length is not None and old.prefix >= length)
        return KeyPart(old.column, None if whole else old.prefix, old.expression)

    return Key(key.name, tuple(part(old) for old in key.parts), key.unique, key.kind)


def _foreign_keys(query: Query, databases: Sequence[str] | None) -> dict[Place, list[ForeignKey]]:
    rules = {
        tuple(_text(value) for value in row[:3]): (_text(row[3]), _text(row[4]))
        for row in query(
            "SELECT CONSTRAINT_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, DELETE_RULE, UPDATE_RULE "
            f"FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE {_where(databases, 'CONSTRAINT_SCHEMA')}"
        )
    }
    rows = query(
        "SELECT TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, COLUMN_NAME, REFERENCED_TABLE_SCHEMA, REFERENCED_TABLE_NAME, "
        f"REFERENCED_COLUMN_NAME, ORDINAL_POSITION FROM information_schema.KEY_COLUMN_USAGE "
        f"WHERE REFERENCED_TABLE_NAME IS NOT NULL AND {_where(databases)}"
    )
    parts: dict[tuple[str, ...], list[tuple[str, str]]] = defaultdict(list)
    for row in by_last_column(rows):
        database, table, name, column, parent_database, parent, parent_column = (_text(value) for value in row)
        parts[database, table, name, parent_database, parent].append((column, parent_column))
    found: dict[Place, list[ForeignKey]] = defaultdict(list)
    for (database, table, name, parent_database, parent), pairs in parts.items():
        on_delete, on_update = rules.get((database, table, name), ("", ""))
        columns, parents = tuple(a for a, _ in pairs), tuple(b for _, b in pairs)
        actions = ACTIONS.get(on_delete, "refuse"), ACTIONS.get(on_update, "refuse")
        found[database, table].append(ForeignKey(name, columns, parent_database, parent, parents, *actions))
    return found
