"""Statements under the variables of their session, between versions of MariaDB (R33): what a log holds, and what it does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from server.replay import run
from server.version_servers import VersionServers, logged, make_version_servers, replayed, seen

__all__ = ["make_version_servers"]

#: MariaDB before 10.6 calls utf8mb3 by its old name.
COLLATIONS = (
    "SELECT table_name, column_name, REPLACE(collation_name, 'utf8_', 'utf8mb3_') FROM information_schema.columns"
    " WHERE table_schema='d' ORDER BY 1, 2"
)
DATABASES = (
    "SELECT schema_name, REPLACE(default_collation_name, 'utf8_', 'utf8mb3_') FROM information_schema.schemata"
    " WHERE schema_name IN ('d', 'd2', 'd3')"
)
OLD_PAIRS = [("10.5", "11.8"), ("10.11", "11.8"), ("10.5", "10.11"), ("10.11", "10.5")]
CHARSET_DDL = (
    "CREATE DATABASE d", "CREATE DATABASE d2 CHARACTER SET utf8mb4", "ALTER DATABASE d2 CHARACTER SET latin1",
    "CREATE DATABASE d3 CHARACTER SET utf8", "ALTER DATABASE d3 CHARACTER SET utf8mb4",
    "CREATE TABLE d.t1 (id INT PRIMARY KEY, a VARCHAR(20)) DEFAULT CHARSET=utf8mb4",
    "CREATE TABLE d.t2 (id INT PRIMARY KEY, a VARCHAR(20) CHARACTER SET utf8mb4, UNIQUE (a)) DEFAULT CHARSET=latin1",
    "CREATE TABLE d.t3 (a VARCHAR(20) CHARSET utf8, b TEXT CHARSET ucs2, c CHAR(3) CHARSET utf32, d TEXT CHARSET utf16)",
    "CREATE TABLE d.t4 (a VARCHAR(20)) CHARSET latin1", "ALTER TABLE d.t4 CONVERT TO CHARACTER SET utf8mb4",
    "CREATE TABLE d.t5 (a VARCHAR(20)) CHARSET latin1", "ALTER TABLE d.t5 ADD b TEXT CHARACTER SET utf8mb4, DEFAULT CHARSET utf8mb4",
    "ALTER TABLE d.t5 ADD c TEXT",
    "INSERT INTO d.t1 VALUES (1, 'straße')", "INSERT INTO d.t2 VALUES (1, 'straße'), (2, 'strasse')",
)  # fmt: skip


@pytest.mark.parametrize(("old", "new"), OLD_PAIRS)
def test_r33_a_character_set_without_a_collation_gets_the_sources_default(
    make_version_servers: VersionServers, tmp_path: Path, old: str, new: str
) -> None:
    source, target = make_version_servers.source(old), make_version_servers.target(new)
    replayed(logged(source, tmp_path, *CHARSET_DDL), target)
    assert seen(target, COLLATIONS, DATABASES) == seen(source, COLLATIONS, DATABASES)
    read = "SELECT id FROM d.t1 WHERE a='strasse'"
    assert seen(target, read) == seen(source, read)


@pytest.mark.parametrize(
    "collations",
    ["DEFAULT", "''", "'utf8mb4=utf8mb4_unicode_ci'", "'latin1=latin1_german2_ci,utf8mb3=utf8mb3_bin,utf16=utf16_uca1400_as_cs'"],
)
def test_r33_default_collations_of_the_session_are_taken_over(
    make_version_servers: VersionServers, tmp_path: Path, collations: str
) -> None:
    source = make_version_servers.source("11.8")
    target = make_version_servers.target("11.8", "--character-set-collations=utf8mb4=utf8mb4_bin,latin1=latin1_bin")
    ddl = [statement for statement in CHARSET_DDL if "strasse" not in statement]
    log = logged(source, tmp_path, f"SET character_set_collations={collations}", *ddl, "CREATE TABLE d.t6 (a TEXT) CHARSET latin1")
    replayed(log, target)
    assert seen(target, COLLATIONS, DATABASES) == seen(source, COLLATIONS, DATABASES)


def test_r33_default_collations_that_an_older_target_cannot_have_are_refused(make_version_servers: VersionServers, tmp_path: Path) -> None:
    source = make_version_servers.source("11.8", "--collation-server=utf8mb4_general_ci")
    target = make_version_servers.target("10.11")
    log = logged(
        source, tmp_path, "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci", "CREATE DATABASE d", "CREATE TABLE d.t1 (a INT) CHARSET utf8mb4"
    )
    outcome = run(log, target.url)
    assert outcome.code == 3
    assert "character_set_collations" in outcome.report["error"]["message"]
    assert seen(target, "SHOW TABLES FROM d") == [[]]


@pytest.mark.parametrize("names", ["utf8mb4", "utf8mb3", "latin1", "utf8mb4 COLLATE utf8mb4_uca1400_as_cs", "utf8mb3 COLLATE utf8mb3_bin"])
def test_r33_the_sessions_character_set_is_set_by_name(make_version_servers: VersionServers, tmp_path: Path, names: str) -> None:
    source, target = (
        make_version_servers.source("11.8"),
        make_version_servers.target("11.8", "--character-set-server=latin1", "--collation-server=latin1_bin"),
    )
    log = logged(
        source, tmp_path, f"SET NAMES {names}", "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, a VARCHAR(10) DEFAULT 'x')",
        "CREATE VIEW d.v AS SELECT 'a' AS literal, id FROM d.t", "INSERT INTO d.t VALUES (1, 'x')",
    )  # fmt: skip
    replayed(log, target)
    reads = (
        COLLATIONS,
        DATABASES,
        "SELECT character_set_client, collation_connection FROM information_schema.views WHERE table_schema='d'",
    )
    assert seen(target, *reads) == seen(source, *reads)


def test_r33_a_collation_that_the_target_does_not_have_is_refused(make_version_servers: VersionServers, tmp_path: Path) -> None:
    source, target = make_version_servers.source("11.8"), make_version_servers.target("10.5")
    outcome = run(logged(source, tmp_path, "CREATE DATABASE d"), target.url)
    assert outcome.code == 3
    assert "collation 2304, which the target does not have" in outcome.report["error"]["message"]


@pytest.mark.parametrize(("old", "new"), [("10.5", "10.5"), ("10.5", "11.8"), ("10.11", "11.8"), ("11.8", "11.8")])
def test_r33_a_table_with_versions_is_altered(make_version_servers: VersionServers, tmp_path: Path, old: str, new: str) -> None:
    source, target = make_version_servers.source(old), make_version_servers.target(new)
    log = logged(
        source, tmp_path, "CREATE DATABASE d", "CREATE TABLE d.sv (id INT PRIMARY KEY, a INT) WITH SYSTEM VERSIONING",
        "INSERT INTO d.sv VALUES (1, 1)", "UPDATE d.sv SET a=2", "SET system_versioning_alter_history=KEEP",
        "ALTER TABLE d.sv ADD c INT DEFAULT 5", "UPDATE d.sv SET c=6", "ALTER TABLE d.sv DROP a",
    )  # fmt: skip
    replayed(log, target)
    reads = ("SELECT * FROM d.sv", "SELECT * FROM d.sv FOR SYSTEM_TIME ALL ORDER BY c")
    assert seen(target, *reads) == seen(source, *reads)


DIFFERENT = (
    "--auto-increment-increment=3", "--auto-increment-offset=2", "--lc-time-names=de_DE", "--default-week-format=3",
    "--div-precision-increment=9", "--default-regex-flags=EXTENDED", "--sql-mode=ANSI",
    "--explicit-defaults-for-timestamp=OFF", "--character-set-server=latin1", "--collation-server=latin1_bin",
    "--system-versioning-alter-history=ERROR",
)  # fmt: skip
COMPUTED = (
    "CREATE DATABASE d", "CREATE TABLE d.t (a DATE, b INT, s VARCHAR(20)) CHARSET latin1",
    "INSERT INTO d.t VALUES ('2026-05-03', 7, 'a b'), ('2025-12-30', 2, 'ab')",
    "ALTER TABLE d.t ADD id INT AUTO_INCREMENT PRIMARY KEY FIRST", "ALTER TABLE d.t ADD m VARCHAR(20) DEFAULT (MONTHNAME(a))",
    "ALTER TABLE d.t ADD w INT DEFAULT (WEEK(a))", "ALTER TABLE d.t ADD q VARCHAR(30) DEFAULT (b / 3)",
    "ALTER TABLE d.t ADD r INT DEFAULT (s REGEXP 'a b')", "CREATE TABLE d.ts (a TIMESTAMP, b TIMESTAMP)",
    "SET explicit_defaults_for_timestamp=0", "CREATE TABLE d.ts2 (a TIMESTAMP, b TIMESTAMP)",
    "SET auto_increment_increment=5, auto_increment_offset=4", "CREATE TABLE d.u (a INT)", "INSERT INTO d.u VALUES (1), (2)",
    "ALTER TABLE d.u ADD id INT AUTO_INCREMENT PRIMARY KEY", "SET lc_time_names='fr_FR'",
    "ALTER TABLE d.t ADD m2 VARCHAR(20) DEFAULT (MONTHNAME(a))",
)  # fmt: skip


@pytest.mark.parametrize(("old", "new"), [("10.5", "10.5"), ("10.11", "10.11"), ("11.8", "11.8"), ("10.5", "11.8"), ("10.11", "11.8")])
def test_r33_the_targets_own_settings_do_not_change_what_a_statement_means(
    make_version_servers: VersionServers, tmp_path: Path, old: str, new: str
) -> None:
    options = (*DIFFERENT, *(("--old-mode=",) if new != "10.5" else ()))
    source, target = make_version_servers.source(old), make_version_servers.target(new, *options)
    replayed(logged(source, tmp_path, *COMPUTED, "CREATE TABLE d.c (a TEXT CHARACTER SET utf8)"), target)
    columns = (
        "SELECT table_name, column_name, column_type, is_nullable, column_default, extra, REPLACE(collation_name, 'utf8_', 'utf8mb3_')"
        " FROM information_schema.columns WHERE table_schema='d' ORDER BY 1, 2"
    )
    reads = ("SELECT * FROM d.t ORDER BY id", "SELECT * FROM d.u ORDER BY id", columns)
    assert seen(target, *reads) == seen(source, *reads)


@pytest.mark.parametrize("version", ["10.5", "10.11", "11.8"])
def test_r33_the_if_exists_of_the_session_is_taken_over(make_version_servers: VersionServers, tmp_path: Path, version: str) -> None:
    source, target = make_version_servers.source(version), make_version_servers.target(version)
    log = logged(
        source, tmp_path, "CREATE DATABASE d", "SET sql_if_exists=1", "DROP TABLE IF EXISTS d.no", "DROP TABLE d.no", "DROP VIEW d.no",
        "DROP DATABASE no", "DROP PROCEDURE d.no", "DROP TRIGGER d.no", "SET sql_if_exists=0", "CREATE TABLE d.t (a INT PRIMARY KEY)",
        "INSERT INTO d.t VALUES (1)",
    )  # fmt: skip
    replayed(log, target)
    assert seen(target, "SELECT * FROM d.t") == seen(source, "SELECT * FROM d.t")


def test_r33_the_insert_history_of_the_session_is_taken_over(make_version_servers: VersionServers, tmp_path: Path) -> None:
    source, target = make_version_servers.source("10.11"), make_version_servers.target("11.8")
    log = logged(source, tmp_path, "SET system_versioning_insert_history=1", "CREATE DATABASE d", "CREATE TABLE d.t (a INT)")
    replayed(log, target)
    older = make_version_servers.target("10.5")
    outcome = run(log, older.url)
    assert outcome.code == 3
    assert "system_versioning_insert_history=1" in outcome.report["error"]["message"]


ENGINES = "SELECT table_name, engine FROM information_schema.tables WHERE table_schema='d' ORDER BY table_name"


@pytest.mark.parametrize(("old", "new"), OLD_PAIRS)
def test_r33_the_targets_own_storage_engine_and_strictness_are_not_used(
    make_version_servers: VersionServers, tmp_path: Path, old: str, new: str
) -> None:
    source, target = (
        make_version_servers.source(old, "--innodb-strict-mode=OFF"),
        make_version_servers.target(new, "--default-storage-engine=MyISAM"),
    )
    log = logged(
        source, tmp_path, "CREATE DATABASE d", "CREATE TABLE d.t1 (id INT PRIMARY KEY)", "CREATE TABLE d.t2 (id INT) ENGINE=Aria",
        "CREATE TABLE d.t3 (id INT PRIMARY KEY) ROW_FORMAT=DYNAMIC KEY_BLOCK_SIZE=16", "INSERT INTO d.t1 VALUES (1)",
    )  # fmt: skip
    replayed(log, target)
    assert seen(target, ENGINES, "SELECT * FROM d.t1") == seen(source, ENGINES, "SELECT * FROM d.t1")
