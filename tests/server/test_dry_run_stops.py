"""A dry run marks a statement with STOP exactly where the apply of the same log ends."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from mariadb_versions import ROW_LOG
from pg_databases import Database
from servers import running_mariadb

from paraply.applier import Applier
from paraply.errors import ParaplyError
from paraply.targets.postgres.target import PostgresTarget
from tests.server.test_schema_against_server import Run, runner

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
