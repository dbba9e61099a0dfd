"""Statements that ended in an error on the source, and that the log holds for the part that was done."""

from __future__ import annotations

from pathlib import Path

import pymysql
import pytest
from server.replay import run
from server.version_servers import Server, VersionServers, logged, make_version_servers, replayed, seen
from tests.pg_databases import Database

__all__ = ["make_version_servers"]

BEFORE = (
    "CREATE DATABASE d", "USE d", "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)", "CREATE VIEW v AS SELECT 1 AS a",
    "CREATE VIEW kept AS SELECT 2 AS a", "CREATE USER ua, ub, uc", "CREATE ROLE ra", "GRANT SELECT ON d.t TO ub",
)  # fmt: skip
#: Each fails on the source after a part of it was done.
FAILED = (
    "DROP USER ua, missing", "CREATE USER ud, ub", "DROP ROLE ra, missing", "DROP VIEW v, missing",
    "REVOKE ALL PRIVILEGES, GRANT OPTION FROM ub, missing", "RENAME USER uc TO ue, missing TO uf",
)  # fmt: skip
AFTER = ("INSERT INTO t VALUES (2)",)
ACCOUNTS = "SELECT user FROM mysql.user WHERE user IN ('ua', 'ub', 'uc', 'ud', 'ue', 'uf', 'ra', 'missing') ORDER BY user"
READS = (ACCOUNTS, "SHOW GRANTS FOR ub", "SHOW FULL TABLES FROM d", "SELECT id FROM d.t ORDER BY id")
PAIRS = [("10.5", "10.5"), ("10.5", "10.11"), ("10.11", "11.8"), ("11.8", "11.8")]


def partly_failed(source: Server, folder: Path) -> Path:
    """Return the log of the statements; those that fail are tried for themselves."""
    without_accounts(source)
    log = folder / "log"
    log.mkdir()
    first = logged(source, folder, *BEFORE)
    with source.connect("d") as connection, connection.cursor() as cursor:
        for statement in FAILED:
            with pytest.raises(pymysql.MySQLError):
                cursor.execute(statement)
        for statement in AFTER:
            cursor.execute(statement)
    name = str(source.sql("SHOW BINARY LOGS")[-1][0])
    source.sql("FLUSH BINARY LOGS")
    first.rename(log / first.name)
    (log / name).write_bytes((source.data / name).read_bytes())
    return log


def without_accounts(server: Server) -> None:
    """Remove the accounts of the tests, without a trace in the log."""
    for kind, names in (("USER", ("ua", "ub", "uc", "ud", "ue", "uf", "missing")), ("ROLE", ("ra",))):
        for name in names:
            server.sql("SET sql_log_bin=0", f"DROP {kind} IF EXISTS {name}")


@pytest.mark.parametrize("gtid", ["record", "preserve", "none"])
@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_r33_a_statement_that_failed_on_the_source_has_the_same_effect(
    make_version_servers: VersionServers, tmp_path: Path, old: str, new: str, gtid: str
) -> None:
    source, target = make_version_servers.source(old), make_version_servers.target(new)
    log = partly_failed(source, tmp_path)
    without_accounts(target)
    replayed(log, target, "--gtid", gtid)
    left = seen(source, *READS)
    assert seen(target, *READS) == left
    assert left[0] == [("ub",), ("ud",), ("ue",)]


def test_r33_another_outcome_than_on_the_source_stops(make_version_servers: VersionServers, tmp_path: Path) -> None:
    source, target = make_version_servers.source("11.8"), make_version_servers.target("11.8")
    log = partly_failed(source, tmp_path)
    without_accounts(target)
    target.sql("CREATE USER missing")
    outcome = run(log, target.url)
    assert outcome.code == 1
    message = outcome.report["error"]["message"]
    assert "ended in error 1396 on the source, and in no error on the target" in message
    assert "--ddl-done" in message
    assert run(log, target.url).code == 1
    replayed(log, target, "--ddl-done")
    assert seen(target, *READS) == seen(source, *READS)


def test_r33_the_dry_run_takes_such_statements(make_version_servers: VersionServers, tmp_path: Path) -> None:
    source, target = make_version_servers.source("11.8"), make_version_servers.target("11.8")
    log = partly_failed(source, tmp_path)
    without_accounts(target)
    assert run(log, target.url, "--dry-run").code == 0


def test_r33_such_statements_change_no_table_of_postgres(make_version_servers: VersionServers, tmp_path: Path, database: Database) -> None:
    source = make_version_servers.source("11.8")
    log = partly_failed(source, tmp_path)
    assert run(log, database.url).code == 0
    assert database.sql("SELECT id FROM d.t ORDER BY id") == [(1,), (2,)]
