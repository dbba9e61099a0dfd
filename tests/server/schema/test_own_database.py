"""R25: a log that holds the progress of applies into its source does not touch that of the run."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from command_line import apply, run_json
from mariadb_versions import ROW_LOG
from server.history_source import with_other_uuid
from server.replay import PostgresPlace, SqlPlace, applied
from server.source_log import copy_binlogs
from servers import MariaDbServer, running_mariadb

from paraply import GtidSet, open_log
from paraply.schema.own_tables import left_out_note

#: As an undo, or a restore beside the table in use, leaves it in the log of the server.
PROGRESS = (
    "CREATE DATABASE IF NOT EXISTS paraply",
    "CREATE TABLE IF NOT EXISTS paraply.channel (name VARCHAR(64) PRIMARY KEY, epoch BIGINT UNSIGNED NOT NULL)",
    "INSERT INTO paraply.channel VALUES ('default', 1)",
)
TABLE = ("CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)", "INSERT INTO d.t VALUES (1)")
BESIDE = ("BEGIN", "UPDATE paraply.channel SET epoch = 2", "INSERT INTO d.t VALUES (2)", "UPDATE paraply.channel SET epoch = 3", "COMMIT")
DROP = ("DROP DATABASE paraply", "INSERT INTO d.t VALUES (2)")
HISTORY = "CREATE TABLE IF NOT EXISTS paraply.undo_history (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, transactions LONGTEXT)"
LOGS = {
    "progress": (*TABLE, *PROGRESS, *BESIDE),
    "dropped": (*TABLE, *PROGRESS, "ALTER TABLE paraply.channel ADD state INT", *DROP),
    "undone": (*TABLE, PROGRESS[0], HISTORY, "INSERT INTO paraply.undo_history VALUES (1, '0-1-1')", "INSERT INTO d.t VALUES (2)"),
    "other table": (*TABLE, *PROGRESS, "CREATE TABLE paraply.item (id INT PRIMARY KEY)", "INSERT INTO paraply.item VALUES (7)"),
    "other form": (*TABLE, PROGRESS[0], "CREATE TABLE paraply.run (id INT PRIMARY KEY)", "INSERT INTO paraply.run VALUES (7)"),
    "both": (*TABLE, *PROGRESS[:2], "DROP TABLE d.t, paraply.channel"),
}
#: Number of transactions of each log that change paraply's own tables.
OWN = {"progress": 4, "dropped": 5, "undone": 3}


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """Return the logs of the lists of statements."""
    with running_mariadb(ROW_LOG) as server:
        yield {name: logged(server, statements, tmp_path_factory.mktemp("log")) for name, statements in LOGS.items()}


def logged(server: MariaDbServer, statements: tuple[str, ...], folder: Path) -> Path:
    """Run statements, and return a copy of their log."""
    server.sql("RESET MASTER", *statements, "FLUSH BINARY LOGS", "DROP DATABASE IF EXISTS paraply", "DROP DATABASE d")
    name = str(server.sql("SHOW BINARY LOGS")[0][0])
    return Path(shutil.copy(server.data / name, folder / name))


def note_of(count: int) -> str:
    """Return the note on this number of transactions."""
    note = left_out_note(count)
    assert f"changed in {count} transactions" in note
    return note


@pytest.mark.mariadb
@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("options", [("--workers", "0"), ("--gtid", "none"), ("--gtid", "preserve")], ids=["inline", "threads", "preserve"])
def test_r25_changes_of_its_own_tables_are_left_out(mariadb_place: SqlPlace, logs: dict[str, Path], name: str, options: list[str]) -> None:
    mariadb_place.sql("SET sql_log_bin=0", "DROP DATABASE IF EXISTS d")
    dry = run_json("apply", logs[name], "--to", mariadb_place.url, "--dry-run", *options)
    assert (dry.code, note_of(OWN[name]) in dry.report["plan"]["notes"]) == (0, True), dry.line
    done = applied(logs[name], mariadb_place.url, *options)
    assert note_of(OWN[name]) in done["notes"]
    assert done["filtered"] == dry.report["filtered"] == OWN[name] - (name == "progress")
    assert mariadb_place.sql("SELECT id FROM d.t ORDER BY 1") == [(1,), (2,)]
    assert mariadb_place.sql("SELECT name, state FROM paraply.channel") == [("default", "complete")]
    assert mariadb_place.sql("SELECT COUNT(*) FROM information_schema.tables WHERE table_name='undo_history'") == [(0,)]
    last = list(open_log(logs[name]))[-1].gtid
    assert last in GtidSet(str(done["executed"])), "the GTIDs of empty transactions are kept"


@pytest.mark.mariadb
@pytest.mark.parametrize("name", OWN)
def test_r25_also_into_postgresql(postgres_place: PostgresPlace, logs: dict[str, Path], name: str) -> None:
    report = applied(logs[name], postgres_place.url)
    assert note_of(OWN[name]) in report["notes"]
    assert rows_of(postgres_place) == [(1,), (2,)]


def rows_of(place: SqlPlace | PostgresPlace) -> list[tuple[int, ...]]:
    """Return the rows of the user's table."""
    query = "SELECT id FROM d.t ORDER BY 1"
    if isinstance(place, SqlPlace):
        return place.sql(query)
    with psycopg.connect(place.url) as connection:
        return connection.execute(query.encode()).fetchall()


@pytest.mark.mariadb
def test_r25_a_channel_in_use_goes_on_with_and_without_the_option(mariadb_place: SqlPlace, logs: dict[str, Path]) -> None:
    mariadb_place.sql("SET sql_log_bin=0", "DROP DATABASE IF EXISTS d")
    first, last = (list(open_log(logs["progress"]))[index].gtid for index in (4, -1))
    for stop, options in ((first, ("--exclude-database", "paraply")), (last, ()), (last, ("--exclude-database", "paraply"))):
        report = applied(logs["progress"], mariadb_place.url, "--stop-at", str(stop), *options)
    assert report["transactions"] == 0
    assert mariadb_place.sql("SELECT id FROM d.t ORDER BY 1") == [(1,), (2,)]


@pytest.mark.mariadb
@pytest.mark.parametrize("name", ["other table", "other form"])
def test_r25_a_table_of_another_owner_is_never_lost(
    mariadb_place: SqlPlace, postgres_place: PostgresPlace, logs: dict[str, Path], name: str
) -> None:
    mariadb_place.sql("SET sql_log_bin=0", "DROP DATABASE IF EXISTS d")
    for place in (mariadb_place, postgres_place):
        dry = run_json("apply", logs[name], "--to", place.url, "--dry-run")
        refused = apply(logs[name], place.url)
        assert refused.code != 0
        assert "--exclude-database paraply" in refused.line
        assert "--exclude-database paraply" in str(dry.report), "the dry run says so too"
        applied(logs[name], place.url, "--exclude-database", "paraply")
        assert rows_of(place) == [(1,)]


@pytest.mark.mariadb
def test_r25_a_statement_on_its_own_tables_and_others_is_refused(mariadb_place: SqlPlace, logs: dict[str, Path]) -> None:
    mariadb_place.sql("SET sql_log_bin=0", "DROP DATABASE IF EXISTS d")
    refused = apply(logs["both"], mariadb_place.url)
    assert (refused.code, "paraply's own tables, which are left out, and others" in refused.line) == (3, True), refused.line
    assert mariadb_place.sql("SELECT id FROM d.t") == [(1,)]


STANDING = "SELECT table_name FROM information_schema.tables WHERE table_schema='paraply' AND table_name='progress'"


@pytest.mark.mariadb
def test_r25_the_database_is_not_dropped_beside_other_tables(mariadb_place: SqlPlace, logs: dict[str, Path]) -> None:
    mariadb_place.sql("DROP DATABASE IF EXISTS d", "CREATE DATABASE paraply", "CREATE TABLE paraply.item (id INT PRIMARY KEY)")
    dry = run_json("apply", logs["dropped"], "--to", mariadb_place.url, "--dry-run")
    assert "--exclude-database paraply" in str(dry.report["statements"][-1]["problem"]), dry.line
    refused = apply(logs["dropped"], mariadb_place.url)
    assert (refused.code, "DROP DATABASE paraply" in refused.line) == (2, True), refused.line
    applied(logs["dropped"], mariadb_place.url, "--exclude-database", "paraply")
    assert len(mariadb_place.sql(STANDING)) == len(mariadb_place.sql("SHOW TABLES FROM paraply LIKE 'item'")) == 1


@pytest.mark.mysql
@pytest.mark.parametrize("packed", ["OFF", "ON"])
@pytest.mark.parametrize("via", ["sessions", "replication"])
def test_r25_changes_of_its_own_tables_are_left_out_on_mysql(mysql_place: SqlPlace, tmp_path: Path, via: str, packed: str) -> None:
    mysql_place.sql("DROP DATABASE IF EXISTS d")
    mysql_place.empty()
    mysql_place.sql(f"SET SESSION binlog_transaction_compression={packed}", *LOGS["progress"], DROP[0])
    (log,) = copy_binlogs(mysql_place.url, tmp_path)
    mysql_place.sql("DROP DATABASE d")
    mysql_place.empty()
    report = applied(with_other_uuid(log, log), mysql_place.url, "--via", via)
    assert note_of(OWN["progress"] + 1) in report["notes"]
    assert mysql_place.sql("SELECT id FROM d.t ORDER BY 1") == [(1,), (2,)]
    assert len(mysql_place.sql(STANDING)) == 1
    executed = GtidSet(str(mysql_place.sql("SELECT @@GLOBAL.gtid_executed")[0][0]))
    assert all(transaction.gtid in executed for transaction in open_log(log))
