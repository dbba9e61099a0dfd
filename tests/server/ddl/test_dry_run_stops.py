"""A dry run marks a statement, or rows of a table, with STOP exactly where the apply of the same log ends."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from mariadb_versions import ROW_LOG
from pg_databases import Database
from servers import running_mariadb
from tests.server.schema.test_schema_against_server import Run, runner

from paraply.applier import Applier
from paraply.errors import ParaplyError, SchemaMismatch
from paraply.schema.readers.dump import read_dump
from paraply.targets import make_target
from paraply.targets.postgres.target import PostgresTarget
from paraply.targets.protocol import Target

pytestmark = pytest.mark.postgres

MADE = (
    "CREATE TABLE t (id INT PRIMARY KEY, a INT, s VARCHAR(9))",
    "CREATE TABLE empty (id INT PRIMARY KEY, a INT, at DATETIME)",
    "INSERT INTO t VALUES (1, 2, 'x')",
)
#: Statements behind these, and whether the last one stops.
LISTS: tuple[tuple[bool, tuple[str, ...]], ...] = (
    (True, ("CREATE SEQUENCE s",)),
    (True, ("CREATE TABLE v (id INT PRIMARY KEY) WITH SYSTEM VERSIONING",)),
    (True, ("SET SESSION sql_mode='ORACLE'", "CREATE TABLE o (id NUMBER PRIMARY KEY)")),
    (True, ("CREATE TABLE p (id INT PRIMARY KEY, at POINT)",)),
    (False, ("ALTER TABLE t ADD c VARCHAR(9) CHARACTER SET sjis",)),
    (True, ("ALTER TABLE t ADD c POINT",)),
    (True, ("ALTER TABLE t MODIFY s VARCHAR(9) CHARACTER SET sjis",)),
    (False, ("ALTER TABLE t MODIFY s VARCHAR(9) CHARACTER SET cp1251",)),
    (True, ("ALTER TABLE t ADD b DATETIME DEFAULT NOW()",)),
    (False, ("ALTER TABLE empty ADD b DATETIME DEFAULT NOW()",)),
    (False, ("TRUNCATE TABLE t", "ALTER TABLE t ADD b DATETIME DEFAULT NOW()")),
    (True, ("RENAME TABLE t TO u, empty TO t", "ALTER TABLE t ADD b DATETIME DEFAULT NOW()", "ALTER TABLE u ADD b DATETIME DEFAULT NOW()")),
    (False, ("ALTER TABLE t ADD b BOOLEAN NOT NULL DEFAULT FALSE", "ALTER TABLE t RENAME COLUMN a TO z")),
    (True, ("ALTER TABLE t MODIFY s BLOB",)),
    (False, ("ALTER TABLE empty MODIFY a DATE",)),
    (False, ("DROP TABLE t", "CREATE TABLE t (id INT PRIMARY KEY)", "ALTER TABLE t ADD b INT DEFAULT (1 + 1)")),
    (True, ("CREATE OR REPLACE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)", "ALTER TABLE t ADD b INT DEFAULT (1 + 1)")),
    (True, ("CREATE TABLE c (id INT PRIMARY KEY) SELECT 1 AS id", "ALTER TABLE c ADD b INT DEFAULT (1 + 1)")),
    (False, ("CREATE VIEW w AS SELECT 1", "CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW SET NEW.a = 1", "DROP VIEW w")),
    (True, (f"CREATE TABLE {'n' * 64} (id INT PRIMARY KEY)",)),
    (True, ("ALTER TABLE t ENGINE=InnoDB PARTITION BY HASH (id) PARTITIONS 2", "ALTER TABLE t TRUNCATE PARTITION p0")),
)


@pytest.fixture(scope="module")
def source() -> Iterator[tuple[Run, Callable[[Path], Path]]]:
    with running_mariadb(ROW_LOG) as server, server.connect() as connection:
        run = runner(connection)

        def copy_log(folder: Path) -> Path:
            run("FLUSH BINARY LOGS")
            name = str(run("SHOW BINARY LOGS")[-2][0])
            return Path(shutil.copy(server.data / name, folder / name))

        yield run, copy_log


@pytest.fixture(scope="module")
def standing() -> Iterator[Run]:
    """A target that holds tables already."""
    with running_mariadb(ROW_LOG) as server, server.connect() as connection:
        yield runner(connection)


@pytest.mark.parametrize(("stops", "statements"), LISTS)
def test_a_dry_run_stops_where_the_apply_ends(
    source: tuple[Run, Callable[[Path], Path]], database: Database, tmp_path: Path, stops: bool, statements: tuple[str, ...]
) -> None:
    run, copy_log = source
    run("DROP DATABASE IF EXISTS d_stops")
    run("SET SESSION sql_mode='STRICT_ALL_TABLES'")
    run("FLUSH BINARY LOGS")
    for sql in ("CREATE DATABASE d_stops CHARACTER SET utf8mb4", "USE d_stops", *MADE, *statements):
        run(sql)
    log = copy_log(tmp_path)
    with Applier([log], PostgresTarget(database.url), workers=0, allow_gap=True) as applier:
        found = applier.dry_run()
    assert found is not None
    expected = next(((one.place.position, one.problem) for one in found.statements if one.problem), None)
    assert found.stops == []
    ended = None
    with Applier([log], PostgresTarget(database.url), workers=0, allow_gap=True) as applier:
        try:
            applier.run()
        except ParaplyError as error:
            ended = (error.position, error.message)
    assert ended == expected
    assert (ended is not None) is stops


def test_a_dry_run_of_the_rest_knows_what_the_target_holds(
    source: tuple[Run, Callable[[Path], Path]], database: Database, tmp_path: Path
) -> None:
    run, copy_log = source
    run("DROP DATABASE IF EXISTS d_stops")
    run("SET SESSION sql_mode='STRICT_ALL_TABLES'")
    run("FLUSH BINARY LOGS")
    for sql in ("CREATE DATABASE d_stops CHARACTER SET utf8mb4", "USE d_stops", *MADE):
        run(sql)
    first = copy_log(tmp_path)
    with Applier([first], PostgresTarget(database.url), workers=0, allow_gap=True) as applier:
        applier.run()
    run("ALTER TABLE empty ADD b DATETIME DEFAULT NOW()")
    run("ALTER TABLE t ADD b DATETIME DEFAULT NOW()")
    second = copy_log(tmp_path)
    for logs in ([first, second], [second]):
        with Applier(logs, PostgresTarget(database.url), workers=0, allow_gap=True) as applier:
            found = applier.dry_run()
        assert found is not None
        assert ["has rows" in one.problem for one in found.statements if one.runs][-2:] == [False, True]


#: Statements of the target before the log's rows come, and whether these rows stop. The log holds no definition.
STANDING: tuple[tuple[bool, tuple[str, ...]], ...] = (
    (False, ()),
    (True, ("DROP TABLE d_rows.t",)),
    (False, ("ALTER TABLE d_rows.t ADD more INT",)),
    (True, ("ALTER TABLE d_rows.t ADD more INT NOT NULL",)),
    (True, ("ALTER TABLE d_rows.t MODIFY s VARCHAR(9) CHARACTER SET latin1",)),
    (True, ("ALTER TABLE d_rows.t DROP s",)),
    (True, ("ALTER TABLE d_rows.t MODIFY a BIGINT UNSIGNED",)),
    (True, ("ALTER TABLE d_rows.t ENGINE=MyISAM",)),
    (True, ("RENAME TABLE d_rows.t TO d_rows.T",)),
    (False, ("ALTER TABLE d_rows.t RENAME COLUMN a TO z",)),
    (False, ("ALTER TABLE d_rows.t ADD KEY (a)",)),
)
TABLE = "CREATE TABLE d_rows.t (id INT PRIMARY KEY, a INT, s VARCHAR(9)) CHARACTER SET utf8mb4"


def _log_of_rows(source: tuple[Run, Callable[[Path], Path]], folder: Path, *statements: str) -> Path:
    run, copy_log = source
    for sql in ("DROP DATABASE IF EXISTS d_rows", "CREATE DATABASE d_rows", "USE d_rows", TABLE, "FLUSH BINARY LOGS", *statements):
        run(sql)
    return copy_log(folder)


def _stops(log: Path, target: Callable[[], Target]) -> list[tuple[int | None, str]]:
    """Return the place at which a dry run and the apply end: none, or the same one."""
    with Applier([log], target(), workers=0, allow_gap=True) as applier:
        found = applier.dry_run()
    assert found is not None
    stops = [(stop.place.position, stop.problem) for stop in (*found.stops, *found.statements) if stop.problem]
    ended: list[tuple[int | None, str]] = []
    try:
        with Applier([log], target(), workers=0, allow_gap=True) as applier:
            applier.run()
    except ParaplyError as error:
        ended = [(error.position, error.message)]
    assert ended == sorted(stops)[:1]
    return stops


@pytest.mark.parametrize(("stops", "statements"), STANDING)
def test_rows_of_a_table_that_the_target_holds_otherwise(
    source: tuple[Run, Callable[[Path], Path]], standing: Run, tmp_path: Path, stops: bool, statements: tuple[str, ...]
) -> None:
    log = _log_of_rows(source, tmp_path, "INSERT INTO d_rows.t VALUES (1, 2, 'x')", "UPDATE d_rows.t SET a = 3")
    for sql in ("DROP DATABASE IF EXISTS d_rows", "DROP DATABASE IF EXISTS paraply", "CREATE DATABASE d_rows", TABLE, *statements):
        standing(sql)
    url = str(standing("SELECT CONCAT('mysql://app:app@127.0.0.1:', @@port)")[0][0])
    assert bool(_stops(log, lambda: make_target(url))) is stops


def test_rows_of_a_table_that_the_log_makes_or_changes_are_not_compared_with_the_target(
    source: tuple[Run, Callable[[Path], Path]], standing: Run, tmp_path: Path
) -> None:
    statements = ["ALTER TABLE d_rows.t ADD more INT", "CREATE TABLE d_rows.u (id INT PRIMARY KEY)", "RENAME TABLE d_rows.u TO d_rows.v"]
    log = _log_of_rows(source, tmp_path, *statements, "INSERT INTO d_rows.t VALUES (1, 2, 'x', 3)", "INSERT INTO d_rows.v VALUES (1)")
    for sql in ("DROP DATABASE IF EXISTS d_rows", "DROP DATABASE IF EXISTS paraply", "CREATE DATABASE d_rows", TABLE):
        standing(sql)
    url = str(standing("SELECT CONCAT('mysql://app:app@127.0.0.1:', @@port)")[0][0])
    assert _stops(log, lambda: make_target(url)) == []


def test_rows_of_a_table_without_definition_stop_in_postgresql(
    source: tuple[Run, Callable[[Path], Path]], database: Database, tmp_path: Path
) -> None:
    log = _log_of_rows(source, tmp_path, "INSERT INTO d_rows.t VALUES (1, 2, 'x')")
    assert "give it with --schema" in _stops(log, lambda: PostgresTarget(database.url))[0][1]


@pytest.mark.parametrize(
    ("stops", "made"),
    [
        (False, "id integer PRIMARY KEY, a integer, s varchar(9)"),
        (False, "id integer PRIMARY KEY, a integer, s varchar(9), more integer"),
        (True, "id integer PRIMARY KEY, a integer, s varchar(9), more integer NOT NULL"),
        (True, "id integer PRIMARY KEY, a integer"),
        (True, "id integer PRIMARY KEY, a integer, s integer"),
        (True, "id integer PRIMARY KEY, a integer, s varchar(9) GENERATED ALWAYS AS ('x') STORED"),
    ],
)
def test_definitions_of_a_dump_that_postgresql_holds_otherwise(
    source: tuple[Run, Callable[[Path], Path]], database: Database, tmp_path: Path, stops: bool, made: str
) -> None:
    log = _log_of_rows(source, tmp_path, "INSERT INTO d_rows.t VALUES (1, 2, 'x')")
    dump = tmp_path / "schema.sql"
    dump.write_text(f"CREATE DATABASE d_rows;\nUSE d_rows;\n{TABLE.replace('d_rows.', '')};\n")
    database.sql(f"CREATE SCHEMA d_rows; CREATE TABLE d_rows.t ({made})")
    messages = []
    for call in (Applier.dry_run, Applier.run):
        with Applier([log], PostgresTarget(database.url), workers=0, allow_gap=True, schema=read_dump(dump)) as applier:
            try:
                call(applier)
            except SchemaMismatch as error:
                messages.append((error.table, error.message))
    assert messages == ([messages[0]] * 2 if stops else [])
