"""Transactions that are kept in files and applied in pieces: the state of a serial apply, also after kills (R20, R24, R25).

Few bytes of a transaction are kept in memory, so that most transactions of a random history count as large.
"""

from __future__ import annotations

import os
import random
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import psycopg
import pymysql
import pytest
from large import FEW_BYTES, command_with, few_bytes_in_memory
from server.history_source import HistoryPlace, PostgresHistoryPlace, Source, with_other_uuid
from server.replay import end

from paraply.applier import Applier
from paraply.applier.execute.split import parts
from paraply.errors import AlreadyRunning, ApplyFailed, ConnectionLost, DdlUndecided
from paraply.targets import open_target

SEED = int(os.environ.get("PARAPLY_SEED", time.time_ns() % 1_000_000))
TRANSACTIONS = 120
KILLS = int(os.environ.get("PARAPLY_KILLS", "6"))
LOSSES = 4
RUNS: tuple[tuple[str, str, int, Literal["auto", "off"] | int], ...] = (
    ("dependency", "any-time", 8, "auto"),
    ("dependency", "any-time", 0, "off"),
    ("dependency", "eventual", 8, "off"),
    ("optimistic", "any-time", 8, "auto"),
    ("row", "eventual", 8, "off"),
)
Place = HistoryPlace | PostgresHistoryPlace


@pytest.fixture(autouse=True)
def most_transactions_are_large(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(parts, "SPLIT_BYTES", 1)
    with few_bytes_in_memory():
        yield


@pytest.fixture(params=["own", "postgresql"])
def place(request: pytest.FixtureRequest, history_source: Source) -> Place:
    """The source itself, which is emptied, and PostgreSQL."""
    if request.param == "own":
        return history_source.place
    return PostgresHistoryPlace(request.getfixturevalue("postgres_server"))


def history(source: Source, place: Place, seed: int, folder: Path) -> Path:
    """Return the log of a random history, with huge transactions."""
    print(f"PARAPLY_SEED={seed}")
    own = place is source.place
    log = source.log(seed, TRANSACTIONS, folder, cascades=own)
    return log if source.place.mariadb else with_other_uuid(log, log)


def apply(log: Path, url: str, policy: str = "dependency", consistency: str = "any-time", workers: int = 0, merge: Any = "off") -> Any:
    with open_target(url) as target:
        return Applier([log], target, policy=policy, consistency=consistency, workers=workers, merge=merge).run()


def serial_state(log: Path, place: Place) -> Any:
    """Return the state after a serial apply of transactions that are all in memory."""
    with few_bytes_in_memory(1 << 30):
        place.empty()
        apply(log, place.url)
    return place.state()


@pytest.mark.by_turns(2)
@pytest.mark.mariadb
@pytest.mark.postgres
@pytest.mark.timeout(1800)
def test_r20_r21_large_transactions_leave_the_same_state(history_source: Source, place: Place, tmp_path: Path) -> None:
    log = history(history_source, place, SEED, tmp_path)
    made = history_source.place.state() if place is history_source.place else None
    expected = serial_state(log, place)
    assert made is None or expected == made
    for run in RUNS:
        place.empty()
        report = apply(log, place.url, *run)
        assert place.state() == expected, f"PARAPLY_SEED={SEED} {run}"
        assert any(reason == "too many keys" for reason, *_ in report.fallbacks), run


@pytest.mark.mysql
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("history_source", ["mysql"], indirect=True)
def test_r20_large_transactions_through_the_targets_own_replication(history_source: Source, tmp_path: Path) -> None:
    place = history_source.place
    log = history(history_source, place, SEED + 1, tmp_path)
    expected = place.state()
    for workers in (1, 8):
        place.empty()
        with open_target(place.url) as target:
            Applier([log], target, workers=workers, via="replication").run()
        assert place.state() == expected, f"PARAPLY_SEED={SEED + 1} {workers}"


@pytest.mark.by_turns
@pytest.mark.mariadb
@pytest.mark.postgres
@pytest.mark.timeout(1800)
def test_r25_a_kill_inside_a_large_transaction_loses_and_repeats_nothing(history_source: Source, place: Place, tmp_path: Path) -> None:
    log = history(history_source, place, SEED + 2, tmp_path)
    expected = serial_state(log, place)
    place.empty()
    moment, kills = random.Random(SEED + 2), 0
    for _ in range(10 * KILLS):
        command = command_with(FEW_BYTES, log, place.url, "--workers", "4")
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if kills < KILLS:
            begun = place.rows_of("wide")
            deadline = time.monotonic() + 20
            while process.poll() is None and place.rows_of("wide") == begun and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(moment.uniform(0, 0.1))
            process.kill()
        outcome = end(process)
        if outcome.code == 0:
            assert place.state() == expected, f"PARAPLY_SEED={SEED + 2}"
            if kills == KILLS:
                return
            place.empty()  # it ended before its kill
            continue
        if (outcome.report.get("error") or {}).get("class") == "DdlUndecided":  # killed in a statement that only a person can look at
            place.empty()
            continue
        assert outcome.code == -9, f"PARAPLY_SEED={SEED + 2}: {outcome}"
        kills += 1
    pytest.fail(f"PARAPLY_SEED={SEED + 2}: {kills} kills of {KILLS}")


@pytest.mark.mariadb
@pytest.mark.postgres
@pytest.mark.timeout(1800)
def test_r24_lost_connections_repeat_large_transactions_from_their_start(history_source: Source, place: Place, tmp_path: Path) -> None:
    log = history(history_source, place, SEED + 3, tmp_path)
    expected = serial_state(log, place)
    over, quiet, lost = threading.Event(), threading.Lock(), []
    moment = random.Random(SEED + 3)

    def strike() -> None:
        while not over.wait(moment.uniform(0.02, 0.3)):
            with quiet, suppress(pymysql.MySQLError, psycopg.Error):  # it has ended by itself
                connection = next(iter(place.connections()), None)
                if connection is not None:
                    place.kill(connection)
                    lost.append(connection)

    thread = threading.Thread(target=strike)
    thread.start()
    try:
        for _ in range(50):
            with quiet:
                place.empty()
            apply_while_connections_are_lost(log, place, quiet)
            with quiet:
                assert place.state() == expected, f"PARAPLY_SEED={SEED + 3}"
            if len(lost) >= LOSSES:
                break
    finally:
        over.set()
        thread.join()
    assert len(lost) >= LOSSES


def apply_while_connections_are_lost(log: Path, place: Place, quiet: threading.Lock) -> None:
    """Apply a log to its end, again and again if it must be; no connection is lost while ``quiet`` is held."""
    while True:
        try:
            apply(log, place.url, workers=4, merge="auto")
        except DdlUndecided:  # a statement that only a person can look at
            with quiet:
                place.empty()
        except (ConnectionLost, AlreadyRunning) as error:  # lost at the start, or held by a session that is about to end
            print(error)
        except ApplyFailed as error:
            if "the connection was lost" not in error.message:
                raise
        else:
            return
