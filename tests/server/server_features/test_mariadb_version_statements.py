"""Context of a logged statement: its comments, its invoker, its database (R33)."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from server.replay import run
from server.version_servers import Server, VersionServers, logged, make_version_servers, replayed, seen
from tests.servers import sql_connect

__all__ = ["make_version_servers"]

VERSIONS = ["10.5", "10.11", "11.8"]
DEFINITIONS = (
    "SELECT trigger_name, definer, action_statement FROM information_schema.triggers WHERE trigger_schema='d' ORDER BY 1",
    "SELECT routine_name, definer, routine_definition FROM information_schema.routines WHERE routine_schema='d' ORDER BY 1",
    "SELECT table_name, definer, security_type FROM information_schema.views WHERE table_schema='d' ORDER BY 1",
    "SELECT event_name, definer, event_definition, event_comment FROM information_schema.events WHERE event_schema='d' ORDER BY 1",
    "SELECT table_name, column_name, column_default, column_comment FROM information_schema.columns WHERE table_schema='d' ORDER BY 1, 2",
)
LATER = (
    "CREATE DATABASE d", "USE d", "CREATE TABLE t (id INT PRIMARY KEY, who VARCHAR(100))",
    "CREATE TRIGGER trg BEFORE INSERT ON t FOR EACH ROW SET NEW.who=CURRENT_USER()",
    "CREATE DEFINER=CURRENT_USER TRIGGER trg2 BEFORE UPDATE ON t FOR EACH ROW SET NEW.who=current_user",
    "CREATE VIEW v1 AS SELECT CURRENT_USER() AS who, id FROM t",
    "CREATE DEFINER=CURRENT_USER() VIEW v2 AS SELECT CURRENT_USER AS who FROM t",
    "CREATE OR REPLACE SQL SECURITY INVOKER VIEW v2 AS SELECT CURRENT_USER() AS w", "ALTER VIEW v2 AS SELECT CURRENT_ROLE() AS w",
    "CREATE PROCEDURE p1() SELECT CURRENT_USER()", "CREATE DEFINER=CURRENT_USER PROCEDURE p2() SQL SECURITY INVOKER SELECT CURRENT_USER()",
    "CREATE FUNCTION f1() RETURNS VARCHAR(100) NO SQL RETURN CURRENT_USER()",
    "CREATE EVENT e1 ON SCHEDULE EVERY 1 HOUR DO INSERT INTO t VALUES (1, CURRENT_USER())",
    "CREATE TABLE t2 (id INT PRIMARY KEY, who VARCHAR(100) DEFAULT (CURRENT_USER()), u VARCHAR(100) DEFAULT (USER()))",
    "INSERT INTO t2 (id) VALUES (1)",
    "CREATE TABLE t3 (id INT PRIMARY KEY COMMENT 'CURRENT_USER', `current_user` INT) COMMENT 'current_user'",
    "ALTER TABLE t3 COMMENT 'CURRENT_USER' /* CURRENT_USER */", "ALTER TABLE t3 ADD a INT COMMENT 'UUID()', ADD `uuid` INT, ADD rand INT",
    "ALTER TABLE t2 ALTER u SET DEFAULT (CURRENT_USER())", "INSERT INTO t2 (id) VALUES (2)",
)  # fmt: skip


@pytest.mark.parametrize("version", VERSIONS)
def test_r33_a_current_user_that_is_evaluated_later_is_no_invoker(
    make_version_servers: VersionServers, tmp_path: Path, version: str
) -> None:
    source, target = make_version_servers.source(version), make_version_servers.target(version)
    replayed(logged(source, tmp_path, *LATER), target)
    assert seen(target, *DEFINITIONS, "SELECT * FROM d.t2 ORDER BY id") == seen(source, *DEFINITIONS, "SELECT * FROM d.t2 ORDER BY id")


NOW = [
    "GRANT SELECT ON d.t TO CURRENT_USER", "GRANT SELECT ON d.t TO current_user()", "GRANT SELECT ON d.t TO /* who */ CURRENT_USER -- x",
    "GRANT r TO CURRENT_USER", "REVOKE SELECT ON d.t FROM CURRENT_USER", "ALTER USER CURRENT_USER() IDENTIFIED BY 'app'",
    "CREATE ROLE r2 WITH ADMIN CURRENT_USER", "DROP USER IF EXISTS u1, CURRENT_USER", "ALTER DEFINER=CURRENT_USER EVENT d.e COMMENT 'x'",
    "ALTER TABLE d.t ADD who VARCHAR(100) DEFAULT (CURRENT_USER())", "ALTER TABLE d.t ADD COLUMN u VARCHAR(100) DEFAULT (USER())",
    "ALTER TABLE d.t ADD u CHAR(36) DEFAULT (UUID()), ADD v INT", "ALTER TABLE d.t ADD u DOUBLE DEFAULT (RAND())",
    "ALTER TABLE d.t ADD u INT DEFAULT (NEXT VALUE FOR d.s)", "ALTER TABLE d.t ADD u INT DEFAULT NEXTVAL(d.s)",
]  # fmt: skip


def other_user(*servers: Server) -> None:
    """Make a second user, ``other``, with all privileges, and no roles, on each server; nothing of it is logged."""
    for server in servers:
        roles = [f"DROP ROLE IF EXISTS {role}" for role in ("r", "r2")]
        grant = "GRANT ALL ON *.* TO other@localhost WITH GRANT OPTION"
        server.sql("SET sql_log_bin=0", *roles, "CREATE OR REPLACE USER other@localhost IDENTIFIED BY 'other'", grant)


def logged_by_other(source: Server, folder: Path, *statements: str) -> Path:
    """Run statements as ``other`` and return their log."""
    source.sql("FLUSH BINARY LOGS")
    name = str(source.sql("SHOW BINARY LOGS")[-1][0])
    connection = sql_connect(unix_socket=str(source.socket), user="other", password="other", autocommit=True)
    with connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
    source.sql("FLUSH BINARY LOGS")
    return Path(shutil.copyfile(source.data / name, folder / name))


@pytest.mark.parametrize("statement", NOW)
def test_r33_a_statement_that_depends_on_its_session_is_refused(
    make_version_servers: VersionServers, tmp_path: Path, statement: str
) -> None:
    source, target = make_version_servers.source("10.11"), make_version_servers.target("10.11")
    other_user(source, target)
    before = (
        "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)", "INSERT INTO d.t VALUES (1), (2)", "CREATE ROLE r",
        "CREATE SEQUENCE d.s", "CREATE EVENT d.e ON SCHEDULE EVERY 1 HOUR DO SELECT 1", "GRANT SELECT ON d.t TO other@localhost",
    )  # fmt: skip
    outcome = run(logged_by_other(source, tmp_path, *before, statement), target.url)
    assert outcome.code == 3, outcome
    assert "run it by hand" in outcome.report["error"]["message"]
    assert outcome.report["error"]["message"].count("start again with --ddl-done") == 1


@pytest.mark.parametrize("version", VERSIONS)
def test_r33_an_invoker_that_no_text_names_is_taken_over(make_version_servers: VersionServers, tmp_path: Path, version: str) -> None:
    """ALTER EVENT makes its invoker the event's definer, and CREATE ROLE gives its invoker the role to hand on."""
    source, target = make_version_servers.source(version), make_version_servers.target(version)
    other_user(source, target)
    create = ["CREATE DATABASE d", *(f"CREATE EVENT d.e{number} ON SCHEDULE EVERY 1 HOUR DO SELECT 1" for number in (1, 2))]
    replayed(logged(source, tmp_path, *create), target)
    log = logged_by_other(source, tmp_path, "/* it changes */ ALTER EVENT d.e1 COMMENT 'changed'", "CREATE ROLE r # for all of us")
    replayed(log, target, "--channel", "second")
    roles = "SELECT User, Host, Role, Admin_option FROM mysql.roles_mapping WHERE Role='r'"
    assert seen(target, DEFINITIONS[3], roles) == seen(source, DEFINITIONS[3], roles)
    assert seen(target, roles) == [[("other", "localhost", "r", "Y")]]


COMMENTED = [
    "# made by a tool\nCREATE DATABASE {}", "-- made by a tool\nCREATE DATABASE {}", "--\tx\n# y\n/* z */ CREATE SCHEMA {}",
    "/*!50000 CREATE DATABASE */ {}", "/*! CREATE DATABASE {} */", "CREATE /*!50000 DATABASE */ {}", "CREATE /*M!100100 DATABASE */ {}",
    "/*M! CREATE */ OR /* x */ REPLACE DATABASE {}", "CREATE -- x\nDATABASE # y\nIF NOT EXISTS {}",
    "/*!50000 CREATE /* inner */ DATABASE */ {}",
]  # fmt: skip


@pytest.mark.parametrize("version", VERSIONS)
def test_r33_a_database_is_made_changed_and_dropped_behind_comments(
    make_version_servers: VersionServers, tmp_path: Path, version: str
) -> None:
    source, target = make_version_servers.source(version), make_version_servers.target(version)
    statements = []
    for number, statement in enumerate(COMMENTED):
        if "/* inner */" in statement and version == "10.5":
            continue
        statements += [
            statement.format(f"c{number}"), f"# x\nALTER DATABASE c{number} CHARACTER SET latin2",
            f"/*!50000 ALTER */ DATABASE c{number} COLLATE latin2_bin", f"CREATE TABLE c{number}.t (a INT PRIMARY KEY)",
        ]  # fmt: skip
    statements += [
        "# x\nDROP DATABASE c0", "-- x\nDROP SCHEMA IF EXISTS c1", "/*!50000 DROP DATABASE */ c2",
        "/* x */ DROP /*M! DATABASE */ IF EXISTS c1",
        "USE c3", "DROP DATABASE c3",
    ]  # fmt: skip
    statements += ["CREATE DATABASE d", "USE d", "ALTER DATABASE CHARACTER SET latin5", "CREATE TABLE t (a CHAR(1))"]
    replayed(logged(source, tmp_path, *statements), target)
    reads = (
        "SELECT schema_name, default_collation_name FROM information_schema.schemata WHERE schema_name<>'paraply' ORDER BY 1",
        "SELECT table_schema, table_name, table_collation FROM information_schema.tables WHERE table_name='t' ORDER BY 1",
    )
    assert seen(target, *reads) == seen(source, *reads)


def test_r33_a_version_comment_that_only_the_source_reads_is_refused(make_version_servers: VersionServers, tmp_path: Path) -> None:
    options = ("--collation-server=utf8mb4_general_ci", "--character-set-collations=")
    source, target = make_version_servers.source("11.8", *options), make_version_servers.target("10.11")
    names = "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci"
    log = logged(source, tmp_path, names, "CREATE DATABASE d", "CREATE TABLE d.t (a INT /*!50000 NOT NULL */ /*M!110000 DEFAULT 5 */)")
    outcome = run(log, target.url)
    assert outcome.code == 3
    assert "version comment" in outcome.report["error"]["message"]
