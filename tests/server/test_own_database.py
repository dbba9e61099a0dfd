"""R25: a log that holds the progress of applies into its source does not touch that of the run."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import apply
from mariadb_versions import ROW_LOG
from server.replay import PostgresPlace, SqlPlace, applied
from servers import running_mariadb

#: As an undo, or a restore beside the table in use, leaves it in the log of the server.
PROGRESS = (
    "CREATE DATABASE IF NOT EXISTS paraply",
    "CREATE TABLE IF NOT EXISTS paraply.channel (name VARCHAR(64) PRIMARY KEY, epoch INT)",
    "INSERT INTO paraply.channel VALUES ('default', 1)",
)
TABLE = ("CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)", "INSERT INTO d.t VALUES (1)")
STATEMENTS = (*TABLE, *PROGRESS, "INSERT INTO d.t VALUES (2)")


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with running_mariadb(ROW_LOG) as server, server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("RESET MASTER")
        for statement in STATEMENTS:
            cursor.execute(statement)
        connection.commit()
        cursor.execute("FLUSH BINARY LOGS")
        cursor.execute("SHOW BINARY LOGS")
        name = str(cursor.fetchall()[0][0])
        yield Path(shutil.copy(server.data / name, tmp_path_factory.mktemp("log") / name))


@pytest.mark.mariadb
def test_r25_the_progress_of_another_apply_is_refused_and_can_be_left_out(mariadb_place: SqlPlace, log: Path) -> None:
    refused = apply(log, mariadb_place.url, "--workers", "0")
    assert (refused.code, "--exclude-database paraply" in refused.line) == (2, True), refused.line
    assert mariadb_place.sql("SELECT name FROM paraply.channel") == [("default",)]
    applied(log, mariadb_place.url, "--exclude-database", "paraply")  # the channel goes on
    assert mariadb_place.sql("SELECT id FROM d.t ORDER BY 1") == [(1,), (2,)]


@pytest.mark.mariadb
def test_r25_postgresql_gets_none_of_it(postgres_place: PostgresPlace, log: Path) -> None:
    report = applied(log, postgres_place.url)
    assert report["transactions"] > 0
