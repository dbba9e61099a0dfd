"""Cascades that change a generated column of which there is an index: MariaDB takes no statement with both tables of such a foreign key."""

from __future__ import annotations

from pathlib import Path

import pytest
from mariadb_versions import MARIADB_VERSIONS
from server.live import database_differences
from server.version_servers import VersionServers, logged, make_version_servers, replayed

__all__ = ["make_version_servers"]

ACTIONS = {
    "ON UPDATE CASCADE": "UPDATE p SET a = a + 10",
    "ON UPDATE SET NULL": "UPDATE p SET a = a + 10",
    "ON DELETE CASCADE": "DELETE FROM p WHERE a = 1",
    "ON DELETE SET NULL": "DELETE FROM p WHERE a = 1",
}
TABLES = (
    "CREATE TABLE p (a INT, id INT PRIMARY KEY, KEY (a))",
    "CREATE TABLE c (id INT PRIMARY KEY, a INT, v INT AS (a) VIRTUAL, KEY (v), FOREIGN KEY (a) REFERENCES p (a) {})",
)
ROWS = ("INSERT INTO p VALUES (1, 1), (2, 2)", "INSERT INTO c (id, a) VALUES (1, 1), (2, 2), (3, 1)")


@pytest.mark.parametrize("mode", ["record", "preserve"])
@pytest.mark.parametrize("version", MARIADB_VERSIONS)
def test_r31_rows_of_a_child_with_a_generated_column_share_no_statement_with_its_parent(
    make_version_servers: VersionServers, tmp_path: Path, version: str, mode: str
) -> None:
    source, target = make_version_servers.source(version), make_version_servers.target(version)
    statements = ["CREATE DATABASE d", "USE d"]
    for action, change in ACTIONS.items():
        for statement in (*TABLES, *ROWS, change, "RENAME TABLE c TO c_{0}, p TO p_{0}"):
            statements.append(statement.format(action if statement in TABLES else action.replace(" ", "_").lower()))
        last = action.replace(" ", "_").lower()
        together = ("BEGIN", f"INSERT INTO p_{last} VALUES (5, 5)", f"INSERT INTO c_{last} (id, a) VALUES (5, 5)")
        statements += [*together, change.replace(" p ", f" p_{last} ").replace("a = 1", "a = 5"), "COMMIT"]
    log = logged(source, tmp_path, *statements)
    replayed(log, target, "--gtid", mode, "--workers", "2")
    assert database_differences(source.url, target.url, "d") == []
