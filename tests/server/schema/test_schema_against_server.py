"""The DDL parser and real servers must make the same tables of the same statements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import pymysql
import pytest
from tests.server.statements import BOTH, MARIADB_ONLY, MYSQL_ONLY
from tests.servers import MariaDbServer, mariadb_server, mysql_url, sql_connect

from paraply.schema.advance import advance
from paraply.schema.catalog import SchemaCatalog
from paraply.schema.ddl.change import Unknown
from paraply.schema.model import KeyPart, Table
from paraply.schema.readers.live import read_databases, read_tables

__all__ = ["mariadb_server"]

DATABASE = "d_schema"
Connection = Any
Run = Callable[[str], list[tuple[Any, ...]]]


def runner(connection: Connection) -> Run:
    def run(sql: str) -> list[tuple[Any, ...]]:
        with connection.cursor() as cursor:
            cursor.execute(sql)
            return list(cursor.fetchall())

    return run


def mysql_connection() -> Connection:
    parts = urlsplit(mysql_url())
    return sql_connect(
        host=parts.hostname,
        port=parts.port or 3306,
        user=parts.username,
        password=parts.password or "",
        charset="utf8mb4",
        autocommit=True,
        read_timeout=30,
    )


@pytest.fixture(params=["mysql", "mariadb"])
def server(request: pytest.FixtureRequest) -> Iterator[tuple[Run, bool]]:
    mariadb = request.param == "mariadb"
    if mariadb:
        host: MariaDbServer = request.getfixturevalue("mariadb_server")
        connection = host.connect()
    else:
        connection = mysql_connection()
    run = runner(connection)
    try:
        yield run, mariadb
    finally:
        run("SET foreign_key_checks=0")
        run(f"DROP DATABASE IF EXISTS {DATABASE}")
        connection.close()


def context_of(run: Run, mariadb: bool) -> dict[str, Any]:
    """The status variables that this session's statements would be logged with."""
    known = run("SELECT ID FROM information_schema.COLLATIONS WHERE COLLATION_NAME=@@collation_server")
    if not known:  # MariaDB since 10.10 has a name for each character set there
        known = run("SELECT ID FROM information_schema.COLLATION_CHARACTER_SET_APPLICABILITY WHERE FULL_COLLATION_NAME=@@collation_server")
    server = known[0][0]
    explicit = run("SELECT @@explicit_defaults_for_timestamp")[0][0]
    context = {"charset": (255, 255, server), "sql_mode": 0, "explicit_defaults_for_timestamp": bool(explicit)}
    if not mariadb:
        context["default_collation_for_utf8mb4"] = 255
    return context


def statements(text: str) -> list[str]:
    found: list[str] = []
    for line in text.strip().splitlines():
        if line.startswith(" ") and found:
            found[-1] += "\n" + line
        else:
            found.append(line)
    return found


def comparable(table: Table) -> Table:
    """Without what only one of the two sides knows: options, an engine that is not named, the server's form of expressions."""
    keys = tuple(replace(key, parts=tuple(_blurred(part) for part in key.parts)) for key in table.keys)
    return replace(table, options={}, engine=None, keys=keys)


def _blurred(part: KeyPart) -> KeyPart:
    return replace(part, expression="expression" if part.expression is not None else None)


@pytest.mark.parametrize("family", ["both", "own"])
@pytest.mark.parametrize("lower_case_database_collation", ["", "character set latin1 collate latin1_german2_ci"])
def test_statements_make_the_servers_tables(server: tuple[Run, bool], family: str, lower_case_database_collation: str) -> None:
    run, mariadb = server
    version_text = run("SELECT VERSION()")[0][0].split("-")[0].split(".")
    version = (int(version_text[0]), int(version_text[1]), int(version_text[2]))
    text = BOTH if family == "both" else MARIADB_ONLY if mariadb else MYSQL_ONLY
    run("SET SESSION sql_mode=''")
    if not mariadb:
        run("SET SESSION restrict_fk_on_non_standard_key=0")
    context = context_of(run, mariadb)
    catalog = SchemaCatalog(complete=True)
    wrong: list[str] = []

    def step(sql: str) -> None:
        try:
            run(sql)
        except pymysql.err.MySQLError as error:
            wrong.append(f"the server refuses {sql!r}: {error}")
            return
        for change in advance(catalog, sql, DATABASE, context, mariadb=mariadb, version=version):
            if isinstance(change, Unknown):
                wrong.append(f"not understood: {sql!r}: {change}")

    step(f"create database {DATABASE} {lower_case_database_collation}")
    run(f"USE {DATABASE}")
    for sql in statements(text):
        step(sql)
        parsed = {table.name: comparable(table) for table in catalog}
        read = {table.name: comparable(table) for table in read_tables(run, [DATABASE])}
        for name in sorted(parsed.keys() | read.keys()):
            if parsed.get(name) != read.get(name):
                wrong.append(f"after {sql!r}: {name} differs\n{difference(parsed.get(name), read.get(name))}")
        catalog.seed(read_tables(run, [DATABASE])) if wrong and wrong[-1].startswith("after") else None
    assert not wrong, "\n".join(wrong)
    assert read_databases(run)[DATABASE] == catalog.databases[DATABASE].collation


def difference(parsed: Table | None, read: Table | None) -> str:
    if parsed is None or read is None:
        return f"  parser: {parsed}\n  server: {read}"
    lines = []
    for field in ("charset", "collation"):
        if getattr(parsed, field) != getattr(read, field):
            lines.append(f"  {field}: parser {getattr(parsed, field)} server {getattr(read, field)}")
    for field in ("columns", "keys", "foreign_keys"):
        left, right = getattr(parsed, field), getattr(read, field)
        lines += [f"  parser: {item}" for item in left if item not in right]
        lines += [f"  server: {item}" for item in right if item not in left]
        if [i.name for i in left] != [i.name for i in right]:
            lines.append(f"  order of {field}: parser {[i.name for i in left]} server {[i.name for i in right]}")
    return "\n".join(lines)
