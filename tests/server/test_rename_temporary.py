"""RENAME TABLE of temporary tables, which MariaDB logs as if they were others: PostgreSQL renames no table for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from server.replay import run
from server.version_servers import VersionServers, logged, make_version_servers

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
