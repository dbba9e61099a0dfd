"""Generated columns that row images leave out, although they say FULL (R13, R32).

MariaDB 11.8 logs no generated column in UPDATE and DELETE, nor in the INSERT of a REPLACE that deleted a row; 10.5 and 10.11 log them.
With binlog_row_image=MINIMAL every version leaves out virtual columns without a key, in INSERT too.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from mariadb_versions import MariaDbInTree, mariadb_of_version
from pg_databases import Database
from reader_view import differences, family_contents, postgres_differences
from server.fine_orders import read_plan
from server.replay import applied, run
from servers import MariaDbServer

from paraply import rows

pytestmark = pytest.mark.mariadb
Server = MariaDbServer | MariaDbInTree

# Not the client's default collation, which a log of 11.8 names by a number.
SESSION = "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci"
STORED = "CREATE TABLE d.stored (id INT PRIMARY KEY, a INT, b INT, x INT AS (a * 2) STORED, UNIQUE (x))"
VIRTUAL = "CREATE TABLE d.virt (id INT PRIMARY KEY, a INT, b INT, x INT AS (a * 2) VIRTUAL, UNIQUE (x))"
ACTIVE = "CREATE TABLE d.active (id INT PRIMARY KEY, a INT, b INT, x INT AS (IF(b IS NULL, a, NULL)) STORED, UNIQUE (x))"
UNKNOWN = "CREATE TABLE d.unknown (id INT PRIMARY KEY, a INT, b INT, x VARCHAR(20) AS (CONCAT('n', a)) STORED, UNIQUE (x(6)))"
BARE = "CREATE TABLE d.bare (id INT, a INT, b INT, x INT AS (a + 1) VIRTUAL, UNIQUE (x))"
PAIR = "CREATE TABLE d.pair (id INT PRIMARY KEY, a INT, b INT, x INT AS (a * 2) STORED, p INT DEFAULT 1, UNIQUE (x, p))"
DOUBLE = """CREATE TABLE d.twice (id INT PRIMARY KEY, a INT, b INT, x INT AS (a * 2) STORED, y INT AS (a - 1) VIRTUAL,
  UNIQUE (x), UNIQUE (y))"""
TABLES = {"stored": STORED, "virt": VIRTUAL, "active": ACTIVE, "unknown": UNKNOWN, "bare": BARE, "pair": PAIR, "twice": DOUBLE}


@dataclass(frozen=True)
class Source:
    """A server whose logs a test reads."""

    version: str
    server: Server

    def log(self, folder: Path, statements: Sequence[str]) -> Path:
        """Run statements on an emptied server and copy the log that holds them alone."""
        self.server.sql("DROP DATABASE IF EXISTS d", "RESET MASTER")
        name = str(self.server.sql("SHOW BINARY LOGS")[-1][0])
        self.server.sql(SESSION, *statements)
        self.server.sql("FLUSH BINARY LOGS")
        return Path(shutil.copy(self.server.data / name, folder / "source.binlog"))

    def contents(self) -> dict[str, list[str]]:
        """Return the database as a reader sees it."""
        with self.server.connect() as connection, connection.cursor() as cursor:
            return family_contents(cursor, ["d"])


@pytest.fixture(scope="module", params=["10.5", "10.11", "11.8"])
def source(request: pytest.FixtureRequest) -> Iterator[Source]:
    with mariadb_of_version(request.param) as server:
        yield Source(request.param, server)


@pytest.fixture(scope="module")
def newest() -> Iterator[Source]:
    with mariadb_of_version("11.8") as server:
        yield Source("11.8", server)


@pytest.fixture(scope="module", params=["10.11", "11.8"])
def target(request: pytest.FixtureRequest) -> Iterator[Source]:
    with mariadb_of_version(request.param) as server:
        yield Source(request.param, server)


def freeing(count: int, *tables: str) -> list[str]:
    """Return statements in which each INSERT of ``b = 1`` takes a value that the UPDATE or DELETE before it gave up."""
    statements = ["CREATE DATABASE d CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci", *(TABLES[table] for table in tables)]
    for table in tables:
        for number in range(1, count + 1):
            statements += [
                f"INSERT INTO d.{table} (id, a) VALUES ({2 * number}, {number})",
                f"UPDATE d.{table} SET a=-{number} WHERE id={2 * number}" if number % 2 else f"DELETE FROM d.{table} WHERE id={2 * number}",
                f"INSERT INTO d.{table} (id, a) VALUES ({2 * number + 1}, {number})",
            ]
    return statements


def random_changes(seed: int, count: int, *, images: Sequence[str] = ()) -> list[str]:
    """Return random changes of few values; ``images`` are switched on from time to time. A duplicate key is passed over."""
    chance = random.Random(seed)
    statements = ["CREATE DATABASE d CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci", *TABLES.values()]
    for number in range(count):
        if images and number % 5 == 0:
            statements.append(f"SET SESSION binlog_row_image={chance.choice(images)}")
        table, key, value = chance.choice(list(TABLES)), chance.randrange(12), chance.randrange(12)
        other = chance.choice(["NULL", "1", "2"])
        row = f"(id, a, b) VALUES ({key}, {value}, {other})"
        statements.append(
            chance.choice([
                f"INSERT IGNORE INTO d.{table} {row}",
                f"REPLACE INTO d.{table} {row}",
                f"INSERT INTO d.{table} {row} ON DUPLICATE KEY UPDATE b={other}",
                f"UPDATE IGNORE d.{table} SET a={value} WHERE id={key}",
                f"UPDATE IGNORE d.{table} SET b={other} WHERE id={key}",
                f"UPDATE IGNORE d.{table} SET id={value} WHERE id={key} LIMIT 1",
                f"DELETE FROM d.{table} WHERE id={key}",
            ])
        )  # fmt: skip
    return statements


def test_which_images_hold_generated_columns(source: Source, tmp_path: Path) -> None:
    """The servers' own answer, for every way a row is changed."""
    changes = (
        "INSERT INTO d.{0} (id, a) VALUES (1, 1)", "UPDATE d.{0} SET a=2", "REPLACE INTO d.{0} (id, a) VALUES (1, 3)",
        "DELETE FROM d.{0}",
    )  # fmt: skip
    statements = freeing(0, "stored", "virt") + [change.format(table) for table in ("stored", "virt") for change in changes]
    found = rows(source.log(tmp_path, statements)).read_all().to_pylist()
    held = [
        (row["table"], row["operation"], *("x" in dict(row[image]) for image in ("before", "after") if row[image] is not None))
        for row in found
    ]
    logged = source.version != "11.8"
    # A REPLACE is a DELETE and an INSERT.
    expected = [("insert", True), ("update", logged, logged), ("delete", logged), ("insert", logged), ("delete", logged)]
    assert held == [(table, *row) for table in ("stored", "virt") for row in expected]


def test_r13_an_insert_waits_for_the_change_that_frees_its_value(source: Source, tmp_path: Path) -> None:
    for table in TABLES:
        plan = read_plan(source.log(tmp_path, freeing(4, table)))
        for number in range(2, len(plan.before), 3):
            assert number - 1 in plan.before[number], f"{table}: transaction {number}"
        # Where the expression is understood, nobody else waits.
        exact = source.version != "11.8" or table != "unknown"
        assert (0 not in plan.before[3]) is exact, f"{table}: {plan.fallbacks}"
        missing = [reason for reason, _, _ in plan.fallbacks if reason.startswith("key column missing")]
        assert bool(missing) is not exact, f"{table}: {plan.fallbacks}"


OPTIONS = [
    ("--merge", "off"),
    ("--gtid", "preserve"),
    ("--policy", "barrier", "--merge", "off"),
    ("--policy", "optimistic", "--merge", "off"),
    ("--policy", "row", "--consistency", "eventual", "--merge", "off"),
    ("--merge", "4"),
]


def empty(target: Source) -> None:
    """Remove what an earlier log left."""
    target.server.sql("DROP DATABASE IF EXISTS d", "DROP DATABASE IF EXISTS paraply", "RESET MASTER", "SET GLOBAL gtid_slave_pos=''")


def check_target(source: Source, target: Source, log: Path, *options: str) -> None:
    """Apply a log and compare."""
    empty(target)
    applied(log, target.server.url, "--workers", "8", *options)
    assert not differences(source.contents(), target.contents())


@pytest.mark.by_turns(4)
@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_r13_values_that_move_between_rows(newest: Source, target: Source, tmp_path: Path, options: tuple[str, ...]) -> None:
    log = newest.log(tmp_path, freeing(12, *TABLES))
    if target.version == newest.version:
        check_target(newest, target, log, *options)
        return
    empty(target)
    outcome = run(log, target.server.url, "--workers", "8", *options)
    assert (outcome.code, outcome.report["error"]["class"]) == (1, "SchemaMismatch"), outcome
    assert "generated column x" in outcome.report["error"]["message"]
    tables = target.server.sql("SELECT table_name FROM information_schema.tables WHERE table_schema='d'")
    assert all(not target.server.sql(f"SELECT * FROM d.{table}") for (table,) in tables)


@pytest.mark.by_turns(4)
@pytest.mark.parametrize("images", [(), ("FULL", "MINIMAL", "NOBLOB")], ids=["full", "changing"])
def test_r13_random_changes(source: Source, target: Source, tmp_path: Path, images: tuple[str, ...]) -> None:
    if (source.version, target.version) == ("11.8", "10.11"):
        pytest.skip("a newer server's log")
    log = source.log(tmp_path, random_changes(7, 250, images=images))
    for options in (("--merge", "off"), ("--gtid", "preserve"), ("--policy", "barrier", "--merge", "off")):
        check_target(source, target, log, *options)


def test_r32_postgresql_gets_the_values(source: Source, database: Database, tmp_path: Path) -> None:
    understood = "stored", "virt", "active", "bare", "pair", "twice"
    log = source.log(tmp_path, [
        *(change for change in random_changes(3, 200) if "d.unknown" not in change),
        "CREATE TABLE d.copy (id INT PRIMARY KEY, t VARCHAR(20), x VARCHAR(20) AS (t), y INT AS (id * 3) STORED, z INT AS (y + 1))",
        "INSERT INTO d.copy (id, t) VALUES (1, 'one'), (2, NULL), (3, 'three')",
        "UPDATE d.copy SET t='two' WHERE id=2",
        "UPDATE d.copy SET id=9, t=NULL WHERE id=3",
        "DELETE FROM d.copy WHERE id=1",
        "CREATE TABLE d.g (id INT PRIMARY KEY, a INT, v INT AS (a+1) VIRTUAL)", "INSERT INTO d.g (id, a) VALUES (1, 1)",
        "UPDATE d.g SET a=5 WHERE id=1",
    ])  # fmt: skip
    applied(log, database.url, "--workers", "8")
    assert database.sql("SELECT id, t, x, y, z FROM d.copy ORDER BY id") == [(2, "two", "two", 6, 7), (9, None, None, 27, 28)]
    assert database.sql("SELECT * FROM d.g") == [(1, 5, 6)]
    with source.server.connect() as connection, connection.cursor() as cursor:
        assert not postgres_differences(cursor, database.url, ["d"])
    assert all(database.sql(f"SELECT count(*) FROM d.{table}")[0][0] for table in understood)


@pytest.mark.parametrize(
    "change",
    ["UPDATE d.unknown SET b=5", "UPDATE d.unknown SET a=5", "REPLACE INTO d.unknown (id, a) VALUES (1, 5)",
     "INSERT INTO d.unknown (id, a) VALUES (2, 5)"],
)  # fmt: skip
def test_r32_postgresql_refuses_a_value_that_is_not_known(newest: Source, database: Database, tmp_path: Path, change: str) -> None:
    log = newest.log(tmp_path, [*freeing(0, "unknown"), "INSERT INTO d.unknown (id, a) VALUES (1, 1)", change])
    outcome = run(log, database.url)
    assert database.sql("SELECT * FROM d.unknown") == [], "before the first row, which does hold the value"
    error = outcome.report["error"]
    assert (outcome.code, error["class"]) == (1, "SchemaMismatch")
    assert "leaves out generated column x" in error["message"]
    assert "leave the table out" in error["message"]
    assert "binlog_row_image" not in error["message"], "the source does log full images"


def test_r13_a_renamed_column_is_not_taken_for_another(newest: Source, tmp_path: Path) -> None:
    """MariaDB rewrites the expression; the names in the log's text mean other columns from then on."""
    log = newest.log(tmp_path, [
        *freeing(0, "stored"),
        "ALTER TABLE d.stored CHANGE a b INT, CHANGE b a INT",
        "INSERT INTO d.stored (id, b, a) VALUES (2, 1, 8)",
        "UPDATE d.stored SET b=-1 WHERE id=2",
        "INSERT INTO d.stored (id, b, a) VALUES (3, 1, 9)",
    ])  # fmt: skip
    where = "table_schema='d' AND column_name='x'"
    assert newest.server.sql(f"SELECT generation_expression FROM information_schema.columns WHERE {where}") == [("`b` * 2",)]
    plan = read_plan(log)
    assert 1 in plan.before[2]
    assert [reason for reason, _, _ in plan.fallbacks if reason.startswith("key column missing")]


def test_policy_unordered_says_why_it_refuses(newest: Source, database: Database, tmp_path: Path) -> None:
    create = "CREATE TABLE d.timed (id INT PRIMARY KEY, a INT, x INT AS (a * 2) VIRTUAL, changed TIMESTAMP(6) NULL)"
    log = newest.log(tmp_path, [
        *freeing(0), create, "INSERT INTO d.timed (id, a, changed) VALUES (1, 1, NOW(6))", "UPDATE d.timed SET a=2, changed=NOW(6)",
    ])  # fmt: skip
    outcome = run(log, database.url, "--policy", "unordered", "--timestamp-column", "changed", "--consistency", "eventual")
    assert outcome.code == 3
    assert "MariaDB from 11.x on never logs" in outcome.report["error"]["message"]
