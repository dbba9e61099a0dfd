"""Kind of a logged statement, read from its tokens."""

from __future__ import annotations

import pytest

from paraply.errors import LogNotUnderstood
from paraply.schema.ddl.rules import MODE_ANSI_QUOTES, Rules
from paraply.schema.ddl.statement_kind import StatementKind, check_version_comments

MARIADB = Rules(mariadb=True, version=(11, 8, 2))


def kind(text: str, rules: Rules = MARIADB) -> StatementKind:
    found = StatementKind.read(text, rules)
    assert found is not None
    return found


@pytest.mark.parametrize(
    "text",
    ["# x\nCREATE DATABASE d", "-- x\nDROP SCHEMA d", "/*!50000 CREATE DATABASE d */", "CREATE /*!50000 DATABASE */ d", "ALTER DATABASE d",
     "/*M!100100 CREATE */ OR REPLACE DATABASE d", "ALTER SCHEMA CHARACTER SET latin1",
     "SET STATEMENT max_statement_time=1 FOR DROP DATABASE d"],
)  # fmt: skip
def test_a_statement_about_a_database_is_one_behind_any_comment(text: str) -> None:
    assert kind(text).is_about_database


@pytest.mark.parametrize(
    "text",
    ["CREATE TABLE database_ (a INT)", "/* CREATE DATABASE d */ DROP TABLE t", "CREATE TABLE `database` (a INT)",
     "# CREATE DATABASE\nDROP TABLE t",
     "CREATE VIEW v AS SELECT DATABASE()", "DROP TABLE t /* DATABASE */"],
)  # fmt: skip
def test_other_statements_are_not(text: str) -> None:
    assert not kind(text).is_about_database


@pytest.mark.parametrize(
    ("text", "names"),
    [("GRANT r TO CURRENT_USER", True), ("GRANT r TO/**/current_user ( )", True), ("GRANT r TO CURRENT_ROLE", True),
     ("ALTER DEFINER = CURRENT_USER() EVENT e COMMENT 'x'", True),
     ("CREATE DEFINER=CURRENT_USER SQL SECURITY DEFINER VIEW v AS SELECT 1", True),
     ("CREATE ALGORITHM=MERGE DEFINER=CURRENT_ROLE VIEW v AS SELECT 1", True), ("SET PASSWORD FOR CURRENT_USER='x'", True),
     ("CREATE DEFINER=`a`@`%` VIEW v AS SELECT CURRENT_USER()", False),
     ("CREATE OR REPLACE DEFINER='a'@'%' TRIGGER t BEFORE INSERT ON t FOR EACH ROW SET NEW.a=CURRENT_USER", False),
     ("CREATE DEFINER=r AGGREGATE FUNCTION f() RETURNS INT RETURN CURRENT_USER", False),
     ("CREATE TABLE t (a CHAR(9) DEFAULT (CURRENT_USER()))", False),
     ("GRANT SELECT ON `current_user` TO 'current_user' /* CURRENT_USER */", False),
     ("ALTER TABLE t COMMENT 'CURRENT_USER'", False), ("GRANT r TO u # CURRENT_USER", False)],
)  # fmt: skip
def test_an_invoker_is_named_where_it_is_evaluated_now(text: str, names: bool) -> None:
    assert kind(text).names_invoker is names


@pytest.mark.parametrize(
    ("text", "function"),
    [("ALTER TABLE t ADD a CHAR(9) DEFAULT (CURRENT_USER)", "CURRENT_USER"), ("ALTER TABLE t ADD (a CHAR(36) DEFAULT (uuid()))", "UUID"),
     ("ALTER IGNORE TABLE t ADD a INT DEFAULT NEXT VALUE FOR s", "NEXT VALUE FOR"), ("ALTER TABLE t ADD uuid INT, ADD rand (INT)", None),
     ("ALTER TABLE t ADD a TIMESTAMP DEFAULT NOW()", None), ("ALTER TABLE t ADD a INT COMMENT 'UUID()'", None),
     ("ALTER TABLE t ADD INDEX uuid (a), ADD KEY user (b)", None), ("ALTER TABLE t ALTER a SET DEFAULT (UUID())", None),
     ("CREATE TABLE t (a CHAR(36) DEFAULT (UUID()))", None), ("ALTER TABLE t ADD a INT DEFAULT (RAND ())", "RAND")],
)  # fmt: skip
def test_a_function_that_gives_other_values_here_is_found(text: str, function: str | None) -> None:
    assert kind(text).unrepeatable == function


@pytest.mark.parametrize(
    ("text", "completed"),
    [("ALTER EVENT e COMMENT 'x'", "ALTER DEFINER=`a``b`@`%` EVENT e COMMENT 'x'"), ("/* x */ alter event e do select 1;",
      "/* x */ alter DEFINER=`a``b`@`%` event e do select 1;"), ("ALTER DEFINER=`x`@`y` EVENT e ENABLE",
      "ALTER DEFINER=`x`@`y` EVENT e ENABLE"),
     ("CREATE ROLE r # x", "CREATE ROLE r WITH ADMIN `a``b`@`%` # x"), ("CREATE ROLE r WITH ADMIN u", "CREATE ROLE r WITH ADMIN u"),
     ("CREATE ROLE IF NOT EXISTS r ;", "CREATE ROLE IF NOT EXISTS r WITH ADMIN `a``b`@`%` ;"),
     ("ALTER TABLE t ADD a INT", "ALTER TABLE t ADD a INT")],
)  # fmt: skip
def test_an_invoker_is_told_where_no_text_names_it(text: str, completed: str) -> None:
    assert kind(text).with_invoker("a`b", "%", mariadb=True) == completed


@pytest.mark.parametrize(
    ("text", "found"),
    [("/* x */ CREATE TABLE a (b INT)", ("s", "a")), ("# x\nDROP TABLE `a`.b", ("a", "b")), ("DROP TABLE a /* , b */", ("s", "a")),
     ('CREATE TABLE "a" (b INT)', ("s", "a")), ("CREATE TABLE a (b INT, c INT)", ("s", "a")), ("DROP TABLE a /*! , b */", (None, None)),
     ("CREATE OR REPLACE TABLE a (b INT)", (None, None)), ("CREATE TEMPORARY TABLE a (b INT)", (None, None)),
     ("-- x\nDROP DATABASE d", ("d", None)), ("DROP TABLE IF EXISTS a", (None, None)), ("DROP TABLE `if`", ("s", "if"))],
)  # fmt: skip
def test_only_a_plain_create_or_drop_names_its_object(text: str, found: tuple[str | None, str | None]) -> None:
    rules = Rules(mariadb=True, version=(11, 8, 2), sql_mode=MODE_ANSI_QUOTES)
    assert kind(text, rules).made_or_dropped("s") == found


def test_a_text_that_does_not_end_is_no_kind() -> None:
    assert StatementKind.read("CREATE TABLE t (a INT COMMENT 'x)", MARIADB) is None


def test_a_version_comment_of_a_newer_source_is_refused() -> None:
    text, older = "CREATE TABLE t (a INT /*M!110000 NOT NULL */ /*!40000 DEFAULT 5 */)", Rules(mariadb=True, version=(10, 11, 6))
    check_version_comments(text, MARIADB, MARIADB, 4)
    with pytest.raises(LogNotUnderstood):
        check_version_comments(text, MARIADB, older, 4)
    check_version_comments("CREATE TABLE t (a INT COMMENT '/*M!110000 x */')", MARIADB, older, 4)


@pytest.mark.parametrize(
    ("text", "makes"),
    [("CREATE TABLE t (a INT) WITH SYSTEM VERSIONING", True),
     ("create or replace table t (a int)\nwith system versioning engine=innodb", True),
     ("CREATE TABLE t (a INT)", False), ("CREATE TABLE t (a INT) COMMENT 'WITH SYSTEM VERSIONING'", False),
     ("CREATE TABLE t (s TIMESTAMP(6) AS ROW START, e TIMESTAMP(6) AS ROW END, PERIOD FOR SYSTEM_TIME(s,e)) WITH SYSTEM VERSIONING",
      False),
     ("CREATE TABLE t (a INT WITHOUT SYSTEM VERSIONING) WITH SYSTEM VERSIONING", True), ("ALTER TABLE t ADD SYSTEM VERSIONING", False)],
)  # fmt: skip
def test_row_times_without_names(text: str, makes: bool) -> None:
    assert kind(text).makes_row_times is makes


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("CREATE PACKAGE BODY shop.p AS END", ["shop", "p"]),
        ("DROP PACKAGE BODY IF EXISTS p", ["p"]),
        ("CREATE OR REPLACE DEFINER=a@b PROCEDURE `shop`.`WHERE`() SELECT 1", ["shop", "WHERE"]),
        ("/* of EVENT x.y */ DROP TRIGGER IF EXISTS shop.t", ["shop", "t"]),
    ],
)
def test_names_of_stored_objects(sql: str, names: list[str]) -> None:
    kind = StatementKind.read(sql, Rules.of({}, mariadb=True, version=(11, 8, 0)))
    assert kind is not None
    assert kind.is_about_stored_object
    assert kind.object_names() == names


@pytest.mark.parametrize(
    ("sql", "run"),
    [
        ("DROP TABLE `a`,`nosuch` /* generated by server */", "DROP TABLE IF EXISTS `a`,`nosuch` /* generated by server */"),
        ("DROP SEQUENCE `s`,`nosuch`", "DROP SEQUENCE IF EXISTS `s`,`nosuch`"),
        ("DROP TABLE a", "DROP TABLE a"),
        ("DROP TABLE IF EXISTS a, b", "DROP TABLE IF EXISTS a, b"),
        ("DROP TABLE `a,b`", "DROP TABLE `a,b`"),
        ("DROP VIEW v, w", "DROP VIEW v, w"),
        ("DROP USER a, b", "DROP USER a, b"),
    ],
)
def test_a_drop_of_several_tables_passes_over_those_that_were_not_there(sql: str, run: str) -> None:
    assert kind(sql).with_absent_allowed() == run
