"""A dry run of a MySQL log marks with STOP the place at which the apply ends, for each statement that PostgreSQL refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from own_mysql import OwnMySql, running_mysql
from pg_databases import Database
from server.source_log import copy_binlogs
from servers import sql_connect

from paraply.applier import Applier
from paraply.errors import ParaplyError
from paraply.targets import make_target
from paraply.targets.protocol import Target

pytestmark = [pytest.mark.mysql, pytest.mark.postgres]

MADE = (
    "CREATE DATABASE d_mine CHARACTER SET utf8mb4", "USE d_mine", "CREATE TABLE t (id INT PRIMARY KEY, a INT, s VARCHAR(9))",
    "INSERT INTO t VALUES (1, 2, 'x')", "CREATE EVENT e ON SCHEDULE EVERY 1 HOUR DISABLE DO SELECT 1",
)  # fmt: skip
AFTER = "INSERT INTO t (id) VALUES (9)"
INTO_POSTGRESQL = (
    "CREATE TABLE p (id INT PRIMARY KEY, at POINT)",
    "CREATE TABLE v (id INT PRIMARY KEY, e VECTOR(3))",
    "ALTER TABLE t ADD c POINT",
    "ALTER TABLE t MODIFY s VARCHAR(9) CHARACTER SET sjis",
    "ALTER TABLE t MODIFY s BLOB",
    "ALTER TABLE t ADD b INT DEFAULT (1 + 1)",
    "ALTER TABLE t ADD b DOUBLE DEFAULT (ABS(-2.5))",
    "ALTER TABLE t ADD b INT GENERATED ALWAYS AS (a + 1) STORED",
    f"CREATE TABLE {'n' * 64} (id INT PRIMARY KEY)",
    f"ALTER TABLE t ADD {'c' * 64} INT",
    "CREATE TABLE g (id INT PRIMARY KEY, at GEOMETRY)",
    "ALTER TABLE t ADD b INT AUTO_INCREMENT UNIQUE",
)


@pytest.fixture(scope="module")
def source() -> Iterator[OwnMySql]:
    with running_mysql() as server:
        yield server


def ends(source: OwnMySql, folder: Path, statement: str, target: Callable[[], Target]) -> tuple[object, object]:
    """Return the first stop of the dry run, and the place at which the apply ends."""
    port, user = int(source.url.rpartition(":")[2]), source.url.partition("//")[2].partition(":")[0]
    password = source.url.partition("@")[0].rpartition(":")[2]
    connection = sql_connect(host="127.0.0.1", port=port, user=user, password=password, autocommit=True)
    with connection, connection.cursor() as cursor:
        for sql in ("DROP DATABASE IF EXISTS d_mine", "RESET BINARY LOGS AND GTIDS", *MADE, statement, AFTER):
            cursor.execute(sql)
    logs = copy_binlogs(source.url, folder)
    with Applier(logs, target(), workers=0) as applier:
        found = applier.dry_run()
    assert found is not None
    stops = [(one.place.file, one.place.position) for one in (*found.stops, *found.statements) if one.problem]
    ended = None
    try:
        with Applier(logs, target(), workers=0) as applier:
            applier.run()
    except ParaplyError as error:
        ended = (error.file, error.position)
    return min(stops, default=None), ended


@pytest.mark.parametrize("statement", INTO_POSTGRESQL)
def test_a_dry_run_into_postgresql_stops_where_the_apply_ends(source: OwnMySql, database: Database, tmp_path: Path, statement: str) -> None:
    planned, ended = ends(source, tmp_path, statement, lambda: make_target(database.url))
    assert planned == ended
    assert ended is not None
