"""Statements under the variables of their session, into MySQL (R33): what a log holds, what it does not, and for whom a statement runs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from server.replay import SqlPlace, applied, run
from servers import mysql_data, mysql_url

#: Settings of a target that change what a DDL means unless the session's own are others.
DIFFERENT = {
    "sql_generate_invisible_primary_key": "ON", "restrict_fk_on_non_standard_key": "ON", "auto_increment_increment": "3",
    "auto_increment_offset": "2", "lc_time_names": "'de_DE'", "default_week_format": "3", "div_precision_increment": "9",
    "explicit_defaults_for_timestamp": "OFF", "sql_mode": "'ANSI'", "character_set_server": "latin1",
    "default_storage_engine": "MyISAM", "default_collation_for_utf8mb4": "utf8mb4_general_ci", "block_encryption_mode": "'aes-256-cbc'",
    "innodb_ft_enable_stopword": "OFF", "collation_server": "latin1_bin",
}  # fmt: skip
DDL = (
    "CREATE DATABASE shop",
    "CREATE FUNCTION shop.h() RETURNS TEXT DETERMINISTIC RETURN 'x'",  # without a default database
    "CREATE TABLE shop.own (a TEXT CHARACTER SET ascii)",
    "ALTER TABLE shop.own CONVERT TO CHARACTER SET DEFAULT",
    "USE shop",
    "CREATE TABLE keyless (a DATE, b INT, s VARCHAR(20))",
    "INSERT INTO keyless VALUES ('2026-05-03', 7, 'a'), ('2025-12-30', 2, 'b')",
    "CREATE TABLE still_keyless (a TIMESTAMP, b TIMESTAMP)",
    "ALTER TABLE keyless ADD m VARCHAR(20) AS (MONTHNAME(a)) STORED, ADD w INT AS (WEEK(a)) STORED",
    "ALTER TABLE keyless ADD q VARCHAR(30) AS (b / 3) STORED",
    "ALTER TABLE keyless ADD e VARBINARY(40) AS (AES_ENCRYPT(s, 'k')) STORED",
    "ALTER TABLE keyless ADD id INT AUTO_INCREMENT PRIMARY KEY FIRST",
    "CREATE TABLE named (a VARCHAR(9) CHARACTER SET utf8mb4) CHARSET utf8mb4",
    "SET restrict_fk_on_non_standard_key=0",
    "CREATE TABLE parent (id INT PRIMARY KEY, k INT, KEY (k))",
    "CREATE TABLE child (id INT PRIMARY KEY, k INT, FOREIGN KEY (k) REFERENCES parent (k))",
    "INSERT INTO still_keyless VALUES ('2026-01-01', NULL)",
    "INSERT INTO parent VALUES (1, 1)",
    "INSERT INTO child VALUES (1, 1)",
    "SET explicit_defaults_for_timestamp=0",
    "CREATE TABLE old_times (a TIMESTAMP, b TIMESTAMP NULL)",
    "CREATE TABLE texts (id INT PRIMARY KEY, a TEXT, FULLTEXT (a))",
    "INSERT INTO texts VALUES (1, 'all about apples')",
    "SET innodb_strict_mode=0",
    "CREATE TABLE loose (id INT PRIMARY KEY) ROW_FORMAT=DYNAMIC KEY_BLOCK_SIZE=16",
    "CREATE TABLE converted (a TEXT)",
    "SET collation_database=latin2_bin",
    "CREATE FUNCTION f() RETURNS TEXT DETERMINISTIC RETURN 'x'",
    "ALTER TABLE converted CONVERT TO CHARACTER SET DEFAULT",
    "CREATE TABLE converted_not (a TEXT)",
    "USE shop",
    "CREATE FUNCTION g() RETURNS TEXT DETERMINISTIC RETURN 'x'",
)
COLUMNS = (
    "SELECT table_name, column_name, column_type, is_nullable, column_default, extra, collation_name FROM information_schema.columns"
    " WHERE table_schema='shop' ORDER BY table_name, ordinal_position"
)
ENGINES = "SELECT table_name, engine FROM information_schema.tables WHERE table_schema='shop' ORDER BY table_name"
READS = (
    ENGINES,
    "SELECT * FROM shop.keyless ORDER BY id",
    "SELECT * FROM shop.still_keyless",
    "SELECT * FROM shop.child",
    COLUMNS,
    "SELECT routine_schema, routine_name, collation_name FROM information_schema.routines WHERE routine_schema='shop' ORDER BY 2",
    "SELECT id FROM shop.texts WHERE MATCH (a) AGAINST ('about')",
    "SELECT id FROM shop.texts WHERE MATCH (a) AGAINST ('apples')",
)


def logged(place: SqlPlace, folder: Path, *statements: str) -> Path:
    """Run statements in one session and return their log."""
    place.sql("FLUSH BINARY LOGS")
    name = str(place.sql("SHOW BINARY LOGS")[-1][0])
    place.sql(*statements)
    SqlPlace(mysql_url()).sql("FLUSH BINARY LOGS")
    return Path(shutil.copyfile(mysql_data() / name, folder / name))


def seen(place: SqlPlace, *queries: str) -> list[Any]:
    return [place.sql("SET time_zone='+00:00', sql_mode=''", query) for query in queries]


@pytest.fixture
def other_settings(mysql_place: SqlPlace) -> Iterator[list[str]]:
    """The statements that give the server other settings; it gets back its own."""
    before = {name: mysql_place.sql(f"SELECT @@GLOBAL.{name}")[0][0] for name in DIFFERENT}
    yield [f"SET GLOBAL {name}={value}" for name, value in DIFFERENT.items()]
    for name, value in before.items():
        mysql_place.sql(f"SET GLOBAL {name}={value!r}")


def test_r33_the_targets_own_settings_do_not_change_what_a_statement_means(
    mysql_place: SqlPlace, other_settings: list[str], tmp_path: Path
) -> None:
    log = logged(mysql_place, tmp_path, *DDL)
    left = seen(mysql_place, *READS)
    mysql_place.empty()
    mysql_place.sql(*other_settings)
    applied(log, mysql_place.url)
    assert seen(mysql_place, *READS) == left
    assert [row[0] for row in left[1]] == [1, 2]
    assert [row[2] == "latin2_bin" for row in left[5]] == [True, False, False]


def test_r33_a_current_user_that_is_evaluated_later_is_no_invoker(mysql_place: SqlPlace, tmp_path: Path) -> None:
    log = logged(
        mysql_place, tmp_path, "CREATE DATABASE shop", "USE shop", "CREATE TABLE t (id INT PRIMARY KEY, who VARCHAR(100))",
        "CREATE TRIGGER trg BEFORE INSERT ON t FOR EACH ROW SET NEW.who=CURRENT_USER()",
        "CREATE VIEW v AS SELECT CURRENT_USER() AS who FROM t",
        "CREATE DEFINER=CURRENT_USER PROCEDURE p() SELECT CURRENT_USER()",
        "CREATE DEFINER=CURRENT_USER() EVENT e ON SCHEDULE EVERY 1 HOUR DISABLE DO INSERT INTO t VALUES (1, CURRENT_USER())",
        "CREATE TABLE t2 (id INT PRIMARY KEY, who VARCHAR(100) DEFAULT (CURRENT_USER()))", "INSERT INTO t2 (id) VALUES (1)",
        "ALTER TABLE t2 COMMENT 'CURRENT_USER' /* CURRENT_USER */",
    )  # fmt: skip
    reads = (
        "SELECT trigger_name, definer, action_statement FROM information_schema.triggers WHERE trigger_schema='shop'",
        "SELECT routine_name, definer, routine_definition FROM information_schema.routines WHERE routine_schema='shop'",
        "SELECT table_name, definer FROM information_schema.views WHERE table_schema='shop'",
        "SELECT event_name, definer, event_definition FROM information_schema.events WHERE event_schema='shop'", "SELECT * FROM shop.t2",
    )  # fmt: skip
    left = seen(mysql_place, *reads)
    mysql_place.empty()
    applied(log, mysql_place.url)
    assert seen(mysql_place, *reads) == left


@pytest.fixture
def other(mysql_place: SqlPlace) -> Iterator[SqlPlace]:
    """The same server for a second user, which is gone afterwards."""
    kept = "SET sql_log_bin=0"
    mysql_place.sql(kept, "CREATE USER IF NOT EXISTS other@'%' IDENTIFIED BY 'other'", "GRANT ALL ON *.* TO other@'%'")
    yield SqlPlace(f"mysql://other:other@{mysql_place.url.partition('@')[2]}")
    mysql_place.empty()
    mysql_place.sql(kept, "DROP USER IF EXISTS other@'%'")


EVENT = ("CREATE DATABASE shop", "CREATE EVENT shop.e ON SCHEDULE EVERY 1 HOUR DISABLE DO SELECT 1")


@pytest.mark.parametrize(
    "statement", ["ALTER DEFINER=CURRENT_USER EVENT shop.e COMMENT 'x'", "DROP USER IF EXISTS nobody, /* me */ CURRENT_USER()"]
)
def test_r33_a_statement_that_means_its_invoker_is_refused(mysql_place: SqlPlace, other: SqlPlace, tmp_path: Path, statement: str) -> None:
    log = logged(other, tmp_path, *EVENT, statement)
    mysql_place.empty()
    outcome = run(log, mysql_place.url)
    assert outcome.code == 3
    assert "means its invoker other@%" in outcome.report["error"]["message"]
    assert outcome.report["error"]["message"].count("start again with --ddl-done") == 1


def test_r33_a_statement_that_means_its_invoker_is_gone_past_with_ddl_done(mysql_place: SqlPlace, other: SqlPlace, tmp_path: Path) -> None:
    statement = "ALTER DEFINER=CURRENT_USER EVENT shop.e COMMENT 'x'"
    log = logged(other, tmp_path, *EVENT, statement, "CREATE TABLE shop.t (id INT PRIMARY KEY)", "INSERT INTO shop.t VALUES (1)")
    reads = "SELECT definer, event_comment FROM information_schema.events WHERE event_schema='shop'", "SELECT * FROM shop.t"
    left = seen(mysql_place, *reads)
    assert left == [[("other@%", "x")], [(1,)]]
    mysql_place.empty()
    assert run(log, mysql_place.url).code == 3
    other.sql("SET sql_log_bin=0", statement)
    applied(log, mysql_place.url, "--ddl-done")
    assert seen(mysql_place, *reads) == left


def test_r33_an_altered_event_belongs_to_whoever_altered_it(mysql_place: SqlPlace, other: SqlPlace, tmp_path: Path) -> None:
    mysql_place.sql("FLUSH BINARY LOGS")
    name = str(mysql_place.sql("SHOW BINARY LOGS")[-1][0])
    mysql_place.sql(*EVENT)
    other.sql("/* changed */ ALTER EVENT shop.e COMMENT 'x'")
    mysql_place.sql("FLUSH BINARY LOGS")
    log = Path(shutil.copyfile(mysql_data() / name, tmp_path / name))
    mysql_place.empty()
    applied(log, mysql_place.url)
    assert mysql_place.sql("SELECT definer, event_comment FROM information_schema.events WHERE event_schema='shop'") == [("other@%", "x")]


@pytest.mark.parametrize(
    "create",
    ["# made by a tool\nCREATE DATABASE shop", "-- made by a tool\nCREATE DATABASE shop", "/*!50000 CREATE DATABASE shop */",
     "CREATE /*!50000 DATABASE */ shop", "CREATE # x\nSCHEMA -- y\nIF NOT EXISTS /* z */ shop"],
)  # fmt: skip
def test_r33_a_database_is_made_and_dropped_behind_comments(mysql_place: SqlPlace, tmp_path: Path, create: str) -> None:
    statements = (
        create, "# x\nALTER DATABASE shop CHARACTER SET latin2", "/*!50000 ALTER */ DATABASE shop COLLATE latin2_bin",
        "# x\nDROP DATABASE shop", create, "USE shop", "/*!50000 DROP */ DATABASE shop", create, "CREATE TABLE shop.t (a INT PRIMARY KEY)",
    )  # fmt: skip
    log = logged(mysql_place, tmp_path, *statements)
    mysql_place.empty()
    applied(log, mysql_place.url)
    assert mysql_place.sql("SHOW TABLES FROM shop") == [("t",)]
