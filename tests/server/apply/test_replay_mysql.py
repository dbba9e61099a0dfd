"""Logs of real MySQL servers through ``paraply apply`` into MySQL: the source's own checksums."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from server.replay import Outcome, SqlPlace, applied, end, expected_checksums, run, start, wait_for_rows

from paraply import GtidSet, open_log

pytestmark = [pytest.mark.mysql, pytest.mark.truth]
Log = Callable[[str], Path]

LOGS = {"single-session": 5495, "eight-sessions": 13899, "compressed": 10327, "minimal-image": 9880, "partial-json": None}
SETTINGS = [(1, "off"), (1, "auto"), (8, "off"), (8, "auto")]
# Every setting for the shortest log, one for each of the others; the whole matrix is slow.
QUICK = {*(("single-session", *setting) for setting in SETTINGS), ("eight-sessions", 8, "auto"), ("compressed", 8, "auto"),
         ("minimal-image", 1, "auto"), ("partial-json", 8, "auto")}  # fmt: skip
MATRIX = [
    pytest.param(name, workers, merge, marks=() if (name, workers, merge) in QUICK else pytest.mark.slow)
    for name in LOGS
    for workers, merge in SETTINGS
]


def options(workers: int, merge: str, *more: str) -> tuple[str, ...]:
    return "--workers", str(workers), "--merge", merge, *more


def gtids_of(log: Path) -> GtidSet:
    return GtidSet(",".join(transaction.gtid for transaction in open_log(log) if transaction.gtid))


@pytest.mark.by_turns(4)
@pytest.mark.parametrize(("name", "workers", "merge"), MATRIX)
def test_r17_a_log_gives_the_sources_tables(mysql_place: SqlPlace, truth: Log, name: str, workers: int, merge: str) -> None:
    report = applied(truth(f"mysql-binlog/{name}.binlog"), mysql_place.url, *options(workers, merge))
    assert mysql_place.state() == expected_checksums(truth(f"mysql-binlog/{name}.checksums"))
    count = LOGS[name]
    assert count is None or report["transactions"] == count
    assert report["skipped"] == 0
    assert (report["commits"] == report["transactions"]) is (merge == "off")


@pytest.mark.parametrize("name", ["group-multi-primary", pytest.param("group-single-primary", marks=pytest.mark.slow)])
def test_r21_parallel_is_equal_to_serial(mysql_place: SqlPlace, truth: Log, name: str) -> None:
    log = truth(f"{name}/member3.relay")
    serial = applied(log, mysql_place.url, *options(0, "64"))
    expected = mysql_place.state()
    for more in (("--merge", "auto"), ("--policy", "logical-clock")):
        mysql_place.empty()
        parallel = applied(log, mysql_place.url, "--workers", "8", *more)
        assert mysql_place.state() == expected, more
        assert parallel["transactions"] == serial["transactions"]
        assert GtidSet(parallel["executed"]) == GtidSet(serial["executed"])


@pytest.mark.slow
def test_r21_the_logical_clock_of_a_source_gives_its_tables(mysql_place: SqlPlace, truth: Log) -> None:
    applied(truth("mysql-binlog/eight-sessions.binlog"), mysql_place.url, "--workers", "8", "--policy", "logical-clock")
    assert mysql_place.state() == expected_checksums(truth("mysql-binlog/eight-sessions.checksums"))


@pytest.mark.parametrize("workers", [0, 2, 8])
def test_r21_a_fixed_merge_size_gives_the_sources_tables(mysql_place: SqlPlace, truth: Log, workers: int) -> None:
    report = applied(truth("mysql-binlog/single-session.binlog"), mysql_place.url, *options(workers, "64"))
    assert mysql_place.state() == expected_checksums(truth("mysql-binlog/single-session.checksums"))
    assert report["commits"] < report["transactions"] / 32


@pytest.mark.parametrize("mode", ["record", "preserve", "none"])
def test_r26_the_targets_own_gtids_afterwards(mysql_place: SqlPlace, truth: Log, mode: str) -> None:
    log = truth("mysql-binlog/single-session.binlog")
    report = applied(log, mysql_place.url, "--workers", "8", "--gtid", mode)
    assert mysql_place.state() == expected_checksums(truth("mysql-binlog/single-session.checksums"))
    of_log = gtids_of(log)
    assert of_log <= GtidSet(report["executed"])
    own = GtidSet(str(mysql_place.sql("SELECT @@GLOBAL.gtid_executed")[0][0]))
    if mode == "none":
        assert not own & of_log
    else:
        assert own == of_log
    if mode == "preserve":
        logged = {str(row[5]) for row in all_events(mysql_place) if row[2] == "Gtid"}
        assert len(logged) == len(of_log) == report["commits"]
    again = applied(log, mysql_place.url, "--workers", "8", "--gtid", mode)
    assert (again["transactions"], again["skipped"]) == (0, len(of_log))


def all_events(place: SqlPlace) -> list[tuple[object, ...]]:
    names = [row[0] for row in place.sql("SHOW BINARY LOGS")]
    return [event for name in names for event in place.sql(f"SHOW BINLOG EVENTS IN '{name}'")]


def test_r26_preserve_refuses_to_merge(mysql_place: SqlPlace, truth: Log) -> None:
    outcome = run(truth("mysql-binlog/single-session.binlog"), mysql_place.url, "--gtid", "preserve", "--merge", "32")
    assert outcome.code == 2
    assert mysql_place.sql("SHOW DATABASES LIKE 'shop'") == []


@pytest.mark.by_turns
@pytest.mark.parametrize("workers", [0, 8])
def test_r25_ctrl_c_stops_at_a_boundary_and_the_same_command_goes_on(mysql_place: SqlPlace, truth: Log, workers: int) -> None:
    log = truth("mysql-binlog/single-session.binlog")
    process = start(log, mysql_place.url, *options(workers, "off"))
    wait_for_rows(mysql_place, process, "orders", 100)
    process.send_signal(signal.SIGINT)
    stopped: Outcome = end(process)
    assert (stopped.code, stopped.report["status"], stopped.report["error"]["class"]) == (4, "stopped", "Stopped"), stopped
    assert 0 < stopped.report["transactions"] < 5495
    report = applied(log, mysql_place.url, *options(workers, "off"))
    assert report["skipped"] == stopped.report["transactions"]
    assert report["skipped"] + report["transactions"] == 5495
    assert mysql_place.state() == expected_checksums(truth("mysql-binlog/single-session.checksums"))
