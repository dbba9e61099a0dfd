"""Rows get in PostgreSQL what the source's rows got in a new column: every type with every spelling of a default, on real servers.

The source copies its rows into a second table, whose rows are in the log; so the target has both what it made of the default and what the
source made of it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql
import pytest
from mariadb_versions import MARIADB_VERSIONS, mariadb_of_version
from pg_databases import Database
from server.replay import applied
from server.source_log import copy_binlogs
from servers import mysql_url
from tests.server.schema.test_schema_against_server import Run, context_of, mysql_connection, runner

from paraply.schema.advance import advance
from paraply.schema.catalog import SchemaCatalog
from paraply.schema.ddl.change import AlterTable
from paraply.targets.postgres.ddl.defaults import fill_of
from paraply.targets.postgres.types import map_column

pytestmark = pytest.mark.postgres
DATABASE = "d_added"

TYPES = (
    "TINYINT", "TINYINT UNSIGNED", "SMALLINT", "MEDIUMINT", "INT", "BIGINT", "BIGINT UNSIGNED", "BOOLEAN", "DECIMAL(6,2)", "DECIMAL(20,0)",
    "DECIMAL(30,10) UNSIGNED", "FLOAT", "DOUBLE", "FLOAT(7,2)", "DOUBLE(9,3)", "BIT(1)", "BIT(3)", "BIT(17)", "BIT(64)", "CHAR(5)",
    "VARCHAR(10)", "VARCHAR(10) CHARACTER SET latin1", "VARCHAR(10) CHARACTER SET ascii", "TEXT", "TINYTEXT CHARACTER SET utf8mb3",
    "BINARY(4)", "VARBINARY(10)", "BLOB", "DATE", "DATETIME", "DATETIME(3)", "TIMESTAMP", "TIMESTAMP(6)", "TIME", "TIME(2)", "YEAR",
    "ENUM('a','B','é','1','0')", "ENUM('2','1')", "ENUM('a','B')", "SET('a','B','c')", "SET('2','1','4')", "JSON",
)  # fmt: skip
LITERALS = (
    "FALSE", "TRUE", "0", "1", "-1", "+1", "5", "007", "255", "300", "2000000000", "18446744073709551615", "1.5", "2.5", "-0.5", "1.239",
    "-1.235", "0.1", ".5", "5.", "1e2", "1E-1", "1.5e1", "2.5e0", "123456789.123456789", "20240229", "24", "70", "1999", "101112",
    "20240229101112",
    "''", "'0'", "'1'", "'5'", "' 7'", "'7 '", "'1.5'", "'1e2'", "'abc'", "'A'", "'b'", "'a,B'", "'c,a,a'",
    "'é'", "'E'", "'É'", "'ab  '", "'a' 'b'",
    "'it''s'", "'a\\nb\\\\'", "'2024-02-29'", "'24-02-29'", "'2024-2-9'", "'2024-02-29 10:11:12'", "'2024-02-29T10:11:12'",
    "'2024-02-29 10:11:12.5'", "'2024-02-29 10:11:12.500'", "'2024-02-29 23:59:59.9999999'", "'20240229'", "'1970-01-01 03:00:00'",
    "'10:11:12'", "'-10:11:12'", "'838:59:59'", "'10:11'", "'1 10:11:12'", "'10:11:12.25'", "'10:11:12.259'", "'2024'", "'24'",
    "'{\"a\": [1, null, \"x\"]}'", "'[1.50, 1e2]'", "'null'",
    "b'0'", "b'1'", "b'101'", "0b11", "B'1000001'", "x'41'", "X'4142'", "x'00ff'", "0x10", "0x4142", "0x3131", "x'31'", "x'E9'", "x'C3A9'",
    "x'61'", "0x", "x''",
    "_utf8mb4'abc'", "_utf8mb4'é'", "_latin1'abc'", "_latin1 x'E9'", "_utf8mb4 0xC3A9", "_binary'abc'", "_binary x'00ff'", "N'abc'", "n'é'",
    "_latin1'é'", "_utf8mb4'5'",
    "DATE'2024-02-29'", "TIMESTAMP'2024-02-29 10:11:12'", "TIMESTAMP'2024-02-29 10:11:12.5'", "TIME'10:11:12'", "TIME'10:11:12.25'",
    "NULL",
)  # fmt: skip

COMPUTED = ("1", "TRUE", "5", "-1", "b'1'", "'abc'", '\'{"a": [1, null, "x"]}\'')
#: Defaults that are always followed where the server takes them.
FOLLOWED = {
    "BOOLEAN": ("FALSE", "TRUE", "0", "1", "'1'", "b'1'", "(1)", "(TRUE)"),
    "INT": ("-1", "+1", "5", "007", "0x10", "(5)", "(-1)", "b'101'", "2.5", "1e2"),
    "BIT(1)": ("b'0'", "b'1'", "0", "1", "TRUE", "(b'1')"),
    "BIT(17)": ("b'101'", "5", "0x10", "x'41'"),
    "FLOAT": ("0.1", "1e2", "1.239"),
    "DOUBLE": ("123456789.123456789", "1E-1"),
    "DECIMAL(6,2)": ("1.239", "-1.235", "1e2", "'1.5'"),
    "VARCHAR(10)": ("'é'", "'a' 'b'", "0x4142", "x'C3A9'", "_utf8mb4'é'", "_latin1 x'E9'", "N'abc'", "5", "TRUE", "('abc')"),
    "CHAR(5)": ("'ab  '",),
    "BINARY(4)": ("x'00ff'", "'abc'", "_binary x'00ff'"),
    "VARBINARY(10)": ("x'00ff'", "0x4142", "_binary'abc'"),
    "DATE": ("'2024-02-29'", "DATE'2024-02-29'"),
    "DATETIME": ("'2024-02-29 10:11:12'", "TIMESTAMP'2024-02-29 10:11:12'", "'2024-02-29'"),
    "DATETIME(3)": ("'2024-02-29 10:11:12.5'", "TIMESTAMP'2024-02-29 10:11:12.5'"),
    "TIMESTAMP": ("'2024-02-29 10:11:12'", "TIMESTAMP'2024-02-29 10:11:12'", "'1970-01-01 03:00:00'"),
    "TIME(2)": ("'-10:11:12'", "TIME'10:11:12.25'", "'838:59:59'"),
    "YEAR": ("1999", "'2024'", "0"),
    "ENUM('a','B','é','1','0')": ("'a'", "'1'", "x'61'"),
    "ENUM('a','B')": ("'a'", "'b'"),
    "SET('a','B','c')": ("'a,B'", "'c,a,a'", "''"),
    "JSON": ('(\'{"a": [1, null, "x"]}\')',),
}
#: NOT NULL without a default.
IMPLICIT = ("DATE", "DATETIME", "DATETIME(3)", "TIMESTAMP", "TIMESTAMP(6)")


@dataclass
class Source:
    """A server to ask."""

    run: Run
    mariadb: bool
    version: tuple[int, int, int]
    copy_log: Callable[[], Path]

    def accepts(self, definition: str) -> bool:
        """Return True if the server takes this column; a temporary table is made quickly."""
        try:
            self.run(f"CREATE TEMPORARY TABLE tried (d {definition})")
            self.run("INSERT INTO tried () VALUES ()")
        except pymysql.err.MySQLError:
            return False
        finally:
            self.run("DROP TEMPORARY TABLE IF EXISTS tried")
        return True

    def follows(self, definition: str, context: dict[str, Any]) -> bool:
        """Return True if the value of existing rows is known to the target."""
        catalog = SchemaCatalog(complete=True)
        for sql in (f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4", "CREATE TABLE scratch (id INT PRIMARY KEY)"):
            advance(catalog, sql, DATABASE, context, mariadb=self.mariadb, version=self.version)
        sql = f"ALTER TABLE scratch ADD d {definition}"
        (change,) = advance(catalog, sql, DATABASE, context, mariadb=self.mariadb, version=self.version)
        assert isinstance(change, AlterTable), f"{sql}: {change}"
        column = change.new.columns[-1]
        return fill_of(column, map_column(column, "t")) is not None


@pytest.fixture(params=[pytest.param(one, marks=() if one == "10.11" else pytest.mark.slow) for one in MARIADB_VERSIONS])
def mariadb_source(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Source]:
    with mariadb_of_version(request.param) as server, server.connect() as connection:
        run = runner(connection)

        def copy_log() -> Path:
            run("FLUSH BINARY LOGS")
            first = str(run("SHOW BINARY LOGS")[-2][0])
            return Path(shutil.copy(server.data / first, tmp_path / first))

        run("FLUSH BINARY LOGS")
        yield Source(run, True, (*map(int, request.param.split(".")), 9), copy_log)  # type: ignore[arg-type]


@pytest.fixture
def mysql_source(tmp_path: Path) -> Iterator[Source]:
    connection = mysql_connection()
    run = runner(connection)
    version = [int(part) for part in str(run("SELECT VERSION()")[0][0]).split("-", 1)[0].split(".")]
    try:
        run("RESET BINARY LOGS AND GTIDS")
        yield Source(run, False, (version[0], version[1], version[2]), lambda: copy_binlogs(mysql_url(), tmp_path)[0])
    finally:
        run(f"DROP DATABASE IF EXISTS {DATABASE}")
        connection.close()


def _definitions(type_: str) -> list[str]:
    spellings = [*LITERALS, *(f"({literal})" for literal in LITERALS[::9] + COMPUTED)]
    nullable = [f"{type_} NULL DEFAULT {literal}" for literal in spellings]
    return [*nullable, f"{type_} NULL", *([] if type_ in IMPLICIT else [f"{type_} NOT NULL"])]


def _check(source: Source, database: Database, sql_mode: str) -> None:
    run = source.run
    run("SET SESSION time_zone='+05:30'")
    run(f"SET SESSION sql_mode='{sql_mode}'")
    run(f"DROP DATABASE IF EXISTS {DATABASE}")
    run(f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4")
    run(f"USE {DATABASE}")
    run("SET SESSION sql_log_bin=0")
    context = {**context_of(run, mariadb=source.mariadb), "time_zone": "+05:30"}
    context["charset"] = (45, 45, context["charset"][2])  # a client of utf8mb4
    added: dict[str, list[str]] = {}
    refused: dict[str, list[str]] = {}
    for type_ in TYPES:
        for definition in filter(source.accepts, _definitions(type_)):
            (added if source.follows(definition, context) else refused).setdefault(type_, []).append(definition)
    run("SET SESSION sql_log_bin=1")
    for number, (_, definitions) in enumerate(sorted(added.items())):
        run(f"CREATE TABLE t{number} (id INT PRIMARY KEY)")
        run(f"INSERT INTO t{number} VALUES (1)")
        columns = ", ".join(f"ADD c{place} {definition}" for place, definition in enumerate(definitions))
        run(f"ALTER TABLE t{number} {columns}")
        run(f"CREATE TABLE copy{number} LIKE t{number}")
        run(f"INSERT INTO copy{number} SELECT * FROM t{number}")
    applied(source.copy_log(), database.url)
    wrong = []
    for number, (_, definitions) in enumerate(sorted(added.items())):
        for place, definition in enumerate(definitions):
            filled, logged = (database.sql(f"SELECT c{place}::text FROM {DATABASE}.{table}{number}") for table in ("t", "copy"))
            if filled != logged:
                wrong.append(f"{definition}: {filled} in the target, {logged} in the source")
    wrong += [
        f"{one} NOT followed"
        for type_ in FOLLOWED
        for one in refused.get(type_, ())
        if one.partition(" NULL DEFAULT ")[2] in FOLLOWED[type_]
    ]
    wrong += [f"{one[0]} NOT followed" for one in ([d for d in found if d.endswith("NOT NULL")] for found in refused.values()) if one]
    assert not wrong, "\n".join(wrong)
    assert sum(map(len, added.values())) > 500


@pytest.mark.parametrize("sql_mode", ["STRICT_ALL_TABLES", pytest.param("", marks=pytest.mark.slow)])
def test_every_default_of_every_type_on_mysql(mysql_source: Source, database: Database, sql_mode: str) -> None:
    _check(mysql_source, database, sql_mode)


def test_every_default_of_every_type_on_mariadb(mariadb_source: Source, database: Database) -> None:
    _check(mariadb_source, database, "STRICT_ALL_TABLES")
