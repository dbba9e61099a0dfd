"""Literals of statements whose connection's character set lacks some of their characters (R33): the server puts question marks there."""

from __future__ import annotations

from pathlib import Path

import pytest
from reader_view import differences, family_contents, postgres_differences
from server.replay import applied, run
from server.version_servers import Server, VersionServers, logged, make_version_servers
from tests.pg_databases import Database

__all__ = ["make_version_servers"]

VERSIONS = ("10.5", "10.11", "11.8")
START = ("CREATE DATABASE shop CHARACTER SET utf8mb4", "USE shop", "SET sql_mode=''")
TABLE = (
    "CREATE TABLE a (id INT PRIMARY KEY, e ENUM('漢','é','x'), c VARCHAR(9) DEFAULT '漢' COMMENT '漢') COMMENT '漢'",
    "INSERT INTO a VALUES (1, 1, '漢'), (2, 2, 'é')",
)
#: A client in UTF-8, and a connection in another character set, as ``SET CHARACTER SET`` makes it in an old database.
LITERALS = (
    "SET character_set_connection=latin1",
    "CREATE TABLE t (id INT PRIMARY KEY, e ENUM('漢','é','x'), s SET('€','ж'), c VARCHAR(9) DEFAULT 'ж€')",
    "INSERT INTO t (id, e, s) VALUES (1, 1, 3), (2, 2, 1)",
    "ALTER TABLE t ADD d VARCHAR(9) DEFAULT '漢x', ADD i VARCHAR(9) NOT NULL DEFAULT _utf8mb4'漢', ADD w VARCHAR(9) DEFAULT '€é'",
    "SET character_set_connection=koi8r",
    "ALTER TABLE t ADD k VARCHAR(9) DEFAULT 'жé', ADD l ENUM('ж','é') DEFAULT 'ж'",
    "UPDATE t SET l=2 WHERE id=1",
    "SET character_set_connection=utf8mb3",
    "ALTER TABLE t ADD m VARCHAR(9) DEFAULT '😀漢'",
    "SET character_set_connection=ascii",
    "ALTER TABLE t ADD q VARCHAR(9) DEFAULT 'é漢'",
    "SET character_set_connection=binary",
    "ALTER TABLE t ADD r VARCHAR(9) DEFAULT 'é漢'",
)
#: Labels that their column's character set does not have.
LABELS = (
    "CREATE TABLE t (id INT PRIMARY KEY, e ENUM('漢','é') CHARACTER SET latin1, s SET('ж','w') CHARACTER SET latin1)",
    "ALTER TABLE t ADD k ENUM('ж','é') CHARACTER SET koi8r",
    "INSERT INTO t VALUES (1, 1, 1, 1), (2, 2, 3, 2)",
)
#: The server writes this statement anew, with the labels and defaults of the table.
SELECTED = ("CREATE TABLE b AS SELECT *, 'é' AS lit FROM a", "CREATE TABLE b2 (z INT DEFAULT 5) AS SELECT * FROM a")


def differing(source: Server, target: Server) -> list[str]:
    with source.connect() as left, target.connect() as right, left.cursor() as source_cursor, right.cursor() as target_cursor:
        return differences(family_contents(source_cursor, ["shop"]), family_contents(target_cursor, ["shop"]))


def differing_from_postgres(source: Server, database: Database) -> list[str]:
    with source.connect() as connection, connection.cursor() as cursor:
        return postgres_differences(cursor, database.url, ["shop"])


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("statements", [LITERALS, LABELS], ids=["literals", "labels"])
def test_r33_characters_that_are_lost_on_the_source_are_lost_in_postgres(
    make_version_servers: VersionServers, tmp_path: Path, database: Database, version: str, statements: tuple[str, ...]
) -> None:
    source = make_version_servers.source(version)
    applied(logged(source, tmp_path, *START, *statements), database.url)
    assert differing_from_postgres(source, database) == []


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("charset", ["SET character_set_connection=latin1", "SET NAMES latin1"])
def test_r33_a_selected_table_keeps_what_the_connection_does_not_have(
    make_version_servers: VersionServers, tmp_path: Path, version: str, charset: str
) -> None:
    source, target = make_version_servers.source(version), make_version_servers.target(version)
    applied(logged(source, tmp_path, *START, *TABLE, charset, *SELECTED), target.url)
    assert differing(source, target) == []


def test_r33_a_selected_table_is_the_sources_in_postgres_or_refused(
    make_version_servers: VersionServers, tmp_path: Path, database: Database
) -> None:
    source = make_version_servers.source("10.11")
    applied(logged(source, tmp_path, *START, *TABLE, "SET NAMES latin1", SELECTED[1]), database.url)
    assert differing_from_postgres(source, database) == []
    log = logged(source, tmp_path, "USE shop", "SET character_set_connection=latin1", "CREATE TABLE b3 AS SELECT * FROM a")
    outcome = run(log, database.url)
    assert outcome.code == 3
    assert "a literal that the server may have written" in outcome.report["error"]["message"]


@pytest.mark.parametrize("via", ["sessions", "replication"])
def test_r33_literals_that_can_be_read_in_two_ways_are_refused(make_version_servers: VersionServers, tmp_path: Path, via: str) -> None:
    source = make_version_servers.source("10.11")
    options = ("--log-slave-updates", "--server-id=2")
    target = make_version_servers.target("10.11", *options)
    temporary = ("SET character_set_connection=latin1", "CREATE TEMPORARY TABLE tt LIKE a", "CREATE TABLE b LIKE tt")
    outcome = run(logged(source, tmp_path, *START, *TABLE, *temporary), target.url, "--via", via)
    assert outcome.code == 3
    error = outcome.report["error"]
    assert "the statement's literals can be read in two ways" in error["message"]
    assert error["message"].endswith(f"run it by hand, and start again with --skip {error['gtid']}")


def test_r33_the_servers_own_replication_gets_no_literals_that_it_would_change(
    make_version_servers: VersionServers, tmp_path: Path
) -> None:
    source = make_version_servers.source("10.11")
    target = make_version_servers.target("10.11", "--log-slave-updates", "--server-id=2")
    log = logged(source, tmp_path, *START, *TABLE, "SET character_set_connection=latin1", SELECTED[0])
    outcome = run(log, target.url, "--via", "replication")
    assert outcome.code == 3
    assert "the source wrote the literals of this statement" in outcome.report["error"]["message"]


@pytest.mark.parametrize("created", ["CREATE DATABASE IF NOT EXISTS shop", "SET @a=1"])
def test_text_is_not_read_in_the_servers_default_where_the_databases_is_not_known(
    make_version_servers: VersionServers, tmp_path: Path, database: Database, created: str
) -> None:
    source = make_version_servers.source("10.11", "--character-set-server=latin1")
    source.sql("SET sql_log_bin=0", "CREATE DATABASE shop CHARACTER SET utf8mb4")
    statements = (created, "CREATE TABLE shop.t (id INT PRIMARY KEY, c VARCHAR(9), d TEXT)", "INSERT INTO shop.t VALUES (1, 'é', 'é')")
    outcome = run(logged(source, tmp_path, *statements), database.url)
    assert outcome.code == 1
    message = outcome.report["error"]["message"]
    assert "--schema dump.sql" in message
    assert "binlog_row_metadata=MINIMAL" in message


def test_text_is_read_where_the_log_has_its_character_set(make_version_servers: VersionServers, tmp_path: Path, database: Database) -> None:
    source = make_version_servers.source("10.11", "--binlog-row-metadata=MINIMAL")
    source.sql("SET sql_log_bin=0", "CREATE DATABASE shop CHARACTER SET utf8mb4")
    statements = ("CREATE TABLE shop.t (id INT PRIMARY KEY, c VARCHAR(9))", "INSERT INTO shop.t VALUES (1, 'é')")
    applied(logged(source, tmp_path, *statements), database.url)
    assert differing_from_postgres(source, database) == []
