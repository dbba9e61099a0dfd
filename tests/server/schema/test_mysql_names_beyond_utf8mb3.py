"""Names with characters that MySQL's identifiers lack: the source stores question marks, and logs what the client wrote."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from own_mysql import OwnMySql, running_mysql
from reader_view import differences, family_contents, postgres_differences, user_databases
from server.replay import applied
from server.source_log import copy_binlogs
from servers import LocalServer
from tests.pg_databases import Database

from paraply.logs.client_charset import client_charset

DATABASES = (
    "CREATE DATABASE `gone😀`",
    "USE `gone😀`",
    "CREATE TABLE u (id INT PRIMARY KEY)",
    "INSERT INTO u VALUES (1)",
    "CREATE DATABASE IF NOT EXISTS `gone😁`",
    "CREATE DATABASE kept😀😁",
    "CREATE TABLE kept😁😁.u😀 (id INT PRIMARY KEY)",
    "INSERT INTO `kept😀😀`.`u😀` VALUES (1)",
    "ALTER DATABASE `kept😀😀` CHARACTER SET latin1",
    "CREATE TABLE `kept😀😁`.later (id INT PRIMARY KEY, v VARCHAR(9))",
    "INSERT INTO `kept😀😁`.later VALUES (1, 'é')",
    "DROP DATABASE gone😁",
)
TABLES = (
    "CREATE DATABASE d",
    "USE d",
    "CREATE TABLE t😀 (`a😀` INT PRIMARY KEY, b😀😁 INT, 漢 INT, v VARCHAR(9) DEFAULT '😀', g😀 INT AS (`a😁` + 1) STORED)",
    "ALTER TABLE `t😁` ADD e ENUM('😀', 'x') DEFAULT '😀' COMMENT '😀', ADD UNIQUE KEY `k😀` (`b😁😁`), COMMENT '😀'",
    "ALTER TABLE `t😁` ADD CONSTRAINT `c😀` CHECK (`a😂` > 0)",
    "INSERT INTO t😀 (`a😀`, b😀😁, 漢) VALUES (1, 2, 3)",
    "CREATE TABLE IF NOT EXISTS `t😁` (other INT)",
    "CREATE TABLE child (id INT PRIMARY KEY, CONSTRAINT `f😀` FOREIGN KEY (id) REFERENCES `d`.`t😂` (`a😂`))",
    "INSERT INTO child VALUES (1)",
    "ALTER TABLE d.`t😁` RENAME COLUMN `b😀😀` TO `z😀`, RENAME KEY `k😀` TO `m😀`",
    "ALTER TABLE t😁 DROP KEY `m😂`, ADD COLUMN `w😀` INT AFTER `z😂`",
    "UPDATE t😀 SET `w😀`=5, e='x'",
    "CREATE INDEX `i😀` ON t😀 (`w😁`)",
    "DROP INDEX `i😁` ON t😁",
    "ALTER TABLE `t😀` DROP COLUMN `w😁`",
    "ALTER TABLE child DROP FOREIGN KEY `f😁`",
    "RENAME TABLE t😀 TO `d`.`r𝒳`",
    "CREATE TABLE l😀 LIKE `r😀`",
    "INSERT INTO `l😀` (`a😀`) VALUES (7)",
    "TRUNCATE TABLE l😁",
    "INSERT INTO `l😀` (`a😀`) VALUES (8)",
    "CREATE TABLE `x😀` (id INT PRIMARY KEY)",
    "INSERT INTO `x😀` VALUES (1)",
    "DROP TABLE IF EXISTS `x😁`, `nosuch😁`",
    "CREATE VIEW `v😀` AS SELECT `a😀` AS `q😀` FROM `r😀`",
    "CREATE TABLE IF NOT EXISTS `v😁` (id INT PRIMARY KEY)",
    "SET sql_mode=CONCAT(@@sql_mode, ',ANSI_QUOTES')",
    'CREATE TABLE "ansi😀" ("c😀" INT PRIMARY KEY)',
    'INSERT INTO "ansi😀" VALUES (1)',
)
#: The last characters that names may have, and the first one that they lack.
BOUNDS = (
    "CREATE DATABASE d",
    "CREATE TABLE d.`\ue000` (id INT PRIMARY KEY, `\ufffd` INT, `\uffff` INT, `\U00010000` INT)",
    "INSERT INTO d.`\ue000` VALUES (1, 2, 3, 4)",
)


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[OwnMySql, OwnMySql]]:
    with running_mysql() as source, running_mysql() as target:
        yield source, target


@pytest.fixture
def mysql_servers(running: tuple[OwnMySql, OwnMySql]) -> tuple[OwnMySql, OwnMySql]:
    """A source and a target without anything of an earlier test."""
    for server in running:
        with server.connect() as connection, connection.cursor() as cursor:
            names = user_databases(cursor)
        server.sql(*(f"DROP DATABASE IF EXISTS `{name}`" for name in [*names, "paraply"]), "RESET BINARY LOGS AND GTIDS")
    return running


def run_in(server: LocalServer, charset: str, statements: tuple[str, ...]) -> None:
    """Run statements as a client with this character set."""
    codec = client_charset(charset)
    assert codec is not None
    with server.connect() as connection:
        for statement in (f"SET NAMES {charset}", *statements):
            connection.query(codec.encode(statement))


@pytest.mark.parametrize("charset", ["utf8mb4", "gb18030"])
@pytest.mark.parametrize("statements", [DATABASES, TABLES, BOUNDS], ids=["databases", "tables", "bounds"])
def test_mysql_stores_a_question_mark_for_a_character_that_names_lack(
    mysql_servers: tuple[OwnMySql, OwnMySql], database: Database, tmp_path: Path, statements: tuple[str, ...], charset: str
) -> None:
    source, target = mysql_servers
    run_in(source, charset, statements)
    log = copy_binlogs(source.url, tmp_path)[0]
    applied(log, database.url)
    applied(log, target.url)
    with source.connect() as connection, target.connect() as other, connection.cursor() as cursor, other.cursor() as target_cursor:
        assert postgres_differences(cursor, database.url) == []
        assert differences(family_contents(cursor), family_contents(target_cursor)) == []
        names = user_databases(cursor)
    schemas = "SELECT nspname FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema|paraply|public)'"
    assert [name for (name,) in database.sql(schemas)] == names == ["kept??" if statements is DATABASES else "d"]
