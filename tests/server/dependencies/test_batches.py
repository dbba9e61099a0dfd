"""Batches of transactions at level ``eventual``, each a commit of its own: under every fault equal to serial apply (R20, R24, R25)."""

from __future__ import annotations

import contextlib
import json
import os
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pymysql
import pytest
from server.history_source import HistoryPlace, Source
from server.replay import applied, end, start

SEED = int(os.environ.get("PARAPLY_SEED", time.time_ns() % 1_000_000))
TRANSACTIONS = 600
SESSIONS = 48
OPTIONS = ("--consistency", "eventual", "--merge", "off")
Mode = Literal["record", "preserve", "none"]

pytestmark = [pytest.mark.mariadb]


def modes(place: HistoryPlace) -> tuple[Mode, ...]:
    """Return the GTID modes that a history's log allows: a source that is its own target gives no new GTIDs for its old ones."""
    return ("record",) if place.mariadb else ("record", "preserve")


def lengths(trace: Path) -> list[int]:
    """Return the number of transactions that each batch of a timeline committed."""
    return [event["args"]["committed"] for event in json.loads(trace.read_text())["traceEvents"] if "committed" in event.get("args", {})]


@pytest.mark.by_turns
def test_r20_workers_take_batches_where_many_sessions_wrote(history_source: Source, tmp_path: Path) -> None:
    print(f"PARAPLY_SEED={SEED}")
    place = history_source.place
    log = history_source.log(SEED, TRANSACTIONS, tmp_path, spread=True, sessions=SESSIONS)
    made = place.state()
    for mode in modes(place):
        for workers in ("1", "2", "8"):
            place.empty()
            trace = tmp_path / f"{mode}-{workers}.json"
            report = applied(log, place.url, *OPTIONS, "--gtid", mode, "--workers", workers, "--trace", str(trace))
            assert place.state() == made, (mode, workers)
            assert report["commits"] == report["transactions"]
            assert max(lengths(trace), default=0) > 1, (mode, workers)


def survives(place: HistoryPlace, log: Path, mode: Mode, expected: object, fault: Callable[[pymysql.cursors.Cursor, int], None]) -> int:
    """Applies a log while its connections are hurt; a command that gave up is started again. Gives how often they were."""
    place.empty()
    ended, hurt = threading.Event(), 0
    draw = random.Random(SEED)

    def hurting() -> None:
        nonlocal hurt
        busy = "SELECT id FROM information_schema.processlist WHERE id<>CONNECTION_ID() AND info IS NOT NULL"
        with place.connect() as connection, connection.cursor() as cursor:
            while not ended.is_set() and hurt < 60:
                cursor.execute(f"{busy} AND (info LIKE 'COMMIT%' OR info LIKE '%BINLOG%' OR info LIKE '%progress%')")
                found = [number for (number,) in cursor.fetchall()]
                if found:
                    with contextlib.suppress(pymysql.MySQLError):
                        fault(cursor, draw.choice(found))
                        hurt += 1
                time.sleep(draw.uniform(0, 0.01))

    thread = threading.Thread(target=hurting)
    thread.start()
    try:
        for _ in range(60):
            outcome = end(start(log, place.url, *OPTIONS, "--gtid", mode, "--workers", "4"))
            if outcome.code == 0:
                break
            assert outcome.code == 1, outcome
        assert outcome.code == 0, outcome
    finally:
        ended.set()
        thread.join()
    assert place.state() == expected, f"PARAPLY_SEED={SEED} {mode}"
    return hurt


@pytest.mark.by_turns
@pytest.mark.timeout(600)
@pytest.mark.parametrize("what", ["KILL QUERY", "KILL"])
def test_r25_hurt_at_any_moment_everything_is_there_once(history_source: Source, tmp_path: Path, what: str) -> None:
    print(f"PARAPLY_SEED={SEED}")
    place = history_source.place
    log = history_source.log(SEED, TRANSACTIONS, tmp_path, spread=True, sessions=SESSIONS)
    made = place.state()

    def fault(cursor: pymysql.cursors.Cursor, number: int) -> None:
        cursor.execute(f"{what} {number}")

    for mode in modes(place):
        assert survives(place, log, mode, made, fault) > 0
