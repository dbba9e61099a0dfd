"""Logs of real MariaDB servers through ``paraply apply`` into MariaDB: the source's own checksums."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from server.replay import SqlPlace, applied, end, expected_checksums, start, wait_for_rows

from paraply import GtidSet, open_log

pytestmark = [pytest.mark.mariadb, pytest.mark.truth]
Log = Callable[[str], Path]

GTID = re.compile(r"GTID (\d+-\d+-\d+)")
LOGS = {"plain": 15898, "compressed": 15672}
SETTINGS = [(0, "64"), (1, "off"), (1, "auto"), (2, "auto"), (8, "off"), (8, "auto"), (8, "64")]
QUICK = {("plain", 8, "auto"), ("plain", 1, "auto"), ("plain", 0, "64"), ("compressed", 8, "auto")}
MATRIX = [
    pytest.param(name, workers, merge, marks=() if (name, workers, merge) in QUICK else pytest.mark.slow)
    for name in LOGS
    for workers, merge in SETTINGS
]


@pytest.mark.parametrize(("name", "workers", "merge"), MATRIX)
def test_r17_a_log_gives_the_sources_tables(mariadb_place: SqlPlace, truth: Log, name: str, workers: int, merge: str) -> None:
    report = applied(truth(f"mariadb-binlog/{name}.binlog"), mariadb_place.url, "--workers", str(workers), "--merge", merge)
    assert mariadb_place.state() == expected_checksums(truth(f"mariadb-binlog/{name}.checksums"))
    assert (report["transactions"], report["skipped"]) == (LOGS[name], 0)
    assert (report["commits"] == report["transactions"]) is (merge == "off")


@pytest.mark.parametrize("mode", ["record", "none", pytest.param("preserve", marks=pytest.mark.slow)])
def test_r26_the_targets_own_gtids_afterwards(mariadb_place: SqlPlace, truth: Log, mode: str) -> None:
    log = truth("mariadb-binlog/plain.binlog")
    report = applied(log, mariadb_place.url, "--workers", "8", "--gtid", mode)
    assert mariadb_place.state() == expected_checksums(truth("mariadb-binlog/plain.checksums"))
    of_log = [transaction.gtid for transaction in open_log(log) if transaction.gtid]
    last = of_log[-1]
    (position,) = mariadb_place.sql("SELECT @@GLOBAL.gtid_slave_pos")[0]
    (logged,) = mariadb_place.sql("SELECT @@GLOBAL.gtid_binlog_pos")[0]
    assert position == (last if mode == "record" else "")
    assert (logged == last) is (mode == "preserve")
    assert all(gtid in GtidSet(report["executed"]) for gtid in of_log)
    if mode == "preserve":
        events = mariadb_place.sql("SHOW BINLOG EVENTS")
        own = [GTID.findall(str(event[5]))[0] for event in events if event[2] == "Gtid"]
        assert own == of_log
    again = applied(log, mariadb_place.url, "--workers", "8", "--gtid", mode)
    assert (again["transactions"], again["skipped"]) == (0, len(of_log))


def test_r23_a_log_without_sessions_is_applied_in_its_order_at_every_level(mariadb_place: SqlPlace, truth: Log) -> None:
    log = truth("mariadb-binlog/plain.binlog")
    options = ("--workers", "8", "--merge", "4", "--consistency", "eventual")
    process = start(log, mariadb_place.url, *options)
    wait_for_rows(mariadb_place, process, "orders", 100)
    process.kill()
    end(process)
    # A gap would be a list of numbers beside the position.
    texts = [str(row[0]) for row in mariadb_place.sql("SELECT executed FROM paraply.progress")]
    assert any(texts)
    assert not any("beyond" in text for text in texts)
    report = applied(log, mariadb_place.url, *options)
    assert any("does not identify the sessions" in note for note in report["notes"])
    assert mariadb_place.state() == expected_checksums(truth("mariadb-binlog/plain.checksums"))


@pytest.mark.parametrize("workers", [0, 8])
def test_r25_ctrl_c_stops_at_a_boundary_and_the_same_command_goes_on(mariadb_place: SqlPlace, truth: Log, workers: int) -> None:
    log = truth("mariadb-binlog/plain.binlog")
    options = ("--workers", str(workers), "--merge", "4")
    process = start(log, mariadb_place.url, *options)
    wait_for_rows(mariadb_place, process, "orders", 100)
    process.send_signal(signal.SIGINT)
    stopped = end(process)
    assert (stopped.code, stopped.report["status"], stopped.report["error"]["class"]) == (4, "stopped", "Stopped"), stopped
    assert 0 < stopped.report["transactions"] < LOGS["plain"]
    # Another merge size and number of workers is the same apply.
    report = applied(log, mariadb_place.url, "--workers", "4", "--merge", "64")
    assert report["skipped"] == stopped.report["transactions"]
    assert report["skipped"] + report["transactions"] == LOGS["plain"]
    assert mariadb_place.state() == expected_checksums(truth("mariadb-binlog/plain.checksums"))
