"""Columns that only the target has, after those of the source (rule R31)."""

from __future__ import annotations

import shutil
from pathlib import Path

import psycopg
import pytest
from server.replay import PostgresPlace, SqlPlace
from server.source_log import copy_binlogs
from tests.servers import MariaDbServer

from paraply import Applier, make_target
from paraply.errors import SchemaMismatch
from paraply.schema.readers.dump import read_dump

MADE = ["CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY, a INT)"]
CHANGES = [
    "INSERT INTO shop.t VALUES (1, 1), (2, 2)",
    "UPDATE shop.t SET a=9 WHERE id=2",
    "DELETE FROM shop.t WHERE id=1",
    "INSERT INTO shop.t VALUES (3, NULL)",
]


def made(place: SqlPlace) -> str:
    """Make the table and its changes, these in a file of their own; return the GTIDs before them."""
    place.sql(*MADE)
    held = str(place.sql("SELECT @@gtid_binlog_pos" if place.mariadb else "SELECT @@GLOBAL.gtid_executed")[0][0])
    place.sql("FLUSH BINARY LOGS", *CHANGES)
    return held


@pytest.fixture(params=["mysql", pytest.param("mariadb", marks=pytest.mark.mariadb)])
def logged(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[SqlPlace, list[Path], str]:
    """A server, the logs of its changes, and the GTIDs before them."""
    place: SqlPlace = request.getfixturevalue(f"{request.param}_place")
    held = made(place)
    if place.mariadb:
        server: MariaDbServer = request.getfixturevalue("durable_mariadb")
        names = [str(row[0]) for row in place.sql("SHOW BINARY LOGS")][1:]
        return place, [Path(shutil.copy(server.data / name, tmp_path / name)) for name in names], held
    return place, copy_binlogs(place.url, tmp_path)[1:], held


def replay(logs: list[Path], url: str, held: str, schema: Path | None = None, channel: str = "default") -> None:
    """Apply the logs; raise the error of an apply that is refused."""
    tables = read_dump(schema) if schema is not None else None
    with Applier(logs, make_target(url), start_after=held, schema=tables, channel=channel, workers=2) as applier:
        applier.run()


def test_r31_further_columns_get_what_the_target_gives_them(logged: tuple[SqlPlace, list[Path], str]) -> None:
    place, logs, held = logged
    place.empty()
    computed = "" if place.mariadb else "at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, u CHAR(36) DEFAULT (uuid()),"
    place.sql(
        "CREATE DATABASE shop",
        f"CREATE TABLE shop.t (id INT PRIMARY KEY, a INT, n INT, d INT NOT NULL DEFAULT 7, s CHAR(9) NOT NULL DEFAULT 'a''b', {computed}"
        " v INT AS (a + 1) STORED)",
    )
    replay(logs, place.url, held)
    found = place.sql("SELECT id, a, n, d, s, v FROM shop.t ORDER BY id")
    assert [tuple(row) for row in found] == [(2, 9, None, 7, "a'b", 10), (3, None, None, 7, "a'b", None)]
    if not place.mariadb:
        assert place.sql("SELECT COUNT(DISTINCT u), MIN(at) > '2020-01-01' FROM shop.t")[0] == (2, 1)


def test_r31_a_further_column_that_needs_a_value_is_refused(logged: tuple[SqlPlace, list[Path], str]) -> None:
    place, logs, held = logged
    place.empty()
    place.sql("CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY, a INT, n INT NOT NULL)")
    with pytest.raises(SchemaMismatch, match="further column n"):
        replay(logs, place.url, held)
    if place.mariadb:
        place.sql("ALTER TABLE shop.t MODIFY n TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP")
        with pytest.raises(SchemaMismatch, match="a MariaDB does not compute"):
            replay(logs, place.url, held)
    # It is the last columns that may be added: any other place is another table.
    place.sql("DROP TABLE shop.t", "CREATE TABLE shop.t (id INT PRIMARY KEY, n VARCHAR(9), a INT)")
    with pytest.raises(SchemaMismatch, match=r"column 2 \(n varchar\(9\) on the target\) differs"):
        replay(logs, place.url, held)


def test_r31_further_columns_in_postgresql_mysql(mysql_place: SqlPlace, postgres_place: PostgresPlace, tmp_path: Path) -> None:
    held = made(mysql_place)
    logs = copy_binlogs(mysql_place.url, tmp_path)[1:]
    dump = tmp_path / "schema.sql"
    dump.write_text("CREATE DATABASE shop; USE shop; CREATE TABLE t (id INT PRIMARY KEY, a INT);")
    with psycopg.connect(postgres_place.url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA shop")
        connection.execute("CREATE TABLE shop.t (id INTEGER PRIMARY KEY, a INTEGER, n INTEGER NOT NULL)")
        with pytest.raises(SchemaMismatch, match="need a value: n"):
            replay(logs, postgres_place.url, held, dump)
        connection.execute("ALTER TABLE shop.t ALTER n DROP NOT NULL, ADD d INTEGER NOT NULL DEFAULT 7")
        connection.execute("ALTER TABLE shop.t ADD i BIGINT GENERATED ALWAYS AS IDENTITY")
        replay(logs, postgres_place.url, held, dump, "next")
        assert connection.execute("SELECT id, a, n, d FROM shop.t ORDER BY id").fetchall() == [(2, 9, None, 7), (3, None, None, 7)]
