"""Policy ``row`` killed between the two phases: what was prepared is found again and ended as it was decided, exactly once (R21, R25)."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from server.history_source import DATABASE, HistoryPlace, KillableSource, PostgresHistoryPlace, Source, with_other_uuid
from servers import mysql_data, mysql_url

from paraply.applier import Applier
from paraply.applier.execute.split import PartWorkers, parts
from paraply.errors import UsageError
from paraply.targets import open_target

ROWS = 4000
KILLED = """
import os, signal, sys
from paraply.applier import Applier
from paraply.applier.execute.split import PartWorkers
from paraply.targets import open_target

def die(*_args, **_options):
    os.kill(os.getpid(), signal.SIGKILL)

setattr(PartWorkers, sys.argv[3], die)
with open_target(sys.argv[2]) as target:
    Applier([sys.argv[1]], target, policy="row", consistency="eventual", workers=4).run()
"""
Place = HistoryPlace | PostgresHistoryPlace


@pytest.fixture
def log(history_source: Source, tmp_path: Path) -> Path:
    """One transaction with many rows, one before it and one behind it."""
    return make_log(history_source, tmp_path)


def make_log(history_source: Source, tmp_path: Path) -> Path:
    place = history_source.place
    place.empty()
    rows = ", ".join(f"({number}, REPEAT('{number % 10}', 200))" for number in range(ROWS))
    place.sql(
        f"CREATE DATABASE {DATABASE}", f"USE {DATABASE}", "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(200) NOT NULL)",
        "INSERT INTO t VALUES (-1, 'before')", f"INSERT INTO t VALUES {rows}", "UPDATE t SET v = CONCAT(v, '!') WHERE id < 0",
    )  # fmt: skip
    name = place.sql("SHOW BINARY LOGS")[-1][0]
    place.sql("FLUSH BINARY LOGS")
    copy = tmp_path / name
    copy.write_bytes((history_source.binlogs / name).read_bytes())
    return copy if place.mariadb else with_other_uuid(copy, copy)


def run(log: Path, place: Place, policy: str = "row", workers: int = 4) -> tuple[int, int]:
    """Transactions applied, and how many of them in parts."""
    with open_target(place.url) as target:
        applier = Applier([log], target, policy=policy, consistency="eventual", workers=workers)
        count = applier.run().transactions
        executor = applier._executor
        return count, executor.splits if executor is not None else 0


def in_doubt(place: Place) -> int:
    """Branches that wait for their end."""
    if isinstance(place, HistoryPlace):
        return len(place.sql("XA RECOVER"))
    with psycopg.connect(place.url) as connection:
        return len(connection.execute("SELECT gid FROM pg_prepared_xacts").fetchall())


def check_killed(log: Path, place: Place, at: str, then: str, restart: Callable[[], None] = lambda: None) -> None:
    """Kills the apply, and then perhaps the server too."""
    place.empty()
    run(log, place, "dependency")
    serial = place.state()
    place.empty()
    killed = subprocess.run([sys.executable, "-c", KILLED, str(log), place.url, at], check=False, timeout=120)
    assert killed.returncode == -signal.SIGKILL
    restart()
    assert in_doubt(place) == 3
    count, _ = run(log, place, then)
    assert count == (1 if at == "end" else 2)  # decided is committed: only what stands behind it is left
    assert in_doubt(place) == 0
    assert place.state() == serial


@pytest.mark.by_turns(3)
@pytest.mark.mariadb
@pytest.mark.parametrize("at", ["deciding", "end"])
@pytest.mark.parametrize("then", ["row", "dependency"])
def test_r25_branches_of_a_killed_run_are_ended_as_decided(history_source: Source, log: Path, at: str, then: str) -> None:
    check_killed(log, history_source.place, at, then)


@pytest.mark.mariadb
@pytest.mark.parametrize("at", ["deciding", "end"])
def test_r25_branches_outlive_a_killed_server(killable: KillableSource, log: Path, at: str) -> None:
    check_killed(log, killable.place, at, "row", killable.restart)


@pytest.mark.mariadb
@pytest.mark.postgres
@pytest.mark.parametrize("at", ["deciding", "end"])
def test_r25_branches_of_a_killed_run_are_ended_as_decided_in_postgresql(postgres_server: str, log: Path, at: str) -> None:
    check_killed(log, PostgresHistoryPlace(postgres_server), at, "row")


def check_lost(log: Path, place: Place, monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    """Connections break when all parts are prepared, or when they are decided; the apply goes on all the same."""
    place.empty()
    run(log, place, "dependency")
    serial = place.state()
    place.empty()
    done = getattr(PartWorkers, at)

    def break_connections(executor: PartWorkers, **options: bool) -> None:
        monkeypatch.setattr(PartWorkers, at, done)
        members = [member.session.connection_id for member in executor._busy]
        others = [number for number in place.connections() if number not in members]
        for number in members if at == "end" else others:
            place.kill(number)
        done(executor, **options)

    monkeypatch.setattr(PartWorkers, at, break_connections)
    assert run(log, place) == (5, 1 if at == "end" else 0)
    assert in_doubt(place) == 0
    assert place.state() == serial


@pytest.mark.mariadb
@pytest.mark.parametrize("at", ["deciding", "end"])
def test_r25_broken_connections_of_parts_and_leader(history_source: Source, log: Path, monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    check_lost(log, history_source.place, monkeypatch, at)


@pytest.mark.mariadb
@pytest.mark.postgres
@pytest.mark.parametrize("at", ["deciding", "end"])
def test_r25_broken_connections_of_parts_and_leader_in_postgresql(
    postgres_server: str, log: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    check_lost(log, PostgresHistoryPlace(postgres_server), monkeypatch, at)


@pytest.mark.mariadb
@pytest.mark.parametrize("gtid", ["record", "none"])
def test_r21_one_large_transaction_is_spread_over_the_workers(history_source: Source, log: Path, gtid: str) -> None:
    place = history_source.place
    if gtid == "record" and not place.mariadb:
        pytest.skip("refused: see test_r26_parts_are_never_prepared_where_a_killed_mysql_forgets_them")
    place.empty()
    with open_target(place.url) as target:
        applier = Applier([log], target, policy="row", consistency="eventual", workers=4, gtid=gtid)  # type: ignore[arg-type]
        applier.run()
        assert applier._executor is not None
        assert applier._executor.splits == 1
    assert place.sql(f"SELECT COUNT(*), SUM(LENGTH(v)) FROM {DATABASE}.t") == [(ROWS + 1, ROWS * 200 + 7)]


def test_r26_parts_are_never_prepared_where_a_killed_mysql_forgets_them(tmp_path: Path) -> None:
    place = HistoryPlace(mysql_url())
    log = make_log(Source(place, mysql_data()), tmp_path)
    place.empty()
    with open_target(place.url) as target:
        applier = Applier([log], target, policy="row", consistency="eventual", workers=4, gtid="record")
        with pytest.raises(UsageError, match="killed forgets such parts: use --gtid none, or another policy"):
            applier.run()
    assert place.state() == {}
    with open_target(place.url) as target:
        report = Applier([log], target, policy="row", consistency="eventual", workers=4).run()
    assert any(note.startswith("GTID mode none: the target logs the replay") for note in report.notes)
    assert place.sql("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema='paraply' AND table_name='split'") == [(1,)]


@pytest.mark.mariadb
@pytest.mark.postgres
def test_r21_a_server_that_prepares_no_transactions_is_refused_before_the_first_write(
    postgres_server: str, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = PostgresHistoryPlace(postgres_server)
    place.empty()
    monkeypatch.setattr(parts, "SPLIT_BYTES", 1)
    with pytest.raises(UsageError, match="max_prepared_transactions is 8: set it to 15"):
        run(log, place, workers=16)
    with psycopg.connect(place.url) as connection:
        assert connection.execute("SELECT to_regclass('paraply.channel')").fetchone() == (None,)
