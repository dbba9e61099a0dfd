"""R25: a log that holds the progress of applies into its source does not touch that of the run."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import apply, run_json
from mariadb_versions import ROW_LOG
from server.history_source import with_other_uuid
from server.replay import PostgresPlace, SqlPlace, applied
from server.source_log import copy_binlogs
from servers import MariaDbServer, running_mariadb

#: As an undo, or a restore beside the table in use, leaves it in the log of the server.
PROGRESS = (
    "CREATE DATABASE IF NOT EXISTS paraply",
    "CREATE TABLE IF NOT EXISTS paraply.channel (name VARCHAR(64) PRIMARY KEY, epoch INT)",
    "INSERT INTO paraply.channel VALUES ('default', 1)",
)
TABLE = ("CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)", "INSERT INTO d.t VALUES (1)")
STATEMENTS = (*TABLE, *PROGRESS, "INSERT INTO d.t VALUES (2)")
UNDONE = (*TABLE, PROGRESS[0], "CREATE TABLE IF NOT EXISTS paraply.undo_history (id INT)", "INSERT INTO paraply.undo_history VALUES (1)")
DROPPED = (*TABLE, *PROGRESS[:2], "DROP DATABASE paraply", "INSERT INTO d.t VALUES (2)")


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Path]]:
    """Return the logs of the lists of statements."""
    with running_mariadb(ROW_LOG) as server:
        yield [logged(server, statements, tmp_path_factory.mktemp("log")) for statements in (STATEMENTS, DROPPED, UNDONE)]


def logged(server: MariaDbServer, statements: tuple[str, ...], folder: Path) -> Path:
    """Run statements, and return a copy of their log."""
    server.sql("RESET MASTER", *statements, "FLUSH BINARY LOGS", "DROP DATABASE IF EXISTS paraply", "DROP DATABASE d")
    name = str(server.sql("SHOW BINARY LOGS")[0][0])
    return Path(shutil.copy(server.data / name, folder / name))


@pytest.fixture
def log(logs: list[Path]) -> Path:
    """Return the log with rows."""
    return logs[0]


@pytest.mark.mariadb
def test_r25_the_progress_of_another_apply_is_refused_and_can_be_left_out(mariadb_place: SqlPlace, log: Path) -> None:
    refused = apply(log, mariadb_place.url, "--workers", "0")
    assert (refused.code, "--exclude-database paraply" in refused.line) == (2, True), refused.line
    assert mariadb_place.sql("SELECT name FROM paraply.channel") == [("default",)]
    applied(log, mariadb_place.url, "--exclude-database", "paraply")  # the channel goes on
    assert mariadb_place.sql("SELECT id FROM d.t ORDER BY 1") == [(1,), (2,)]


@pytest.mark.mariadb
def test_r25_the_history_of_undos_is_named_also_by_a_dry_run(mariadb_place: SqlPlace, logs: list[Path]) -> None:
    mariadb_place.sql("DROP DATABASE IF EXISTS d")
    dry = run_json("apply", logs[2], "--to", mariadb_place.url, "--dry-run")
    refused = apply(logs[2], mariadb_place.url, "--workers", "0")
    assert refused.code == 2
    for said in (str(dry.report), refused.line):
        assert "rows of paraply.undo_history, where paraply undo records what it took back" in said
        assert "--exclude-database paraply" in said
    applied(logs[2], mariadb_place.url, "--exclude-database", "paraply")


@pytest.mark.mariadb
def test_r25_postgresql_gets_none_of_it(postgres_place: PostgresPlace, log: Path) -> None:
    report = applied(log, postgres_place.url)
    assert report["transactions"] > 0


STANDING = "SELECT table_name FROM information_schema.tables WHERE table_schema='paraply' AND table_name='progress'"


@pytest.mark.mariadb
def test_r25_a_statement_on_the_progress_is_refused_and_can_be_left_out(mariadb_place: SqlPlace, logs: list[Path]) -> None:
    mariadb_place.sql("DROP DATABASE IF EXISTS d")
    dry = run_json("apply", logs[1], "--to", mariadb_place.url, "--dry-run")
    assert "--exclude-database paraply" in str(dry.report["statements"][-1]["problem"]), dry.line
    check_refused(mariadb_place, logs[1])


@pytest.mark.mysql
@pytest.mark.parametrize("via", ["sessions", "replication"])
def test_r25_a_statement_on_the_progress_is_refused_on_mysql(mysql_place: SqlPlace, tmp_path: Path, via: str) -> None:
    mysql_place.sql("DROP DATABASE IF EXISTS d")
    mysql_place.empty()
    mysql_place.sql(*DROPPED)
    (log,) = copy_binlogs(mysql_place.url, tmp_path)
    mysql_place.sql("DROP DATABASE d")
    mysql_place.empty()
    check_refused(mysql_place, with_other_uuid(log, log), "--via", via)


def check_refused(place: SqlPlace, log: Path, *options: str) -> None:
    """Apply a log with DROP DATABASE paraply: it ends before the statement, and goes on without it."""
    refused = apply(log, place.url, *options)
    assert (refused.code, "--exclude-database paraply" in refused.line, "DROP DATABASE paraply" in refused.line) == (2, True, True)
    assert len(place.sql(STANDING)) == 1
    applied(log, place.url, "--exclude-database", "paraply")
    assert place.sql("SELECT id FROM d.t ORDER BY 1") == [(1,), (2,)]
    assert len(place.sql(STANDING)) == 1
