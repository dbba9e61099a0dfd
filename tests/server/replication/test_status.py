"""``paraply status`` beside runs that are under way, killed, stopped, failed and complete, on real databases."""

from __future__ import annotations

import json
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from command_line import paraply, run_json
from mariadb_versions import mariadb_of_version
from server.replay import Place, PostgresPlace, SqlPlace, applied, end, run, start

from paraply import open_log
from paraply.targets import channel_status, make_target
from paraply.targets.channel_status import ChannelStatus

Log = Callable[[str], Path]


SLOW_POSTGRES, SLOW_MARIADB = (pytest.param(name, marks=pytest.mark.slow) for name in ("postgres", "mariadb"))


@pytest.fixture
def place(request: pytest.FixtureRequest) -> Place:
    made: Place = request.getfixturevalue(f"{request.param}_place")
    return made


@pytest.fixture
def log(place: Place, truth: Log) -> Path:
    mariadb = isinstance(place, SqlPlace) and place.mariadb
    return truth("mariadb-binlog/plain.binlog" if mariadb else "mysql-binlog/eight-sessions.binlog")


def channel(place: Place) -> ChannelStatus:
    (found,) = make_target(place.url).read_channels()
    return found


def wait_for(place: Place, ready: Callable[[ChannelStatus], bool], seconds: float = 30.0) -> ChannelStatus:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = make_target(place.url).read_channels()
        if found and ready(found[0]):
            return found[0]
        time.sleep(0.05)
    raise AssertionError(f"not seen in {seconds} s: {found}")


@pytest.mark.parametrize("place", ["postgres", "mariadb", "mysql"], indirect=True)
def test_a_run_is_seen_and_so_is_that_it_was_killed(place: Place, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert make_target(place.url).read_channels() == []
    process = start(log, place.url, "--workers", "2", "--merge", "off")
    seen = wait_for(place, lambda found: found.state == "running" and found.ordinal > 0)
    assert seen.sign is not None
    assert (seen.sign.status["pid"], seen.epoch) == (process.pid, 1)
    assert len(seen.sign.status["workers"]) == 2
    assert seen.gaps == []
    process.send_signal(signal.SIGKILL)
    end(process)
    assert channel(place).state == "running"  # nobody can know yet
    monkeypatch.setattr(channel_status, "ALIVE_SECONDS", 0.0)
    killed = channel(place)
    assert (killed.state, killed.complete) == ("incomplete", False)
    monkeypatch.undo()
    report = applied(log, place.url, "--workers", "4")
    complete = channel(place)
    assert (complete.state, complete.epoch, complete.gaps, complete.pending) == ("complete", 2, [], None)
    assert complete.executed == report["executed"]
    assert complete.sign is not None
    assert complete.sign.status["counters"]["transactions"] == report["transactions"]
    assert (complete.file, complete.position) == (str(log), list(open_log(log))[-1].end_offset)


@pytest.mark.parametrize("place", [SLOW_POSTGRES, "mariadb", "mysql"], indirect=True)
def test_a_stop_and_a_failure_are_told_apart(place: Place, log: Path) -> None:
    process = start(log, place.url, "--workers", "2", "--merge", "off")
    wait_for(place, lambda found: found.ordinal > 10)
    process.send_signal(signal.SIGINT)
    assert end(process).code == 4
    assert channel(place).state == "stopped"
    if isinstance(place, PostgresPlace):
        with psycopg.connect(place.url, autocommit=True) as connection:
            connection.execute("DROP TABLE shop.orders, shop.order_line CASCADE")
    else:
        place.sql("SET sql_log_bin=0", "DROP TABLE shop.order_line", "DROP TABLE shop.orders")
    failed = run(log, place.url, "--workers", "2")
    assert failed.code == 1
    held = channel(place)
    assert held.sign is not None
    assert (held.state, held.sign.status["error"]["class"]) == ("failed", failed.report["error"]["class"])
    shown = run_json("status", "--to", place.url)
    trouble = shown.report["channels"][0]["trouble"]
    assert (shown.code, shown.error["class"]) == (1, "ChannelTrouble")
    assert trouble.startswith("failed: ")
    assert trouble in shown.error["message"]


@pytest.mark.parametrize("place", ["postgres", SLOW_MARIADB, "mysql"], indirect=True)
def test_the_command_prints_for_people_and_for_programs(place: Place, log: Path) -> None:
    assert "no apply" in paraply("status", "--to", place.url).stdout
    applied(log, place.url, "--channel", "one", "--stop-at", gtid_of(log, 20))
    text = paraply("status", "--to", place.url).stdout
    assert "channel one: complete" in text
    assert "gaps       none" in text
    outcome = run_json("status", "--to", place.url, "--channel", "one")
    (found,) = outcome.report["channels"]
    assert (found["channel"], found["state"], found["run"]["outcome"]) == ("one", "complete", "done")
    assert found["run"]["counters"]["last_gtid"] == gtid_of(log, 20)
    assert json.dumps(outcome.report).count("app:app") == 0
    assert run_json("status", "--to", place.url, "--channel", "two").code == 2


def gtid_of(log: Path, number: int) -> str:
    found: Any = list(open_log(log))[number - 1].gtid
    return str(found)


@pytest.mark.mysql
def test_preserve_shows_mysqls_own_gtids(mysql_place: SqlPlace, truth: Log) -> None:
    log = truth("mysql-binlog/eight-sessions.binlog")
    report = applied(log, mysql_place.url, "--gtid", "preserve", "--stop-at", gtid_of(log, 30))
    assert channel(mysql_place).executed == report["executed"]
    assert mysql_place.sql("SELECT COUNT(*) FROM paraply.run")[0][0] == 1
    logged = mysql_place.sql("SELECT @@GLOBAL.gtid_executed")[0][0]
    assert logged == report["executed"], "the status row must not take GTIDs of the target's own"


def test_the_status_stays_out_of_the_binlog(mariadb_place: SqlPlace, truth: Log) -> None:
    log = truth("mariadb-binlog/plain.binlog")
    applied(log, mariadb_place.url, "--gtid", "none", "--stop-at", gtid_of(log, 30))
    events = mariadb_place.sql("SHOW BINLOG EVENTS")
    assert not any("paraply`.`run" in str(event) or "paraply.run" in str(event) for event in events)
    assert channel(mariadb_place).sign is not None


@pytest.fixture(scope="module")
def three_logs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Files of one series, the first with the most transactions."""
    folder = tmp_path_factory.mktemp("series")
    with mariadb_of_version("10.11", ["--log-bin=binlog", "--binlog-format=ROW", "--server-id=1"]) as server:
        SqlPlace(server.url).sql(
            "CREATE DATABASE shop", "CREATE TABLE shop.item (id INT PRIMARY KEY)",
            *(f"INSERT INTO shop.item VALUES ({n})" for n in range(9)),
            "FLUSH BINARY LOGS", "INSERT INTO shop.item VALUES (20)", "INSERT INTO shop.item VALUES (21)",
            "FLUSH BINARY LOGS", "INSERT INTO shop.item VALUES (30)", "FLUSH BINARY LOGS",
        )  # fmt: skip
        return [Path(shutil.copy(server.data / f"binlog.00000{number}", folder)) for number in (1, 2, 3)]


@pytest.mark.parametrize("place", ["postgres", "mariadb"], indirect=True)
def test_the_position_moves_with_each_run_of_one_file(place: Place, three_logs: list[Path]) -> None:
    for log in three_logs:
        applied(log, place.url)
        transactions = list(open_log(log))
        found = channel(place)
        assert (found.file, found.position, found.ordinal) == (str(log), transactions[-1].end_offset, len(transactions))
        assert found.executed == str(transactions[-1].gtid)
    again = applied(three_logs[0], place.url)
    assert again["transactions"] == 0
    assert "nothing to apply: 11 transactions were skipped, held by the progress of channel default" in again["notes"]
    assert channel(place).file == str(three_logs[2]), "a run without commits leaves the position"


def test_transactions_that_the_targets_own_gtids_hold_are_skipped_with_the_reason(three_logs: list[Path], mariadb_place: SqlPlace) -> None:
    for log in three_logs:
        applied(log, mariadb_place.url)
    report = applied(three_logs[2], mariadb_place.url, "--channel", "second", "--start-after", "0-1-1")
    assert (report["transactions"], report["skipped"]) == (0, 1)
    assert "nothing to apply: 1 transaction was skipped, held by the target's own GTIDs or --start-after" in report["notes"]
