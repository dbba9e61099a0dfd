"""``paraply pause``, ``resume`` and ``forget``, and ``--max-rate``, beside runs on real databases."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from command_line import paraply, run_json
from server.replay import Place, PostgresPlace, SqlPlace, applied, end, start
from server.replication.test_status import channel, log, place

from paraply import open_log
from paraply.targets import make_target
from paraply.targets.channel_status import ChannelStatus

__all__ = ["log", "place"]

Log = Callable[[str], Path]
SLOW_POSTGRES, SLOW_MARIADB, SLOW_MYSQL = (pytest.param(name, marks=pytest.mark.slow) for name in ("postgres", "mariadb", "mysql"))
SLOWLY = ("--max-rate", "100", "--merge", "off", "--workers", "2")


def wait_for(place: Place, ready: Callable[[ChannelStatus], bool]) -> ChannelStatus:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        found = make_target(place.url).read_channels()
        if found and ready(found[0]):
            return found[0]
        time.sleep(0.05)
    raise AssertionError(found)


def statements(place: Place, *texts: str) -> list[tuple[object, ...]]:
    """Run statements, and return the rows of the last one."""
    if isinstance(place, SqlPlace):
        return [tuple(row) for row in place.sql(*texts)]
    with psycopg.connect(place.url, autocommit=True) as connection:
        cursor = connection.cursor()
        for text in texts:
            cursor.execute(text.encode())
        return cursor.fetchall() if cursor.description else []


def open_transactions(place: Place) -> int:
    """Return the number of the run's open transactions on the target."""
    if isinstance(place, PostgresPlace):
        with psycopg.connect(place.url, autocommit=True) as connection:
            row = connection.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE xact_start IS NOT NULL AND pid <> pg_backend_pid()"
                " AND datname = current_database() AND backend_type = 'client backend'"
            ).fetchone()
            return int(row[0]) if row else 0
    assert isinstance(place, SqlPlace)
    return int(place.sql("SELECT COUNT(*) FROM information_schema.innodb_trx")[0][0])


@pytest.mark.parametrize("place", ["postgres", SLOW_MARIADB, SLOW_MYSQL], indirect=True)
def test_a_pause_holds_a_run_and_its_next_start_until_it_is_resumed(place: Place, log: Path) -> None:
    expected = sum(1 for _ in open_log(log))
    process = start(log, place.url, *SLOWLY)
    wait_for(place, lambda found: found.state == "running" and found.ordinal > 5)
    paused = run_json("pause", "--to", place.url)
    assert paused.code == 0, paused.line
    before = channel(place)
    assert before.pause is not None
    assert "@" in before.pause.by
    assert 5 < before.ordinal < expected
    assert open_transactions(place) == 0
    assert paused.report["paused"] == {"by": before.pause.by, "since": before.pause.since}
    assert f"paused     by {before.pause.by} since {before.pause.since}" in paraply("status", "--to", place.url).stdout
    assert run_json("forget", "--to", place.url, "--yes").error["class"] == "AlreadyRunning"
    process.send_signal(signal.SIGKILL)
    end(process)

    process = start(log, place.url)
    wait_for(place, lambda found: found.epoch > before.epoch and found.sign is not None and found.sign.status.get("paused") == "paused")
    assert channel(place).ordinal == before.ordinal
    resumed = run_json("resume", "--to", place.url)
    assert (resumed.code, resumed.report["was_paused"], resumed.report["running"]) == (0, True, True)
    assert end(process).code == 0
    assert (channel(place).state, channel(place).pause) == ("complete", None)
    nothing = run_json("pause", "--to", place.url)
    assert (nothing.code, nothing.error["class"]) == (1, "ChannelTrouble")
    assert channel(place).pause is None


@pytest.mark.parametrize("place", [SLOW_POSTGRES, "mariadb", SLOW_MYSQL], indirect=True)
def test_a_forgotten_channel_begins_anew(place: Place, log: Path) -> None:
    assert run_json("forget", "--to", place.url, "--yes").code == 2
    first = next(iter(open_log(log))).gtid
    applied(log, place.url, "--stop-at", str(first))
    assert "add --yes" in run_json("forget", "--to", place.url).line
    assert run_json("forget", "--to", place.url, "--channel", "other", "--yes").code == 2
    later = ["CREATE TABLE paraply.later (channel VARCHAR(64))", "INSERT INTO paraply.later VALUES ('default'), ('other')"]
    statements(place, *later)  # as a table that another version adds
    done = run_json("forget", "--to", place.url, "--yes")
    assert (done.code, done.report["channel"]) == (0, "default")
    assert statements(place, "SELECT channel FROM paraply.later") == [("other",)]
    assert make_target(place.url).read_channels() == []
    if isinstance(place, SqlPlace):
        logged = [str(event) for event in place.sql("SHOW BINLOG EVENTS")]
        assert not any("paraply.pause" in event or "DELETE FROM paraply" in event for event in logged)


@pytest.mark.mariadb
def test_a_run_that_goes_on_after_its_channel_was_forgotten_commits_nothing_more(mariadb_place: SqlPlace, truth: Log) -> None:
    log = truth("mariadb-binlog/plain.binlog")
    process = start(log, mariadb_place.url, *SLOWLY)
    wait_for(mariadb_place, lambda found: found.state == "running" and found.ordinal > 5)
    mariadb_place.sql("SET sql_log_bin=0", "DELETE FROM paraply.run")  # as if its process had been silent for long
    target = make_target(mariadb_place.url)
    control = target.open_control()
    control.forget("default")
    control.close()
    outcome = end(process)
    assert (outcome.code, outcome.report["error"]["class"]) == (1, "AlreadyRunning")


@pytest.mark.mariadb
def test_a_rate_is_kept(mariadb_place: SqlPlace, truth: Log) -> None:
    log = truth("mariadb-binlog/plain.binlog")
    first = list(open_log(log))[:41]
    began = time.monotonic()
    report = applied(log, mariadb_place.url, "--max-rate", "150", "--merge", "off", "--workers", "4", "--stop-at", str(first[-1].gtid))
    assert report["transactions"] == 41
    assert time.monotonic() - began >= (report["rows"] - 150 - max(transaction.rows for transaction in first)) / 150
