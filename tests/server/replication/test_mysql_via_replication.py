"""``--via replication``: the target's own applier commits in order what paraply sends it (R17 to R20, R24, R25; WL#6813)."""

from __future__ import annotations

import contextlib
import json
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pymysql
import pytest
from server.history_source import ITEMS, with_other_uuid
from server.replay import Outcome, SqlPlace, applied, end, expected_checksums, interrupt, kill_at_random, run, start, wait_for_rows
from server.source_log import copy_binlogs
from server.waiting import wait_until
from servers import sql_connect

pytestmark = pytest.mark.mysql

VIA = ("--via", "replication", "--workers", "8")
SETTINGS = (
    "SELECT @@GLOBAL.replica_parallel_workers, @@GLOBAL.replica_preserve_commit_order, @@GLOBAL.replica_exec_mode, @@GLOBAL.server_id"
)
COORDINATOR = "SELECT thread_id FROM performance_schema.replication_applier_status_by_coordinator WHERE channel_name='paraply'"
RECEIVING = "SELECT service_state FROM performance_schema.replication_connection_status WHERE channel_name='paraply'"
STOPPING = "SELECT id FROM information_schema.processlist WHERE id<>CONNECTION_ID() AND info LIKE 'STOP REPLICA%'"
WAITING = (
    "SELECT id FROM information_schema.processlist WHERE state='Waiting for table metadata lock'"
    " UNION ALL SELECT trx_mysql_thread_id FROM information_schema.innodb_trx WHERE trx_state='LOCK WAIT'"
)
"""Connections that wait for a table or a row."""
MADE = (
    *ITEMS,
    "ALTER TABLE shop.item ADD COLUMN name VARCHAR(20)",
    "UPDATE shop.item SET name = 'x', n = 5 WHERE id = 3",
)


@pytest.fixture
def place(mysql_place: SqlPlace) -> Iterator[SqlPlace]:
    """An empty server, whose settings are as before afterwards."""
    before = mysql_place.sql(SETTINGS)
    yield mysql_place
    assert channels(mysql_place) == []
    assert mysql_place.sql(SETTINGS) == before


@pytest.fixture
def made(place: SqlPlace, tmp_path: Path) -> Path:
    """The log of the statements, of another server's GTIDs and of this server's own ``server_id``."""
    place.sql(*MADE)
    (log,) = copy_binlogs(place.url, tmp_path)
    place.empty()
    return with_other_uuid(log, log)


def channels(place: SqlPlace) -> list[str]:
    """The server's replication channels, without those of its plugins."""
    names = place.sql("SELECT channel_name FROM performance_schema.replication_connection_configuration")
    return [name for (name,) in names if not name.startswith("group_replication")]


def connections(place: SqlPlace) -> set[int]:
    """The user's other connections; not those of the server's replication."""
    sql = "SELECT id FROM information_schema.processlist WHERE user=SUBSTRING_INDEX(USER(),'@',1) AND id<>CONNECTION_ID()"
    return {number for (number,) in place.sql(sql)}


def kill_connections(place: SqlPlace, but: int = 0) -> None:
    """Ends them, but not this one."""
    for number in connections(place) - {but}:
        with contextlib.suppress(pymysql.MySQLError):
            place.sql(f"KILL {number}")


def stop_receiver(place: SqlPlace, _: int = 0) -> None:
    """Stops what the server reads from paraply with, if it runs."""
    with contextlib.suppress(pymysql.MySQLError):
        place.sql("STOP REPLICA IO_THREAD FOR CHANNEL 'paraply'")


def error_of(outcome: Outcome) -> dict[str, object]:
    """The JSON object's error."""
    assert outcome.report["error"] is not None, outcome
    return dict(outcome.report["error"])


@pytest.mark.by_turns
@pytest.mark.truth
@pytest.mark.parametrize(
    ("name", "workers"),
    [("eight-sessions", "8"), ("single-session", "1"), ("compressed", "8"), ("minimal-image", "8"), ("partial-json", "8")],
)
def test_real_logs_end_in_the_sources_tables(place: SqlPlace, truth: Callable[[str], Path], name: str, workers: str) -> None:
    log = truth(f"mysql-binlog/{name}.binlog")
    report = applied(log, place.url, "--via", "replication", "--workers", workers)
    assert place.state() == expected_checksums(truth(f"mysql-binlog/{name}.checksums"))
    assert place.sql("SELECT @@GLOBAL.gtid_executed")[0][0].replace("\n", "") == report["executed"]
    assert report["commits"] == report["transactions"] > 0
    assert applied(log, place.url, *VIA)["transactions"] == 0


@pytest.mark.truth
def test_r25_killed_at_any_moment_it_has_everything_once(place: SqlPlace, truth: Callable[[str], Path]) -> None:
    expected = expected_checksums(truth("mysql-binlog/single-session.checksums"))

    def check() -> None:
        assert place.state() == expected

    assert kill_at_random(place, truth("mysql-binlog/single-session.binlog"), VIA, 4, 3.0, check)


@pytest.mark.truth
def test_r25_after_sessions_were_killed_the_channel_goes_on_and_the_other_way_round(place: SqlPlace, truth: Callable[[str], Path]) -> None:
    log, url = truth("mysql-binlog/single-session.binlog"), place.url
    ways = [("--via", "replication"), ("--gtid", "preserve", "--merge", "off")]
    for number, way in enumerate([*ways, *ways], 1):
        process = start(log, url, *way, "--workers", "4")
        wait_for_rows(place, process, "orders", 250 * number)
        process.kill()
        end(process)
    applied(log, url, *ways[1])
    assert place.state() == expected_checksums(truth("mysql-binlog/single-session.checksums"))


@pytest.mark.truth
def test_ctrl_c_stops_at_a_transaction_boundary_and_the_same_command_goes_on(place: SqlPlace, truth: Callable[[str], Path]) -> None:
    log = truth("mysql-binlog/eight-sessions.binlog")
    process = start(log, place.url, *VIA)
    wait_for_rows(place, process, "orders", 300)
    process.send_signal(signal.SIGINT)
    stopped = end(process)
    assert (stopped.code, stopped.report["status"]) == (4, "stopped")
    assert channels(place) == []
    assert place.sql("SELECT @@GLOBAL.gtid_executed")[0][0].replace("\n", "") == stopped.report["executed"]
    rest = applied(log, place.url, *VIA)
    assert rest["transactions"] > 0
    assert rest["skipped"] == stopped.report["transactions"] > 0
    assert place.state() == expected_checksums(truth("mysql-binlog/eight-sessions.checksums"))


def test_statements_and_transactions_of_the_targets_own_server_id_are_applied(place: SqlPlace, made: Path) -> None:
    report = applied(made, place.url, *VIA)
    assert (report["transactions"], report["skipped"]) == (len(MADE), 0)
    assert place.sql("SELECT * FROM shop.item ORDER BY id") == [(1, 11, None), (2, 12, None), (3, 5, "x")]


def test_r18_a_missing_row_ends_it_there_and_names_it(place: SqlPlace, made: Path) -> None:
    gtid = run(made, place.url, *VIA, "--stop-at", gtid_of(made, 5)).report["executed"]
    place.sql("SET sql_log_bin=0", "DELETE FROM shop.item WHERE id = 3")
    outcome = run(made, place.url, *VIA)
    error = error_of(outcome)
    assert (outcome.code, error["class"]) == (1, "RowNotFound")
    assert "shop.item" in str(error["message"])
    assert "key id=3" in str(error["message"])
    assert "or go on with --via sessions --on-conflict log, " in str(error["message"])
    assert str(error["gtid"]).endswith(f":{len(MADE)}")
    assert outcome.report["transactions"] == 1, "the statement before it"
    assert gtid
    place.sql("SET sql_log_bin=0", "INSERT INTO shop.item VALUES (3, 3, NULL)")
    assert applied(made, place.url, *VIA)["transactions"] == 1


def test_a_table_that_differs_ends_it_before_its_rows(place: SqlPlace, made: Path) -> None:
    run(made, place.url, *VIA, "--stop-at", gtid_of(made, 5))
    place.sql("SET sql_log_bin=0", "ALTER TABLE shop.item MODIFY n BIGINT")
    outcome = run(made, place.url, *VIA)
    error = error_of(outcome)
    assert (outcome.code, error["class"]) == (1, "SchemaMismatch")
    assert "shop.item" in f"{error['message']} {outcome.stderr}"
    assert outcome.report["transactions"] == 1


def gtid_of(log: Path, number: int) -> str:
    """GTID of a transaction, counted from 1."""
    from paraply import open_log

    gtid = [transaction.gtid for transaction in open_log(log)][number - 1]
    assert gtid is not None
    return gtid


@pytest.mark.parametrize("statement", ["UPDATE shop.item SET n = 0 WHERE id = 3", "LOCK TABLES shop.item READ"])
def test_r24_it_says_who_blocks_the_servers_workers_and_goes_on_when_they_let_go(place: SqlPlace, made: Path, statement: str) -> None:
    run(made, place.url, *VIA, "--stop-at", gtid_of(made, 6))
    with held(place, statement) as number:
        process = start(made, place.url, *VIA)
        wait_until(lambda: number in blockers(place), "the blocker in the status")
        assert process.poll() is None
    outcome = end(process)
    assert outcome.code == 0, outcome
    notes = [note for note in outcome.report["notes"] if f"waits for locks of other connections: {number} (" in note]
    assert notes, outcome.report["notes"]
    assert f"idle after: {statement}" in notes[0]


def blockers(place: SqlPlace) -> list[int]:
    """The connections that the run's status names as those it waits for."""
    return [number for counters in counters_of(place) for number in counters["foreign_blockers"]]


def counted_seconds(place: SqlPlace) -> float:
    """Return the duration of the run by its status."""
    return max(float(counters["seconds"]) for counters in counters_of(place))


def counters_of(place: SqlPlace) -> list[dict[str, Any]]:
    """The counters in the status of the run."""
    return [json.loads(str(status))["counters"] for (status,) in place.sql("SELECT status FROM paraply.run")]


@contextlib.contextmanager
def held(place: SqlPlace, statement: str) -> Iterator[int]:
    """Keeps the locks of a statement; gives the connection's number."""
    parts = urlsplit(place.url)
    connection = sql_connect(host=parts.hostname, port=parts.port, user=parts.username, password=parts.password or "")
    try:
        connection.begin()
        with connection.cursor() as cursor:
            cursor.execute(statement)
        yield connection.thread_id()
    finally:
        connection.rollback()
        connection.close()


@pytest.mark.truth
@pytest.mark.parametrize("held_by", [5, 6], ids=["table", "row"])
def test_a_second_ctrl_c_ends_it_although_a_lock_is_held(place: SqlPlace, made: Path, held_by: int) -> None:
    run(made, place.url, *VIA, "--stop-at", gtid_of(made, held_by))
    with held(place, "UPDATE shop.item SET n = 0 WHERE id = 3") as number:
        process = start(made, place.url, *VIA)
        wait_until(lambda: place.sql(WAITING) != [] or number in blockers(place), "a worker that waits for the lock")
        interrupt(process)
        process.send_signal(signal.SIGINT)
        begun = time.monotonic()
        assert end(process).code == 4
        assert time.monotonic() - begun < 20
    assert applied(made, place.url, *VIA)["transactions"] == len(MADE) - held_by


@pytest.mark.truth
def test_lost_connections_are_made_anew(place: SqlPlace, truth: Callable[[str], Path]) -> None:
    log = truth("mysql-binlog/single-session.binlog")
    process = start(log, place.url, *VIA)
    for rows in (200, 500, 800):
        wait_for_rows(place, process, "orders", rows)
        kill_connections(place)
        stop_receiver(place)
    outcome = end(process)
    assert outcome.code == 0, outcome
    assert place.state() == expected_checksums(truth("mysql-binlog/single-session.checksums"))


@pytest.mark.parametrize("disturb", [kill_connections, stop_receiver])
def test_r24_the_servers_applier_goes_on_where_only_a_connection_is_lost(
    place: SqlPlace, made: Path, disturb: Callable[[SqlPlace, int], None]
) -> None:
    run(made, place.url, *VIA, "--stop-at", gtid_of(made, 6))
    with held(place, "UPDATE shop.item SET n = 0 WHERE id = 3") as number:
        process = start(made, place.url, *VIA)
        wait_until(lambda: number in blockers(place), "the blocker in the status")
        before, own = place.sql(COORDINATOR), connections(place)
        disturb(place, number)
        wait_until(lambda: place.sql(RECEIVING) == [("ON",)], "the receiver")
        if disturb is kill_connections:
            wait_until(lambda: bool(connections(place) - own), "new connections")
        since = counted_seconds(place)
        wait_until(lambda: counted_seconds(place) > since + 1, "a later status")
        assert place.sql(STOPPING) == [], "within a transaction that would wait a minute for the rest"
        assert place.sql(COORDINATOR) == before != []
    outcome = end(process)
    assert outcome.code == 0, outcome
    assert place.sql("SELECT id, n, name FROM shop.item ORDER BY id") == [(1, 11, None), (2, 12, None), (3, 5, "x")]


@pytest.mark.truth
def test_another_apply_of_the_same_channel_ends_this_one(place: SqlPlace, truth: Callable[[str], Path]) -> None:
    log = truth("mysql-binlog/single-session.binlog")
    first = start(log, place.url, *VIA)
    wait_for_rows(place, first, "orders", 300)
    second = run(log, place.url, *VIA)
    ended = end(first)
    assert second.code == 0, second
    assert (ended.code, error_of(ended)["class"]) == (1, "AlreadyRunning")
    assert place.state() == expected_checksums(truth("mysql-binlog/single-session.checksums"))


def test_filters_of_the_servers_replication_are_refused(place: SqlPlace, made: Path) -> None:
    place.sql("CHANGE REPLICATION FILTER REPLICATE_IGNORE_DB = (shop)")
    try:
        outcome = run(made, place.url, *VIA)
    finally:
        place.sql("CHANGE REPLICATION FILTER REPLICATE_IGNORE_DB = ()")
    assert (outcome.code, error_of(outcome)["class"]) == (2, "UsageError")
    assert "replication filters" in str(error_of(outcome)["message"])


def test_without_the_privileges_it_says_which(place: SqlPlace, made: Path) -> None:
    place.sql(
        "DROP USER IF EXISTS less",
        "CREATE USER less IDENTIFIED BY 'less'",
        "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, ALTER, INDEX, REFERENCES ON *.* TO less",
        "GRANT REPLICATION_APPLIER, SYSTEM_VARIABLES_ADMIN, BINLOG_ADMIN, PROCESS, REPLICATION CLIENT ON *.* TO less",
    )
    try:
        outcome = run(made, place.url.replace("app:app", "less:less"), *VIA)
    finally:
        place.sql("DROP USER less")
    assert outcome.code == 2, outcome
    assert "REPLICATION_SLAVE_ADMIN" in str(error_of(outcome)["message"])
