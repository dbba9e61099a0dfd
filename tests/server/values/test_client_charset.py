"""Statements of clients whose character set is not UTF-8 (R33): names that the server writes anew, and what objects keep of the client."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pymysql
import pytest
from reader_view import Contents, differences, family_contents
from server.replay import SqlPlace, applied, run
from server.version_servers import Server, VersionServers, make_version_servers
from servers import mysql_data
from tests.pg_databases import Database

__all__ = ["make_version_servers"]

#: Each é is sent as the bytes of the client's character set.
DDL = (
    "CREATE DATABASE shop CHARACTER SET utf8mb4", "CREATE DATABASE shopé", "USE shop", "CREATE USER é@'%'",
    "CREATE TABLE t (cé INT PRIMARY KEY, v VARCHAR(9)) COMMENT 'é'", "CREATE TABLE té LIKE t",
    "ALTER TABLE t ADD dé VARCHAR(9) DEFAULT 'é'", "CREATE VIEW vé (aé, b) AS SELECT cé, 'é' FROM t",
    "CREATE VIEW shopé.v AS SELECT 1 AS é", "CREATE VIEW v2 AS SELECT 1", "CREATE OR REPLACE VIEW v2 AS SELECT 'é' AS é",
    "CREATE DEFINER=`é`@`%` VIEW v3 AS SELECT 'é'",
    "INSERT INTO t VALUES (1, 'x', 'é')", "CREATE TABLE sé AS SELECT cé, 'é' AS l FROM t", "CREATE TABLE s0 AS SELECT 1 AS é FROM t",
    "DROP TABLE té", "CREATE TABLE weg (é INT)", "RENAME TABLE weg TO wegé", "DROP TABLE wegé", "CREATE PROCEDURE p0() SELECT 1",
    "CREATE TRIGGER g0 AFTER DELETE ON t FOR EACH ROW SET @a=1", "CREATE EVENT e0 ON SCHEDULE AT '2037-01-01' DISABLE DO SELECT 1",
    "CREATE DEFINER=`é`@`%` EVENT eé ON SCHEDULE AT '2037-01-01' DISABLE COMMENT 'é' DO SELECT 'é'", "ALTER EVENT e0 COMMENT 'éé'",
    "ALTER PROCEDURE p0 COMMENT 'é'",
)  # fmt: skip
#: Objects whose text cannot be prepared by MySQL or by MariaDB before 10.6.
STORED = (
    "ALTER VIEW v2 AS SELECT 'éé' AS bé",
    "CREATE DEFINER=`é`@`%` FUNCTION fé(aé ENUM('é')) RETURNS ENUM('é','z') DETERMINISTIC COMMENT 'é''s' RETURN 'é'",
    "CREATE PROCEDURE shopé.p(aé DECIMAL(5,2), OUT b VARCHAR(9)) SQL SECURITY INVOKER COMMENT 'é' SELECT 'é', aé INTO @x, b",
    "CREATE PROCEDURE p1() SELECT 'é'",
    "CREATE DEFINER=`é`@`%` TRIGGER gé BEFORE INSERT ON t FOR EACH ROW SET NEW.v='é'",
)
ACCOUNTS = (
    "CREATE USER u1é@'%' IDENTIFIED BY 'x'", "GRANT SELECT ON shop.* TO u1é@'%'", "CREATE ROLE ré", "GRANT ré TO u1é@'%'",
    "RENAME USER u1é@'%' TO ué@'%'", "CREATE USER weg", "DROP USER weg",
)  # fmt: skip
LETTERS = {
    "latin1": ("é", "cp1252"), "koi8r": ("ж", "koi8_r"), "sjis": ("表", "shift_jis"), "eucjpms": ("～", "euc_jp"), "gbk": ("乗", "gbk"),
}  # fmt: skip
"""A letter of each character set, as the servers read it, and Python's codec of the set."""
IN_CODEC = {"～": "〜"}
"""Letters that Python's codec reads as other ones than the servers."""
DROPS = ("SET SESSION sql_log_bin=0", "DROP DATABASE IF EXISTS shop", "DROP DATABASE IF EXISTS shopé", "DROP USER IF EXISTS ué@'%', é@'%'",
         "DROP ROLE IF EXISTS ré", "DROP DATABASE IF EXISTS paraply")  # fmt: skip


class Client:
    """A server, and statements in the character set of a client.

    Args:
        place: The server.
        data: Its data folder.
        charset: The client's character set.
    """

    def __init__(self, place: SqlPlace, data: Path, charset: str = "latin1") -> None:
        self.place, self.data, self.charset = place, data, charset
        self.letter, self.codec = LETTERS[charset]
        self.sent = IN_CODEC.get(self.letter, self.letter).encode(self.codec)
        self.encoded = [self.sent]

    def spelled(self, statement: str) -> str:
        return statement.replace("é", self.letter)

    def run(self, *statements: str | bytes) -> None:
        """Run statements in one session; text is sent in the client's character set."""
        parts = self.place._parts
        connection = pymysql.connect(
            host=parts.hostname, port=parts.port or 3306, user=parts.username, password=parts.password or "", autocommit=True
        )
        with connection:
            connection.query(f"SET character_set_client={self.charset}, collation_connection={self.charset}_bin")
            for statement in statements:
                connection.query(
                    statement if isinstance(statement, bytes) else self.sent.join(part.encode(self.codec) for part in statement.split("é"))
                )

    def log(self, folder: Path, *statements: str | bytes) -> Path:
        """Run statements and return their log."""
        self.place.sql("FLUSH BINARY LOGS")
        name = str(self.place.sql("SHOW BINARY LOGS")[-1][0])
        self.run(*statements)
        self.place.sql("FLUSH BINARY LOGS")
        return Path(shutil.copyfile(self.data / name, folder / name))

    def contents(self) -> Contents:
        """Return definitions, rows and accounts."""
        parts = self.place._parts
        connection = pymysql.connect(
            host=parts.hostname, port=parts.port or 3306, user=parts.username, password=parts.password or "", autocommit=True
        )
        with connection, connection.cursor() as cursor:
            contents = family_contents(cursor, ["shop", self.spelled("shopé")])
            cursor.execute("SELECT user, host FROM mysql.user")
            contents["users"] = sorted(f"{user}@{host}" for user, host in cursor.fetchall())
            return contents

    def empty(self) -> None:
        self.place.sql(*(self.spelled(statement) for statement in DROPS))
        self.place.empty()


@pytest.fixture(params=["latin1", "koi8r", "sjis", "gbk"])
def mysql_client(request: pytest.FixtureRequest, mysql_place: SqlPlace) -> Iterator[Client]:
    client = Client(mysql_place, mysql_data(), request.param)
    client.empty()
    yield client
    client.empty()


def mariadb_client(server: Server, charset: str) -> Client:
    client = Client(SqlPlace(server.url), server.data, charset)
    client.empty()
    return client


def replayed_differences(source: Client, target: Client, folder: Path, statements: Sequence[str | bytes], *options: str) -> list[str]:
    log = source.log(folder, *statements)
    left = source.contents()
    target.empty()
    applied(log, target.place.url, *options)
    return differences(left, target.contents())


def test_r33_names_and_clients_are_the_sources_on_mysql(mysql_client: Client, tmp_path: Path) -> None:
    assert replayed_differences(mysql_client, mysql_client, tmp_path, (*DDL, *ACCOUNTS)) == []


@pytest.mark.parametrize("statement", STORED)
def test_r33_a_stored_object_whose_client_cannot_be_the_sources_is_refused_on_mysql(
    mysql_place: SqlPlace, tmp_path: Path, statement: str
) -> None:
    client = Client(mysql_place, mysql_data())
    client.empty()
    log = client.log(tmp_path, *DDL, statement)
    client.empty()
    outcome = run(log, mysql_place.url)
    client.empty()
    assert outcome.code == 3
    assert "keeps the character set of the client" in outcome.report["error"]["message"]


@pytest.mark.parametrize(
    ("old", "new", "charset"),
    # MariaDB 10.5 cannot drop a database that held the trigger of eucjpms or gbk, which is the last one.
    [*(("10.5", "10.11", charset) for charset in LETTERS if charset != "eucjpms"), *(("11.8", "11.8", charset) for charset in LETTERS)],
)
def test_r33_names_and_clients_are_the_sources_on_mariadb(
    make_version_servers: VersionServers, tmp_path: Path, old: str, new: str, charset: str
) -> None:
    source = mariadb_client(make_version_servers.source(old), charset)
    target = mariadb_client(make_version_servers.target(new), charset)
    password = "SET PASSWORD FOR ué@'%'=PASSWORD('x')"
    found = replayed_differences(source, target, tmp_path, (*DDL, *(STORED if new != "10.5" else ()), *ACCOUNTS, password))
    if new == "11.8":  # its DROP DATABASE leaves the file of a trigger with some names, and then fails
        for client in (source, target):
            client.place.sql(client.spelled("DROP TRIGGER IF EXISTS shop.gé"))
    if old == "10.5":  # its utf8 and its types of integers are shown otherwise by newer versions
        found = [line for line in found if "utf8" not in line]
    assert found == []


def test_r33_names_of_created_tables_are_the_sources_in_postgres_from_mysql(
    mysql_place: SqlPlace, tmp_path: Path, database: Database
) -> None:
    client = Client(mysql_place, mysql_data())
    statements = ("CREATE DATABASE shop", "USE shop", "CREATE TABLE t (é INT PRIMARY KEY)", "INSERT INTO t VALUES (1)",
                  "CREATE TABLE sé AS SELECT é FROM t", "CREATE VIEW vé AS SELECT é FROM t", "ALTER TABLE t RENAME TO té")  # fmt: skip
    log = client.log(tmp_path, *statements)
    client.empty()
    applied(log, database.url)
    assert database.sql('SELECT "é" FROM shop."sé"') == [(1,)]
    assert database.sql('SELECT "é" FROM shop."té"') == [(1,)]


def test_r33_text_that_can_be_read_in_two_ways_is_refused_on_mysql(mysql_place: SqlPlace, tmp_path: Path) -> None:
    client = Client(mysql_place, mysql_data())
    log = client.log(
        tmp_path,
        "CREATE DATABASE shop",
        "USE shop",
        "CREATE TEMPORARY TABLE tmp (é INT)",
        "CREATE TABLE t LIKE tmp",
        "CREATE TABLE n (a INT)",
    )
    client.empty()
    outcome = run(log, mysql_place.url)
    assert outcome.code == 3
    error = outcome.report["error"]
    assert "can be read in two ways" in error["message"]
    assert error["message"].endswith(f"run it by hand, and start again with --skip {error['gtid']}")
    planned = run(log, mysql_place.url, "--dry-run").report["statements"]
    assert [statement["problem"] for statement in planned if statement["problem"]] == [error["message"]]
    mysql_place.sql("SET sql_log_bin=0", "SET NAMES utf8mb4", "CREATE TABLE shop.t (é INT)")
    applied(log, mysql_place.url, "--skip", error["gtid"])
    assert mysql_place.sql("SELECT table_name FROM information_schema.tables WHERE table_schema='shop' ORDER BY 1") == [("n",), ("t",)]
    changes = subprocess.run([sys.executable, "-m", "paraply", "analyze", str(log)], capture_output=True, text=True, check=False)
    assert "--skip" not in changes.stdout + changes.stderr
    client.empty()


def test_r33_names_that_the_client_cannot_express_are_refused_on_mysql(mysql_place: SqlPlace, tmp_path: Path) -> None:
    client = Client(mysql_place, mysql_data())
    log = client.log(
        tmp_path, "CREATE DATABASE shop", "USE shop", "SET character_set_client=utf8mb4", "SET @view='CREATE VIEW ж AS SELECT 1'".encode(),
        "SET character_set_client=latin1", "CREATE PROCEDURE p() BEGIN PREPARE s FROM @view; EXECUTE s; END", "CREATE VIEW v AS SELECT 1",
    )  # fmt: skip
    client.empty()
    applied(log, mysql_place.url)
    client.empty()


def test_r33_the_servers_own_replication_gets_no_name_that_it_would_misread_on_mysql(mysql_place: SqlPlace, tmp_path: Path) -> None:
    client = Client(mysql_place, mysql_data())
    log = client.log(tmp_path, "CREATE DATABASE shop", "USE shop", "CREATE VIEW v AS SELECT 'é'", "CREATE VIEW vé AS SELECT 1")
    client.empty()
    outcome = run(log, mysql_place.url, "--via", "replication")
    assert outcome.code == 3
    assert "--via replication" in outcome.report["error"]["message"]
    assert [row[0] for row in mysql_place.sql("SHOW TABLES FROM shop")] == ["v"]
    client.empty()


def test_r33_the_log_names_databases_and_tables_in_utf8_on_mysql(mysql_place: SqlPlace, tmp_path: Path) -> None:
    from paraply import open_log

    client = Client(mysql_place, mysql_data())
    log = client.log(tmp_path, "CREATE DATABASE shopé", "USE shopé", "CREATE TABLE té (a INT)", "INSERT INTO té VALUES (1)")
    client.empty()
    found = list(open_log([str(log)]))
    assert {statement.database for transaction in found for statement in transaction.statements} == {"shopé"}
    assert found[-1].tables == ["shopé.té"]


def test_r33_literal_defaults_and_types_are_the_sources_in_postgres(
    make_version_servers: VersionServers, tmp_path: Path, database: Database
) -> None:
    source = make_version_servers.source("11.8")
    client = Client(SqlPlace(source.url), source.data)
    log = client.log(
        tmp_path, "CREATE DATABASE shop CHARACTER SET utf8mb4", "USE shop", "SET NAMES utf8mb4",
        "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)",
        "ALTER TABLE t ADD a VARCHAR(9) CHARACTER SET koi8r DEFAULT 'жук'".encode(),
        "ALTER TABLE t ADD b CHAR(9) CHARACTER SET utf16 DEFAULT 'é€'".encode(),
        "ALTER TABLE t ADD c VARCHAR(9) CHARACTER SET sjis DEFAULT '表'".encode(),
        "SET character_set_client=latin1, sql_mode='MAXDB'", "CREATE TABLE m (id INT PRIMARY KEY, at TIMESTAMP NULL)",
        "INSERT INTO m VALUES (1, '2024-03-31 02:30:00')", "ALTER TABLE m ADD d VARCHAR(9) DEFAULT 'é'",
        "CREATE TABLE k (id INT PRIMARY KEY, at mariadb_schema.TIMESTAMP NULL)", "INSERT INTO k VALUES (1, '2024-03-31 01:30:00')",
        "CREATE TABLE l AS SELECT at FROM k", "CREATE TABLE plain (d DATE)", "INSERT INTO plain VALUES ('2024-03-31')",
        "SET sql_mode='ORACLE'", "CREATE TABLE o AS SELECT d FROM plain",
    )  # fmt: skip
    assert source.sql("SELECT id, a, b, c FROM shop.t") == [(1, "жук", "é€", "表")]
    applied(log, database.url)
    assert database.sql("SELECT id, a, b, c FROM shop.t") == [(1, "жук", "é€", "表")]
    assert database.sql("SELECT at::text, pg_typeof(at)::text, d FROM shop.m") == [
        ("2024-03-31 02:30:00", "timestamp without time zone", "é")
    ]
    instants = [(True, "timestamp with time zone")]
    assert [database.sql(f"SELECT at IS NOT NULL, pg_typeof(at)::text FROM shop.{table}") for table in "kl"] == [instants, instants]
    assert database.sql("SELECT d::text, pg_typeof(d)::text FROM shop.o") == [("2024-03-31", "date")]
