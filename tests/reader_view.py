"""A database as a reader sees it: definitions and values, to compare a target with its source.

Never by checksum: the same bytes may mean something else in another version (rule R36).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal, localcontext
from typing import Any

import psycopg
import pymysql

__all__ = ["differences", "family_contents", "postgres_differences"]

Cursor = pymysql.cursors.Cursor
Contents = dict[str, list[str]]

#: Type of MySQL's VECTOR, whose bytes PyMySQL would decode as ASCII.
VECTOR = 242
pymysql.connections.TEXT_TYPES.add(VECTOR)

#: Errors of tables that cannot be read: a MERGE of others that are gone or differ.
UNREADABLE = (1168,)

SERVER_DATABASES = ("mysql", "sys", "information_schema", "performance_schema", "paraply")


def family_contents(cursor: Cursor, databases: Iterable[str] | None = None) -> Contents:
    """Return definitions and rows of a MySQL or MariaDB, by object.

    Args:
        cursor: On a connection that may read all.
        databases: Databases to look at; by default all that are not the server's own.
    """
    cursor.execute("SET NAMES utf8mb4")
    cursor.execute("SET time_zone='+00:00'")
    contents: Contents = {}
    for database in databases if databases is not None else user_databases(cursor):
        contents[f"database {database}"] = [_text(row) for row in _rows(cursor, f"SHOW CREATE DATABASE {quoted(database)}")]
        _tables(cursor, database, contents)
        _routines(cursor, database, contents)
    return contents


def user_databases(cursor: Cursor) -> list[str]:
    """Return the databases that are not the server's own."""
    return [name for (name,) in _rows(cursor, "SHOW DATABASES") if name.lower() not in SERVER_DATABASES]


def quoted(name: str) -> str:
    """Return an identifier in backticks."""
    return "`" + name.replace("`", "``") + "`"


def differences(source: Contents, target: Contents) -> list[str]:
    """Return the differences between two servers of one family, a line each."""
    found = []
    for name in sorted({*source, *target}):
        of_source, of_target = source.get(name), target.get(name)
        if of_source == of_target:
            continue
        if of_source is None or of_target is None:
            found.append(f"{name}: only in the {'target' if of_source is None else 'source'}")
            continue
        only_source = [row for row in of_source if row not in of_target][:2]
        only_target = [row for row in of_target if row not in of_source][:2]
        found.append(f"{name}: {len(of_source)} and {len(of_target)} entries; source {only_source}, target {only_target}")
    return found


def _rows(cursor: Cursor, statement: str, *arguments: Any) -> list[tuple[Any, ...]]:
    cursor.execute(statement, arguments or None)
    return list(cursor.fetchall())


def _text(row: Sequence[Any]) -> str:
    return " | ".join("NULL" if value is None else value.hex() if isinstance(value, bytes) else str(value) for value in row)


def _with_collations(shown: str, defaults: Mapping[str, str]) -> str:
    """Return a shown table whose columns all name their collation: a server leaves the default one out where no statement named it.

    >>> _with_collations("`a` char(1) CHARACTER SET ucs2 DEFAULT NULL", {"ucs2": "ucs2_general_ci"})
    '`a` char(1) CHARACTER SET ucs2 COLLATE ucs2_general_ci DEFAULT NULL'
    """
    return re.sub(r"CHARACTER SET (\w+)(?! COLLATE|\w)", lambda found: f"{found[0]} COLLATE {defaults.get(found[1], '')}", shown)


def _tables(cursor: Cursor, database: str, contents: Contents) -> None:
    defaults = dict(_rows(cursor, "SELECT character_set_name, default_collate_name FROM information_schema.character_sets"))
    for name, kind in _rows(cursor, f"SHOW FULL TABLES FROM {quoted(database)}"):
        place = f"{quoted(database)}.{quoted(name)}"
        label = f"{kind.lower()} {database}.{name}"
        try:
            shown = _rows(cursor, f"SHOW CREATE {'VIEW' if kind == 'VIEW' else 'TABLE'} {place}")
        except pymysql.err.MySQLError as error:  # a view whose table is gone
            contents[label] = [str(error.args[0])]
            continue
        texts = [re.sub(r"(?<=\) )(.*?)\bAUTO_INCREMENT=\d+ ?", r"\1", _text(row[1:])) for row in shown]
        contents[label] = [text if kind == "VIEW" else _with_collations(text, defaults) for text in texts]
        if kind in ("BASE TABLE", "SYSTEM VERSIONED"):
            contents[f"rows of {database}.{name}"] = table_rows(cursor, place)
        if kind == "SYSTEM VERSIONED":
            contents[f"row versions of {database}.{name}"] = table_rows(cursor, place + " FOR SYSTEM_TIME ALL")
    for row in _rows(cursor, f"SHOW TRIGGERS FROM {quoted(database)}"):
        created = _rows(cursor, f"SHOW CREATE TRIGGER {quoted(database)}.{quoted(row[0])}")
        contents[f"trigger {database}.{row[0]}"] = [_text(each[1:6]) for each in created]


def table_rows(cursor: Cursor, place: str) -> list[str]:
    """Return all rows of a table as text, sorted."""
    return sorted(_text(row) for row in _shown_rows(cursor, f"SELECT * FROM {place}"))


def _shown_rows(cursor: Cursor, query: str) -> list[tuple[Any, ...]]:
    """Return the rows of a table; none where nobody can read it, such as a MERGE of tables that are not there."""
    try:
        return _rows(cursor, query)
    except pymysql.err.MySQLError as error:
        if error.args[0] not in UNREADABLE:
            raise
        return []


def _routines(cursor: Cursor, database: str, contents: Contents) -> None:
    routines = (
        "SELECT routine_type, routine_name FROM information_schema.routines"
        " WHERE routine_schema=%s AND routine_type IN ('PROCEDURE', 'FUNCTION')"
    )
    events = "SELECT 'EVENT', event_name FROM information_schema.events WHERE event_schema=%s"
    for kind, name in [*_rows(cursor, routines, database), *_rows(cursor, events, database)]:
        shown = _rows(cursor, f"SHOW CREATE {kind} {quoted(database)}.{quoted(name)}")
        contents[f"{kind.lower()} {database}.{name}"] = [_text(row[1:]) for row in shown]


def postgres_differences(cursor: Cursor, url: str, databases: Iterable[str] | None = None) -> list[str]:
    """Return the differences between the tables of a MySQL or MariaDB and of a PostgreSQL that follows it, a line each.

    Args:
        cursor: On a connection to the source.
        url: The target.
        databases: Databases to look at; by default all that are not the server's own.
    """
    cursor.execute("SET NAMES utf8mb4")
    cursor.execute("SET time_zone='+00:00'")
    found = []
    with psycopg.connect(url, autocommit=True) as target:
        target.execute("SET timezone='UTC'")
        for database in databases if databases is not None else user_databases(cursor):
            there = {
                name
                for (name,) in target.execute(
                    "SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid=relnamespace WHERE nspname=%s AND relkind='r'", (database,)
                )
            }
            here = {name for name, kind in _rows(cursor, f"SHOW FULL TABLES FROM {quoted(database)}") if kind == "BASE TABLE"}
            found += [f"table {database}.{name}: only in the source" for name in sorted(here - there)]
            found += [f"table {database}.{name}: only in the target" for name in sorted(there - here)]
            for name in sorted(here & there):
                found += _postgres_table(cursor, target, database, name)
    return found


_COLUMNS = (
    "SELECT column_name, data_type, column_type FROM information_schema.columns"
    " WHERE table_schema=%s AND table_name=%s ORDER BY ordinal_position"
)
_POSTGRES_COLUMNS = b"SELECT attname FROM pg_attribute WHERE attrelid=%s::regclass AND attnum > 0 AND NOT attisdropped"


def _postgres_table(cursor: Cursor, target: psycopg.Connection[Any], database: str, name: str) -> list[str]:
    columns = _rows(cursor, _COLUMNS, database, name)
    names = [column for column, _, _ in columns]
    place = f"{_postgres_quoted(database)}.{_postgres_quoted(name)}"
    of_target = {row[0] for row in target.execute(_POSTGRES_COLUMNS, (place,))}
    if of_target != set(names):
        return [f"columns of {database}.{name}: source {names}, target {sorted(of_target)}"]
    forms = [_form(kind.lower(), full.lower()) for _, kind, full in columns]
    readers = [form[2] for form in forms]
    of_source = ", ".join(form[0].format(quoted(column)) for form, column in zip(forms, names, strict=True))
    others = ", ".join(form[1].format(_postgres_quoted(column)) for form, column in zip(forms, names, strict=True))
    source_rows = _read(_shown_rows(cursor, f"SELECT {of_source} FROM {quoted(database)}.{quoted(name)}"), readers)
    target_rows = _read(target.execute(f"SELECT {others} FROM {place}".encode()).fetchall(), readers)
    if source_rows == target_rows:
        return []
    only_source = [row for row in source_rows if row not in target_rows][:2]
    only_target = [row for row in target_rows if row not in source_rows][:2]
    return [f"rows of {database}.{name}: {len(source_rows)} and {len(target_rows)}; source {only_source}, target {only_target}"]


def _postgres_quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _read(rows: Iterable[Sequence[Any]], readers: Sequence[Callable[[Any], Any]]) -> list[tuple[Any, ...]]:
    read = [tuple(None if value is None else reader(value) for value, reader in zip(row, readers, strict=True)) for row in rows]
    return sorted(read, key=repr)


def _as_is(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _json(value: Any) -> Any:
    """Return a JSON value; numbers as exact decimals, because jsonb shows 1.8e19 as an integer."""
    if not isinstance(value, str | bytes):
        return value
    return json.loads(value, parse_float=_exact, parse_int=_exact)


def _exact(digits: str) -> str:
    """Return a number in one spelling, whatever its own."""
    with localcontext(prec=100):
        return f"number {Decimal(digits).normalize()}"


def _number(value: Any) -> float | str:
    number = float(value)
    return number if math.isfinite(number) else str(number)


def _microseconds(value: Any) -> int:
    """Return a TIME as microseconds: the source's text, or the target's seconds."""
    if not isinstance(value, str | bytes):
        return round(value * 1_000_000)
    text = _as_is(value)
    hours, minutes, seconds = text.lstrip("-").split(":")
    whole, _, fraction = seconds.partition(".")
    number = ((int(hours) * 60 + int(minutes)) * 60 + int(whole)) * 1_000_000 + int(f"{fraction:0<6}")
    return -number if text.startswith("-") else number


_TEXT = ("char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set")
_BINARY = ("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob")
_MOMENT = "YYYY-MM-DD HH24:MI:SS.US"


def _form(kind: str, full: str) -> tuple[str, str, Callable[[Any], Any]]:
    """Return the expressions of a column on the source and in PostgreSQL, and the function that makes the value comparable."""
    if kind in _TEXT:
        return "CONVERT({} USING utf8mb4)", "{}::text", _as_is
    if kind in _BINARY:
        return "HEX({})", "upper(encode({}, 'hex'))", _as_is
    if kind in ("float", "double"):
        return "({} + 0e0)", "{}::float8", _number
    if "zerofill" in full:  # zeros in front are the source's way to show a number
        return "CAST({} + 0 AS CHAR)", "{}::text", _as_is
    if kind == "bit":
        digits = re.search(r"\((\d+)\)", full)
        return f"LPAD(BIN({{}}+0), {digits[1] if digits else 1}, '0')", "{}::text", _as_is
    if kind in ("datetime", "timestamp"):
        moment = "{}" if kind == "datetime" else "({} AT TIME ZONE 'UTC')"
        return "DATE_FORMAT({}, '%Y-%m-%d %H:%i:%s.%f')", f"to_char({moment}, '{_MOMENT}')", _as_is
    if kind == "time":
        return "CAST({} AS CHAR)", "extract(epoch from {})", _microseconds
    if kind == "json":
        return "{}", "{}::text", _json
    if kind == "year":
        return "({} + 0)", "{}", int
    if kind in ("inet4", "inet6"):
        return "CAST({} AS CHAR)", "host({})", _as_is
    if kind in ("geometry", "vector", "point", "polygon", "linestring"):
        return "HEX({})", "upper(encode({}, 'hex'))", _as_is
    return "CAST({} AS CHAR)", "{}::text", _as_is
