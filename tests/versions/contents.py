"""Content of a feature's databases and users as a reader sees it, in a form that is comparable between versions of a server.

A version that spells the same definition in another way is no difference: ``SPELLINGS`` lists these, each seen on the servers named.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pymysql
from reader_view import family_contents, quoted
from versions.scripts import Feature
from versions.servers import MySqlFamily

__all__ = ["SPELLINGS", "Spelling", "contents_of", "databases_of", "spelled"]

Contents = dict[str, list[str]]


def _plain_default(match: re.Match[str]) -> str:
    """Return a binary default, which later versions of MariaDB show in hexadecimal, as earlier ones show it."""
    return "DEFAULT '" + bytes.fromhex(match[1]).decode("latin-1").replace("\\", "\\\\").replace("'", "''").replace("\n", "\\n") + "'"


@dataclass(frozen=True)
class Spelling:
    """Two spellings of one thing.

    Args:
        about: What they are, for documentation.
        pattern: What is found in definitions and rows.
        instead: What it is compared as.
    """

    about: str
    pattern: re.Pattern[str]
    instead: str | Callable[[re.Match[str]], str]


#: Differences of the text only, and parts that a later version understands where an earlier one passed them over.
SPELLINGS = (
    Spelling("`utf8` of MariaDB before 10.6, which later versions call `utf8mb3`", re.compile(r"\butf8(?=_|\b)"), "utf8mb3"),
    Spelling("binary defaults, which later versions of MariaDB show in hexadecimal",
             re.compile(r"DEFAULT x'((?:[0-9a-f]{2})*)'"), _plain_default),
    Spelling("version comments, `/*!` or `/*M!` by the version of MariaDB", re.compile(r"/\*M!"), "/*!"),
    Spelling("the place of `INVISIBLE` before and behind a default", re.compile(r" INVISIBLE( DEFAULT [^,\n]+)"), r"\1 INVISIBLE"),
    Spelling("`DESC` in keys, which MariaDB before 10.8 passes over", re.compile(r"(?<=`) DESC(?=[,)])"), ""),
    Spelling("rights that only later versions count among `GRANT ALL`", re.compile(r", SHOW CREATE ROUTINE\b"), ""),
    Spelling("temporal columns in the form from before MariaDB 10.1.2, which a server with other settings makes in the newer form",
             re.compile(r" /\* mariadb-5\.3 \*/"), ""),
    Spelling("the end of a current row version, which is as late as a version of MariaDB can say",
             re.compile(r"(2038-01-19 03:14:07|2106-02-07 06:28:15)\.999999"), "the end of time"),
)  # fmt: skip


def contents_of(server: MySqlFamily, feature: Feature) -> Contents:
    """Return definitions and rows of a feature's databases, and its users."""
    with server.connect() as connection, connection.cursor() as cursor:
        databases = databases_of(cursor, feature)
        contents = family_contents(cursor, databases)
        _more_of_tables(cursor, databases, contents)
        _users(cursor, feature, server.mariadb, contents)
    return {name: [spelled(line) for line in lines] for name, lines in contents.items()}


def databases_of(cursor: pymysql.cursors.Cursor, feature: Feature) -> list[str]:
    """Return the feature's own databases that are there."""
    cursor.execute("SHOW DATABASES")
    return sorted(name for (name,) in cursor.fetchall() if name == feature.database or name.startswith(f"{feature.database}__"))


def spelled(text: str) -> str:
    """Return a definition or row with what only its version spells so in one spelling."""
    for spelling in SPELLINGS:
        text = spelling.pattern.sub(spelling.instead, text)
    return text


_COLUMNS = (
    "SELECT table_schema, table_name, column_name, data_type, collation_name, extra, column_type FROM information_schema.columns"
    " WHERE table_schema=%s ORDER BY table_name, ordinal_position"
)


def _more_of_tables(cursor: pymysql.cursors.Cursor, databases: list[str], contents: Contents) -> None:
    """Add what ``SELECT *`` and ``SHOW CREATE TABLE`` do not tell: hidden columns, digits of floats, bytes of text, collations."""
    for database in databases:
        cursor.execute(_COLUMNS, (database,))
        tables: dict[str, list[tuple[Any, ...]]] = {}
        for row in cursor.fetchall():
            tables.setdefault(row[1], []).append(row)
        for table, columns in tables.items():
            contents[f"collations of {database}.{table}"] = [f"{row[2]} {row[4]}" for row in columns if row[4]]
            place = f"{quoted(database)}.{quoted(table)}"
            if f"sequence {database}.{table}" in contents:
                cursor.execute(f"SELECT * FROM {place}")
                contents[f"values of {database}.{table}"] = [str(row) for row in cursor.fetchall()]
            elif f"rows of {database}.{table}" in contents:
                _exact_rows(cursor, database, table, columns, contents)


def _exact_rows(cursor: pymysql.cursors.Cursor, database: str, table: str, columns: list[tuple[Any, ...]], contents: Contents) -> None:
    versioned = f"row versions of {database}.{table}" in contents
    read = [_exactly(quoted(row[2]), row[3]) for row in columns]
    place = f"{quoted(database)}.{quoted(table)}"
    if versioned:
        if not any("ROW START" in str(line) for line in contents.get(f"system versioned {database}.{table}", [])):
            read += ["ROW_START", "ROW_END"]
        place += " FOR SYSTEM_TIME ALL"
    cursor.execute(f"SELECT {', '.join(read)} FROM {place}")
    contents[f"exact rows of {database}.{table}"] = sorted(" | ".join(map(str, row)) for row in cursor.fetchall())
    cursor.execute(f"CHECK TABLE {quoted(database)}.{quoted(table)} EXTENDED")
    contents[f"check of {database}.{table}"] = [f"{row[2]} {row[3]}" for row in cursor.fetchall()]


def _exactly(column: str, kind: str) -> str:
    """Return the expression that reads a column to the last bit."""
    kind = kind.lower()
    if kind in ("float", "double"):
        return f"{column}+0e0"
    if "char" in kind or "text" in kind or "blob" in kind or "binary" in kind or kind in ("vector", "geometry", "point", "bit"):
        return f"HEX({column})"
    return column


def _users(cursor: pymysql.cursors.Cursor, feature: Feature, mariadb: bool, contents: Contents) -> None:
    is_role = "is_role" if mariadb else "'N'"
    like = feature.user.replace("_", "\\_")
    cursor.execute(f"SELECT user, host, {is_role} FROM mysql.user WHERE user REGEXP %s OR user LIKE %s", (f"^{feature.user}.$", like))
    for user, host, role in cursor.fetchall():
        name = f"'{user}'" if role == "Y" else f"'{user}'@'{host}'"
        statements = [f"SHOW GRANTS FOR {name}"] + ([] if role == "Y" else [f"SHOW CREATE USER {name}"])
        lines = []
        for statement in statements:
            cursor.execute(statement)
            lines += [str(row[0]) for row in cursor.fetchall()]
        contents[f"user {name}"] = lines
