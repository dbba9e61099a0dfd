"""Statements of clients whose literals have several bytes for each character (``collation_connection`` of UTF-16, UTF-32 or UCS-2)."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from own_mysql import running_mysql
from server.live import connect, database_differences
from server.replay import applied
from server.version_servers import VersionServers, make_version_servers
from servers import LocalServer

__all__ = ["make_version_servers"]

COLLATIONS = ("ucs2_general_ci", "utf16_unicode_ci", "utf16le_bin", "utf32_general_ci")
STATEMENTS = (
    "CREATE TABLE t_{0} (a INT PRIMARY KEY, b VARCHAR(9) CHARACTER SET utf8mb4 DEFAULT 'é', c DATETIME DEFAULT '2001-02-03')",
    "INSERT INTO t_{0} (a) VALUES (1)",
    "CREATE TABLE s_{0} AS SELECT a, 'é' AS l FROM t_{0}",
    "CREATE VIEW v_{0} AS SELECT 'é' AS l, a FROM t_{0}",
    "CREATE PROCEDURE p_{0}() SELECT 'é'",
    "CREATE TRIGGER g_{0} BEFORE INSERT ON t_{0} FOR EACH ROW SET NEW.b = 'z'",
    "ALTER TABLE t_{0} ADD d ENUM('é', 'y') DEFAULT 'y'",
    "INSERT INTO t_{0} (a) VALUES (2)",
    "CREATE USER u_{0} IDENTIFIED BY 'long-Enough-1'",
    "GRANT SELECT ON wide.* TO u_{0}",
    "DROP USER u_{0}",
)


def run_statements(url: str) -> None:
    """Run the statements under each collation."""
    with contextlib.closing(connect(url)) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE wide")
        cursor.execute("USE wide")
        for collation in COLLATIONS:
            cursor.execute(f"SET collation_connection = {collation}")
            for statement in STATEMENTS:
                cursor.execute(statement.format(collation))
            connection.commit()


@pytest.fixture(scope="module")
def mysql_source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LocalServer, Path]]:
    with running_mysql(["--log-bin-trust-function-creators=1"]) as server:
        run_statements(server.url)
        newest = max(server.data.glob("binlog.0*")).name
        yield server, Path(shutil.copy(server.data / newest, tmp_path_factory.mktemp("wide")))


@pytest.mark.mysql
@pytest.mark.parametrize("mode", ["record", "preserve", "none"])
def test_r26_r33_statements_under_wide_literals_keep_their_gtids_on_mysql(mysql_source: tuple[LocalServer, Path], mode: str) -> None:
    source, log = mysql_source
    with running_mysql(["--log-bin-trust-function-creators=1"]) as target:
        applied(log, target.url, "--gtid", mode)
        assert database_differences(source.url, target.url, "wide") == []


@pytest.mark.parametrize("version", ["10.5", "11.8"])
def test_r33_statements_under_wide_literals_are_the_sources_on_mariadb(
    make_version_servers: VersionServers, tmp_path: Path, version: str
) -> None:
    source, target = make_version_servers.source(version), make_version_servers.target(version)
    with contextlib.closing(connect(source.url)) as connection, connection.cursor() as cursor:
        cursor.execute("FLUSH BINARY LOGS")
        cursor.execute("SHOW BINARY LOGS")
        newest = cursor.fetchall()[-1][0]
    run_statements(source.url)
    log = Path(shutil.copy(source.data / newest, tmp_path))
    applied(log, target.url)
    assert database_differences(source.url, target.url, "wide") == []
