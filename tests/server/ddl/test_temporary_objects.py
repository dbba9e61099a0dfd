"""Statements about temporary tables and sequences that MariaDB logs: no table is renamed for them, and sequences are passed over."""

from __future__ import annotations

from pathlib import Path

import pytest
from server.replay import run
from server.version_servers import VersionServers, logged, make_version_servers, replayed
from tests.pg_databases import Database

__all__ = ["make_version_servers"]

SETUP = ("CREATE DATABASE d", "USE d", "CREATE TABLE t (a INT)", "INSERT INTO t VALUES (1)", "CREATE TABLE u (a INT)")


@pytest.mark.parametrize(
    ("temporary", "rename", "reason"),
    [
        ("CREATE TEMPORARY TABLE t (b INT)", "RENAME TABLE t TO v, t TO w", "d.t is renamed twice"),
        ("CREATE TEMPORARY TABLE t (b INT)", "RENAME TABLE t TO u", "d.u exists, so that d.t is a temporary table"),
    ],
)
def test_r13_a_rename_that_only_a_temporary_table_explains_is_refused(
    make_version_servers: VersionServers, tmp_path: Path, database: Database, temporary: str, rename: str, reason: str
) -> None:
    log = logged(make_version_servers.source("11.8"), tmp_path, *SETUP, temporary, rename)
    outcome = run(log, database.url)
    assert outcome.code == 3
    assert reason in outcome.report["error"]["message"]
    assert "--ddl-done" in outcome.report["error"]["message"]
    assert sorted(table for (table,) in database.sql("SELECT tablename FROM pg_tables WHERE schemaname = 'd'")) == ["t", "u"]


def test_a_renamed_temporary_table_beside_no_other_one_changes_nothing(
    make_version_servers: VersionServers, tmp_path: Path, database: Database
) -> None:
    log = logged(make_version_servers.source("11.8"), tmp_path, *SETUP, "CREATE TEMPORARY TABLE x (b INT)", "RENAME TABLE x TO u, t TO v")
    outcome = run(log, database.url)
    assert outcome.code == 0
    assert sorted(table for (table,) in database.sql("SELECT tablename FROM pg_tables WHERE schemaname = 'd'")) == ["u", "v"]


@pytest.mark.parametrize("version", ["10.5", "11.8"])
def test_r31_temporary_sequences_are_passed_over(
    make_version_servers: VersionServers, tmp_path: Path, database: Database, version: str
) -> None:
    source, target = make_version_servers.source(version), make_version_servers.target(version)
    statements = (
        "CREATE TEMPORARY SEQUENCE s", "INSERT INTO t SELECT NEXTVAL(s) + 10", "CREATE OR REPLACE TEMPORARY SEQUENCE s",
        "SET STATEMENT max_statement_time=5 FOR CREATE TEMPORARY SEQUENCE IF NOT EXISTS s", "START TRANSACTION", "INSERT INTO u VALUES (2)",
        "CREATE TEMPORARY SEQUENCE s2 START WITH 7", "INSERT INTO u VALUES (NEXTVAL(s2))", "COMMIT", "DROP SEQUENCE s", "DROP SEQUENCE s2",
        "CREATE TABLE d.table (a INT DEFAULT 3, value FLOAT)", "INSERT INTO d.table (value) VALUES (1.5)",
    )  # fmt: skip
    log = logged(source, tmp_path, *SETUP, *statements)
    replayed(log, target)
    queries = ("SELECT a FROM d.t ORDER BY a", "SELECT a FROM d.u ORDER BY a", "SELECT a, value FROM d.table")
    assert [target.sql(query) for query in queries] == [source.sql(query) for query in queries] == [[(1,), (11,)], [(2,), (7,)], [(3, 1.5)]]
    assert run(log, database.url).code == 0
    assert [database.sql(query.replace("d.table", 'd."table"')) for query in queries] == [[(1,), (11,)], [(2,), (7,)], [(3, 1.5)]]
