"""Transactions that MariaDB rolled back and wrote into its log all the same, and tables that it dropped for itself."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql
import pytest
from mariadb_versions import MARIADB_VERSIONS, mariadb_of_version
from server.replay import PostgresPlace, SqlPlace, applied, run
from servers import LocalServer

import paraply

TEMPORARY = "CREATE TEMPORARY TABLE t2 (id INT)"
GONE = "DROP TEMPORARY TABLE IF EXISTS t2"
STANDING = ("CREATE DATABASE shop", "USE shop", "CREATE TABLE x (id INT PRIMARY KEY) ENGINE=InnoDB")
OTHER_ENGINES = (
    "CREATE TABLE m (id INT PRIMARY KEY) ENGINE=MyISAM",
    "CREATE TABLE ar (id INT PRIMARY KEY) ENGINE=Aria",
    "CREATE TABLE h (id INT PRIMARY KEY) ENGINE=MEMORY",
)
ROLLED_BACK = (
    ("BEGIN", "INSERT INTO x VALUES (1)", TEMPORARY, GONE, "ROLLBACK"),
    ("INSERT INTO x VALUES (2)",),
    ("BEGIN", "INSERT INTO x VALUES (3)", "SAVEPOINT a", "INSERT INTO x VALUES (4)", TEMPORARY, "ROLLBACK TO a", "INSERT INTO x VALUES (5)",
     GONE, "COMMIT"),
    ("BEGIN", "INSERT INTO x VALUES (6)", "SAVEPOINT `A b`", "INSERT INTO x VALUES (7)", TEMPORARY, "ROLLBACK TO `a B`", GONE, "COMMIT"),
    ("BEGIN", "INSERT INTO x VALUES (8)", "SAVEPOINT a", "INSERT INTO x VALUES (9)", "SAVEPOINT A", "INSERT INTO x VALUES (10)", TEMPORARY,
     "SAVEPOINT `b``x`", "INSERT INTO x VALUES (11)", "ROLLBACK TO a", GONE, "COMMIT"),
    ("BEGIN", TEMPORARY, "SAVEPOINT a", "UPDATE x SET id=id+100", "ROLLBACK TO SAVEPOINT a", "DELETE FROM x WHERE id=2", "COMMIT", GONE),
    ("XA START 'r'", "INSERT INTO x VALUES (20)", TEMPORARY, "XA END 'r'", "XA ROLLBACK 'r'", GONE),
    ("BEGIN", "INSERT INTO x VALUES (21)", TEMPORARY, "INSERT INTO x VALUES (22), (22)", GONE, "COMMIT"),
    ("INSERT INTO x VALUES (30)",),
)  # fmt: skip
LEFT = [(3,), (5,), (6,), (8,), (9,), (21,), (30,)]
MIXED = (
    ("BEGIN", "INSERT INTO x VALUES (1)", *(f"INSERT INTO {t} VALUES (1)" for t in ("m", "ar", "h")), "ROLLBACK"),
    ("BEGIN", "INSERT INTO x VALUES (2)", TEMPORARY, *(f"INSERT INTO {t} VALUES (2)" for t in ("m", "ar", "h")), GONE, "ROLLBACK"),
    ("INSERT INTO x VALUES (3)",),
    ("BEGIN", "UPDATE x, m SET x.id=x.id+100, m.id=m.id+10 WHERE x.id=3 AND m.id=1", "ROLLBACK"),
    ("BEGIN", TEMPORARY, "UPDATE x, m SET x.id=x.id+100, m.id=m.id+10 WHERE x.id=3 AND m.id=2", GONE, "ROLLBACK"),
    ("BEGIN", "INSERT INTO x VALUES (5)", "SAVEPOINT a", "INSERT INTO m VALUES (5)", "INSERT INTO x VALUES (6)", "ROLLBACK TO a", "COMMIT"),
    ("XA START 'r'", "INSERT INTO x VALUES (7)", "UPDATE x, m SET x.id=x.id+100, m.id=m.id+50", "XA END 'r'", "XA ROLLBACK 'r'"),
)
TWICE = "(id INT PRIMARY KEY) {} SELECT 1 AS id UNION ALL SELECT 1"
DROPPED = (
    ("CREATE TABLE k (id INT PRIMARY KEY)", "INSERT INTO k VALUES (1)"),
    (f"CREATE OR REPLACE TABLE k {TWICE.format('')}",),
    (f"CREATE OR REPLACE TABLE never_there {TWICE.format('')}",),
    ("CREATE TABLE after_it (id INT PRIMARY KEY)", "INSERT INTO after_it VALUES (1)"),
    ("CREATE TABLE k (id INT PRIMARY KEY)", f"CREATE OR REPLACE TABLE k {TWICE.format('ENGINE=MyISAM')}"),
    ("CREATE TABLE `K k` (id INT PRIMARY KEY)", f"CREATE OR REPLACE TABLE `K k` {TWICE.format('')}"),
    ("INSERT INTO after_it VALUES (2)",),
)
FUNCTION = (
    "CREATE FUNCTION g(i INT) RETURNS INT BEGIN"
    " INSERT INTO x VALUES (i); SAVEPOINT a; INSERT INTO x VALUES (i+1); ROLLBACK TO a; RETURN i; END"
)


@dataclass
class Source:
    """A server that is read, and then written to."""

    server: LocalServer
    place: SqlPlace
    folder: Path

    def log(self, name: str, groups: Sequence[Sequence[str]]) -> Path:
        """Empty the server, run statements in one session, whether they fail or not, and return the log of them."""
        self.place.empty()
        self.place.sql("FLUSH BINARY LOGS")
        file = str(self.place.sql("SHOW BINARY LOGS")[-1][0])
        with self.server.connect() as connection, connection.cursor() as cursor:
            for group in groups:
                for statement in group:
                    with contextlib.suppress(pymysql.MySQLError):
                        cursor.execute(statement)
                        cursor.fetchall()
        self.place.sql("FLUSH BINARY LOGS")
        return Path(shutil.copyfile(self.server.data / file, self.folder / f"{name}.000001"))

    def rows(self, table: str) -> list[Any]:
        """The rows of a table."""
        return list(self.place.sql(f"SELECT * FROM shop.{table} ORDER BY 1"))

    def tables(self) -> list[Any]:
        """The names of the tables that are there."""
        return list(self.place.sql("SELECT table_name FROM information_schema.tables WHERE table_schema='shop' ORDER BY 1"))


@pytest.fixture(scope="module", params=MARIADB_VERSIONS)
def source(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Source]:
    options = ("--log-bin=binlog", "--binlog-format=ROW", "--server-id=1", "--log-bin-trust-function-creators=1")
    with mariadb_of_version(request.param, options) as server:
        yield Source(server, SqlPlace(server.url), tmp_path_factory.mktemp("logs"))


def test_rows_that_were_rolled_back_are_nothing(source: Source, postgres_place: PostgresPlace) -> None:
    log = source.log("rolled-back", [STANDING, *ROLLED_BACK])
    assert source.rows("x") == LEFT
    operations = [row["operation"] for row in paraply.rows(log).read_all().to_pylist()]
    assert sorted(operations) == ["delete", *["insert"] * 8], "changes that were rolled back are shown to nobody"
    applied(log, postgres_place.url)
    assert sorted(postgres_place.rows("x")) == LEFT
    source.place.empty()
    for _ in range(2):  # the second time everything is held already
        applied(log, source.place.url, "--workers", "4")
        assert source.rows("x") == LEFT


def test_rows_of_tables_that_cannot_be_rolled_back_stand_apart(source: Source) -> None:
    """The rule that the reader goes by: such rows are never in a transaction that ends with ROLLBACK."""
    log = source.log("mixed", [(*STANDING, *OTHER_ENGINES), *MIXED])
    tables = ("x", "m", "ar", "h")
    left = {table: source.rows(table) for table in tables}
    assert left["x"] == [(3,), (5,)]
    assert left["ar"] == [(1,), (2,)]
    source.place.empty()
    applied(log, source.place.url, "--workers", "0", "--allow-nontransactional")
    assert {table: source.rows(table) for table in tables} == left


def test_what_a_sequence_has_given_out_stays_given_out(source: Source) -> None:
    group = ("BEGIN", "INSERT INTO x VALUES (4)", TEMPORARY, "SELECT NEXT VALUE FOR s", GONE, "ROLLBACK")
    log = source.log("sequence", [(*STANDING, "CREATE SEQUENCE s NOCACHE"), group])
    assert source.rows("x") == []
    assert [row["table"] for row in paraply.rows(log).read_all().to_pylist()] == ["s"]


def test_a_table_that_a_failed_create_or_replace_dropped_is_gone(source: Source, postgres_place: PostgresPlace) -> None:
    log = source.log("dropped", [STANDING, *DROPPED])
    left = source.tables()
    assert ("after_it",) in left
    assert ("k",) not in left
    assert ("K k",) not in left
    assert b"Generated to handle failed" in log.read_bytes()
    applied(log, postgres_place.url)
    assert sorted(postgres_place.rows("after_it")) == [(1,), (2,)]
    with pytest.raises(Exception, match="does not exist"):
        postgres_place.rows("k")
    source.place.empty()
    applied(log, source.place.url)
    assert (source.tables(), source.rows("after_it")) == (left, [(1,), (2,)])


def test_a_savepoint_within_a_statement_is_refused_with_its_reason(source: Source, postgres_place: PostgresPlace) -> None:
    """A replica of MariaDB loses a row of it: the savepoint of a function stands in front of rows that were changed before it."""
    log = source.log("function", [(*STANDING, FUNCTION), ("BEGIN", TEMPORARY, "INSERT INTO x VALUES (1)", "DO g(13)", "COMMIT", GONE)])
    assert source.rows("x") == [(1,), (13,)]
    outcome = run(log, postgres_place.url)
    assert outcome.code == 3
    assert "a stored function or trigger rolled back to a savepoint" in outcome.report["error"]["message"]
    assert outcome.report["error"]["position"]
    assert outcome.report["error"]["gtid"]
