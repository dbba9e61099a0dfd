"""``--via replication`` into MariaDB: the target's own applier commits in order what paraply sends it (R17, R18, R25, R26)."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pymysql
import pytest
from mariadb_versions import mariadb_of_version
from server.replay import MARIADB_OPTIONS, Outcome, SqlPlace, applied, end, expected_checksums, kill_at_random, run, start, wait_for_rows
from servers import MariaDbServer, running_mariadb

from paraply import open_log
from paraply.applier import Applier
from paraply.errors import UsageError

pytestmark = pytest.mark.mariadb
Log = Callable[[str], Path]

OPTIONS = [*MARIADB_OPTIONS, "--server-id=77", "--log-slave-updates=ON", "--slave-parallel-threads=3"]
VIA = ("--via", "replication", "--workers", "8")
SETTINGS = (
    "SELECT @@GLOBAL.slave_parallel_threads, @@GLOBAL.slave_exec_mode, @@GLOBAL.slave_ddl_exec_mode, @@GLOBAL.slave_run_triggers_for_rbr,"
    " @@GLOBAL.slave_type_conversions, @@GLOBAL.slave_domain_parallel_threads, @@GLOBAL.server_id"
)
MADE = (
    "CREATE DATABASE shop",
    "CREATE TABLE shop.item (id INT PRIMARY KEY, n INT)",
    "INSERT INTO shop.item VALUES (1, 1), (2, 2), (3, 3)",
    "UPDATE shop.item SET n = n + 10 WHERE id < 3",
    "ALTER TABLE shop.item ADD COLUMN name VARCHAR(20)",
    "UPDATE shop.item SET name = 'x', n = 5 WHERE id = 3",
)
ROWS = [(1, 11, None), (2, 12, None), (3, 5, "x")]


@pytest.fixture(scope="module")
def server() -> Iterator[MariaDbServer]:
    """A MariaDB that logs what its replication applies."""
    with running_mariadb(OPTIONS) as server:
        yield server


@pytest.fixture
def place(server: MariaDbServer) -> Iterator[SqlPlace]:
    """The server, emptied; its settings and replication connections are as before afterwards."""
    place = SqlPlace(server.url)
    place.empty()
    before = place.sql(SETTINGS)
    yield place
    assert place.sql("SHOW ALL SLAVES STATUS") == () or place.sql("SHOW ALL SLAVES STATUS") == []
    assert place.sql(SETTINGS) == before


def logged(server: MariaDbServer, folder: Path, *statements: str, server_id: int = 1) -> Path:
    """Return the log of statements that another server ran; the server has none of it afterwards."""
    place = SqlPlace(server.url)
    place.sql(f"SET SESSION server_id={server_id}", *statements, "FLUSH BINARY LOGS")
    copy = folder / "binlog.000001"
    copy.write_bytes((server.data / "binlog.000001").read_bytes())
    place.empty()
    return copy


@pytest.fixture
def made(server: MariaDbServer, place: SqlPlace, tmp_path: Path) -> Path:
    """The log of a few statements."""
    del place
    return logged(server, tmp_path, *MADE)


def gtid_of(log: Path, number: int) -> str:
    """GTID of a transaction, counted from 1."""
    return str([transaction.gtid for transaction in open_log(log)][number - 1])


def error_of(outcome: Outcome) -> dict[str, object]:
    """The JSON object's error."""
    assert outcome.report["error"] is not None, outcome
    return dict(outcome.report["error"])


def rows(place: SqlPlace) -> list[tuple[object, ...]]:
    """The rows of the table that the statements make."""
    return list(place.sql("SELECT * FROM shop.item ORDER BY id"))


@pytest.mark.slow
@pytest.mark.truth
@pytest.mark.parametrize(("name", "workers"), [("plain", "8"), ("compressed", "2")])
def test_r17_a_real_log_ends_in_the_sources_tables_under_its_gtids(place: SqlPlace, truth: Log, name: str, workers: str) -> None:
    log = truth(f"mariadb-binlog/{name}.binlog")
    report = applied(log, place.url, "--via", "replication", "--workers", workers)
    assert place.state() == expected_checksums(truth(f"mariadb-binlog/{name}.checksums"))
    last = [transaction.gtid for transaction in open_log(log)][-1]
    assert place.sql("SELECT @@GLOBAL.gtid_slave_pos, @@GLOBAL.gtid_binlog_pos") == [(last, last)]
    assert report["commits"] == report["transactions"] > 0
    for way in (VIA, ("--gtid", "preserve")):
        again = applied(log, place.url, *way)
        assert (again["transactions"], again["skipped"]) == (0, report["transactions"])


@pytest.mark.slow
@pytest.mark.truth
def test_ctrl_c_stops_at_a_transaction_boundary_and_sessions_go_on(place: SqlPlace, truth: Log) -> None:
    log = truth("mariadb-binlog/plain.binlog")
    process = start(log, place.url, *VIA)
    wait_for_rows(place, process, "orders", 300)
    process.send_signal(signal.SIGINT)
    stopped = end(process)
    assert (stopped.code, stopped.report["status"]) == (4, "stopped")
    assert place.sql("SELECT @@GLOBAL.gtid_slave_pos") == [(stopped.report["executed"],)]
    first = open_log(log)
    middle = [transaction.gtid for transaction in first][stopped.report["transactions"] + 500]
    rest = applied(log, place.url, "--gtid", "preserve", "--stop-at", str(middle))
    assert rest["skipped"] == stopped.report["transactions"] > 0
    applied(log, place.url, *VIA)
    assert place.state() == expected_checksums(truth("mariadb-binlog/plain.checksums"))


@pytest.mark.slow
@pytest.mark.truth
def test_r25_killed_at_any_moment_it_has_everything_once(place: SqlPlace, truth: Log) -> None:
    expected = expected_checksums(truth("mariadb-binlog/plain.checksums"))

    def check() -> None:
        assert place.state() == expected

    assert kill_at_random(place, truth("mariadb-binlog/plain.binlog"), VIA, 6, 3.0, check)


@pytest.mark.slow
@pytest.mark.truth
def test_r25_the_target_may_be_killed(truth: Log) -> None:
    log = truth("mariadb-binlog/plain.binlog")
    with running_mariadb(OPTIONS) as server:
        place = SqlPlace(server.url)
        process = start(log, place.url, *VIA)
        for count in (200, 900):
            wait_for_rows(place, process, "orders", count)
            server.kill()
            server.start()
        outcome = end(process)
        if outcome.code != 0:  # the server was away for too long, or a statement ran
            applied(log, place.url, *VIA)
        assert place.state() == expected_checksums(truth("mariadb-binlog/plain.checksums"))


def test_statements_are_applied_and_a_table_that_is_there_is_not_replaced(place: SqlPlace, made: Path) -> None:
    report = applied(made, place.url, *VIA)
    assert (report["transactions"], rows(place)) == (len(MADE), ROWS)
    place.empty()
    place.sql(
        "SET sql_log_bin=0",
        "CREATE DATABASE shop",
        "CREATE TABLE shop.item (id INT PRIMARY KEY, n INT)",
        "INSERT INTO shop.item SELECT 9, 9",
    )
    outcome = run(made, place.url, *VIA, "--start-after", gtid_of(made, 1))
    assert (outcome.code, error_of(outcome)["gtid"]) == (1, gtid_of(made, 2)), outcome
    assert rows(place) == [(9, 9)], "as by default the server's applier would do with CREATE TABLE"
    assert place.sql("SELECT ddl_ordinal FROM paraply.channel") == [(None,)]


def test_r18_a_missing_row_ends_it_there_and_names_it(place: SqlPlace, made: Path) -> None:
    applied(made, place.url, *VIA, "--stop-at", gtid_of(made, 5))
    place.sql("SET sql_log_bin=0", "DELETE FROM shop.item WHERE id = 3")
    outcome = run(made, place.url, *VIA)
    error = error_of(outcome)
    assert (outcome.code, error["class"], error["gtid"]) == (1, "RowNotFound", gtid_of(made, 6))
    assert "shop.item" in str(error["message"]), error
    assert "key id=3" in str(error["message"])
    place.sql("SET sql_log_bin=0", "INSERT INTO shop.item VALUES (3, 3, NULL)")
    assert applied(made, place.url, *VIA)["transactions"] == 1
    assert rows(place) == ROWS


def test_r17_domains_that_depend_on_each_other_keep_the_logs_order(server: MariaDbServer, place: SqlPlace, tmp_path: Path) -> None:
    """The server's own replica of such a log stops at once: the table of domain 3 does not exist there yet."""
    statements = [*MADE[:3]]
    for number in range(20):
        statements += [f"SET SESSION gtid_domain_id={3 if number % 2 else 0}", f"UPDATE shop.item SET n = n * 2 + {number} WHERE id = 1"]
    log = logged(server, tmp_path, *statements)
    report = applied(log, place.url, *VIA)
    assert report["transactions"] == 23
    expected = 1
    for number in range(20):
        expected = (expected * 2 + number) % 2**31
    assert place.sql("SELECT n FROM shop.item WHERE id = 1") == [(expected,)]
    assert applied(log, place.url, *VIA)["transactions"] == 0


def test_skipped_transactions_count_as_executed(place: SqlPlace, made: Path) -> None:
    report = applied(made, place.url, *VIA, "--skip", gtid_of(made, 6))
    assert report["transactions"] == len(MADE) - 1
    assert place.sql("SELECT @@GLOBAL.gtid_slave_pos") == [(gtid_of(made, 6),)]
    assert applied(made, place.url, *VIA)["transactions"] == 0


def test_r35_xa_transactions_are_refused_before_anything_is_written(server: MariaDbServer, place: SqlPlace, tmp_path: Path) -> None:
    xa = ("XA START 'x'", "UPDATE shop.item SET n = 0 WHERE id = 1", "XA END 'x'", "XA PREPARE 'x'", "XA COMMIT 'x'")
    log = logged(server, tmp_path, *MADE[:3], *xa)
    with pytest.raises(UsageError, match="XA transaction"), Applier([log], place.url, via="replication") as applier:
        applier.run()
    assert not {"paraply", "shop"} & {name for (name,) in place.sql("SHOW DATABASES")}


@pytest.mark.parametrize(
    ("variable", "value", "reason"),
    [
        ("server_id", "1", "server_id 1"),
        ("replicate_do_db", "'other'", "replicate_do_db"),
        ("gtid_slave_pos", "'0-5-900'", "no server of the log is 5"),
        ("replicate_events_marked_for_skip", "'FILTER_ON_SLAVE'", "replicate_events_marked_for_skip"),
    ],
)
def test_what_would_pass_transactions_over_is_refused_before_anything_is_written(
    place: SqlPlace, made: Path, variable: str, value: str, reason: str
) -> None:
    ((before,),) = place.sql(f"SELECT @@GLOBAL.{variable}")
    place.sql(f"SET GLOBAL {variable}={value}")
    try:
        with pytest.raises(UsageError, match=reason), Applier([made], place.url, via="replication") as applier:
            applier.run()
    finally:
        place.sql(f"SET GLOBAL {variable}={before if isinstance(before, int) else repr(before)}")
    assert not {"paraply", "shop"} & {name for (name,) in place.sql("SHOW DATABASES")}


def test_without_the_privileges_it_says_which(place: SqlPlace, made: Path) -> None:
    place.sql(
        "SET sql_log_bin=0",
        "CREATE OR REPLACE USER less@'%' IDENTIFIED BY 'less'",
        "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, BINLOG REPLAY, BINLOG ADMIN, PROCESS ON *.* TO less@'%'",
    )
    try:
        outcome = run(made, place.url.replace("app:app", "less:less"), *VIA)
        assert outcome.code == 2, outcome
        assert "GRANT REPLICATION SLAVE ADMIN, SLAVE MONITOR, RELOAD ON *.* TO 'less'@'%'" in str(error_of(outcome)["message"])
        place.sql("SET sql_log_bin=0", "GRANT REPLICATION SLAVE ADMIN, SLAVE MONITOR, RELOAD ON *.* TO less@'%'")
        applied(made, place.url.replace("app:app", "less:less"), *VIA)
    finally:
        place.sql("SET sql_log_bin=0", "DROP USER less@'%'")
    assert rows(place) == ROWS


@pytest.mark.slow
@pytest.mark.truth
def test_r24_a_receiver_that_is_stopped_is_started_again(place: SqlPlace, truth: Log) -> None:
    log = truth("mariadb-binlog/plain.binlog")
    process = start(log, place.url, *VIA)
    for count in (100, 400):
        wait_for_rows(place, process, "orders", count)
        with contextlib.suppress(pymysql.MySQLError):
            place.sql("STOP SLAVE 'paraply' IO_THREAD")
    outcome = end(process)
    assert outcome.code == 0, outcome
    assert place.state() == expected_checksums(truth("mariadb-binlog/plain.checksums"))


@pytest.mark.slow
@pytest.mark.parametrize(("source", "target"), [("10.5", "10.5"), ("10.5", "11.8"), ("10.11", "11.8"), ("11.8", "11.8"), ("11.8", "10.5")])
def test_r36_logs_and_targets_of_all_versions(source: str, target: str, tmp_path: Path) -> None:
    with mariadb_of_version(source, (*OPTIONS, "--server-id=5")) as writer:
        writer.sql(*MADE, "FLUSH BINARY LOGS")
        log = tmp_path / "binlog.000001"
        log.write_bytes((writer.data / "binlog.000001").read_bytes())
    with mariadb_of_version(target, OPTIONS) as reader:
        if (source, target) == ("11.8", "10.5"):
            outcome = run(log, reader.url, *VIA)
            assert (outcome.code, error_of(outcome)["class"]) == (2, "UsageError")
            assert "its own version" in str(error_of(outcome)["message"])
            return
        report = applied(log, reader.url, *VIA)
        assert (report["transactions"], list(reader.sql("SELECT * FROM shop.item ORDER BY id"))) == (len(MADE), ROWS)
