"""Statements and columns of MariaDB whose values follow from the session or the server's order of work, into PostgreSQL.

Without explicit_defaults_for_timestamp (the default up to 10.9, a bit of a statement's flags) a TIMESTAMP is NOT NULL, and the first one
of a table has CURRENT_TIMESTAMP as its default. With EMPTY_STRING_IS_NULL the literal ``''`` is NULL. A virtual column over the
AUTO_INCREMENT column is logged as computed before the row got its number.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from reader_view import postgres_differences
from server.replay import Outcome, run
from server.version_servers import VersionServers, logged, make_version_servers
from tests.pg_databases import Database

__all__ = ["make_version_servers"]

pytestmark = pytest.mark.mariadb
SETUP = ("SET NAMES utf8mb4 COLLATE utf8mb4_general_ci, time_zone='+00:00'", "CREATE DATABASE d", "USE d")
IMPLICIT = "SET SESSION explicit_defaults_for_timestamp=0"
ONE = ("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
NULLS = ("CREATE TABLE t (id INT PRIMARY KEY, z TIMESTAMP NULL)", "INSERT INTO t VALUES (1, NULL)")
EMPTY = "SET sql_mode='EMPTY_STRING_IS_NULL'"
EMPTY_DEFAULTS = (
    "ADD a VARCHAR(5) DEFAULT ''", "ADD b CHAR(3) DEFAULT N''", "ADD c VARCHAR(4) DEFAULT _utf8mb4''", "ADD e BINARY(2) DEFAULT ''",
    "ADD f VARBINARY(3) DEFAULT x''", "ADD g SET('x') DEFAULT ''", "ADD h VARCHAR(3) DEFAULT ('')",
)  # fmt: skip
NUMBERED = "CREATE TABLE t (a INT, id INT AUTO_INCREMENT PRIMARY KEY, g INT AS (id * 2 + a) VIRTUAL, h INT AS (g + 1) VIRTUAL)"
KEYLESS = "CREATE TABLE t (a INT, id INT AUTO_INCREMENT, g INT AS (id + a) VIRTUAL, KEY (id))"
CHANGES = ("INSERT INTO t (a) VALUES (1), (2), (3)", "DELETE FROM t WHERE a = 2", "UPDATE t SET a = 7 WHERE a = 3")
ONLY_SOURCE = "values that only the source can compute"


def outcome_of(
    servers: VersionServers, version: str, folder: Path, database: Database, statements: Sequence[str]
) -> tuple[Outcome, list[str]]:
    """Replay the statements of a MariaDB into PostgreSQL; return the outcome and the differences."""
    source = servers.source(version)
    log = logged(source, folder, *SETUP, *statements)
    outcome = run(log, database.url)
    with closing(source.connect()) as connection, connection.cursor() as cursor:
        return outcome, postgres_differences(cursor, database.url, ["d"]) if outcome.code == 0 else []


@pytest.mark.parametrize("version", ["10.5", "10.11", "11.8"])
@pytest.mark.parametrize(
    "statements",
    [
        pytest.param((IMPLICIT, *ONE, "ALTER TABLE t ADD ts TIMESTAMP"), id="first"),
        pytest.param((IMPLICIT, *ONE, "ALTER TABLE t ADD ts TIMESTAMP(3) NOT NULL AFTER id, ADD b TIMESTAMP NULL"), id="fraction"),
        pytest.param((IMPLICIT, *NULLS, "ALTER TABLE t ADD ts TIMESTAMP FIRST"), id="before another"),
        pytest.param((IMPLICIT, *NULLS, "ALTER TABLE t CHANGE z y TIMESTAMP NULL DEFAULT NULL"), id="stays NULL"),
        pytest.param((IMPLICIT, "CREATE TABLE t (id INT PRIMARY KEY, a TIMESTAMP)", "INSERT INTO t VALUES (1, NULL)"), id="create"),
        pytest.param(
            (EMPTY, *ONE, f"ALTER TABLE t {', '.join(EMPTY_DEFAULTS)}"),
            id="empty strings",
        ),
        pytest.param((NUMBERED, *CHANGES), id="over AUTO_INCREMENT"),
        pytest.param((KEYLESS, *CHANGES), id="over AUTO_INCREMENT, without a key"),
    ],
)  # fmt: skip
def test_r32_r33_values_follow_the_session_as_on_the_source(
    make_version_servers: VersionServers, tmp_path: Path, database: Database, version: str, statements: Sequence[str]
) -> None:
    outcome, differences = outcome_of(make_version_servers, version, tmp_path, database, statements)
    assert outcome.code == 0, outcome.report["error"]
    assert not differences


@pytest.mark.parametrize("version", ["10.5", "11.8"])
@pytest.mark.parametrize(
    ("statements", "code", "reason"),
    [
        ((IMPLICIT, *NULLS, "ALTER TABLE t ADD ts TIMESTAMP"), 3, ONLY_SOURCE),  # 0000-00-00
        ((IMPLICIT, *NULLS, "ALTER TABLE t MODIFY z TIMESTAMP"), 3, ONLY_SOURCE),
        (
            ("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a INT, g VARCHAR(20) AS (CONCAT('x', id)) VIRTUAL)", CHANGES[0]),
            1,
            "generated column g of d.t reads the AUTO_INCREMENT column",
        ),
    ],
    ids=["a second TIMESTAMP", "NULL becomes a time", "an expression that is not understood"],
)
def test_r13_values_that_only_the_source_knows_are_refused(
    make_version_servers: VersionServers,
    tmp_path: Path,
    database: Database,
    version: str,
    statements: Sequence[str],
    code: int,
    reason: str,
) -> None:
    outcome, _ = outcome_of(make_version_servers, version, tmp_path, database, statements)
    assert outcome.code == code
    assert reason in outcome.report["error"]["message"]
