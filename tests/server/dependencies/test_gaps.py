"""Killed while commits had left gaps, and started again: the gaps are closed, and nothing is applied twice (R20, R25).

``PARAPLY_KILLS`` says how often each test kills, ``PARAPLY_SEED`` repeats history and moments of an earlier run.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from server.history_source import HistoryPlace, PostgresHistoryPlace, Source
from server.replay import applied, end, start, wait_for_rows

from paraply import GtidSet
from paraply.targets.progress.gtid_ledger import read_executed

KILLS = int(os.environ.get("PARAPLY_KILLS", "2"))
SEED = int(os.environ.get("PARAPLY_SEED", time.time_ns() % 1_000_000))
#: So often an apply is killed from its beginning if no gap was left.
ATTEMPTS = 15
TRANSACTIONS = max(500, 100 * KILLS)

pytestmark = [pytest.mark.mariadb]


def has_gap(texts: list[str]) -> bool:
    """Return True if some transaction is committed before an older one; MySQL's sets show that as a second interval."""
    if any('"done"' in text for text in texts):
        return True
    executed = read_executed(texts, GtidSet)
    return bool(executed.beyond) or any(origin.count(":") > 1 for origin in str(executed.gtids).split(","))


def wait_for_a_gap(place: HistoryPlace | PostgresHistoryPlace, process: subprocess.Popen[str]) -> None:
    """Wait until the progress shows a gap, at most for a second or to the end of the process: a random moment may meet none for long."""
    deadline = time.monotonic() + 1
    while process.poll() is None and time.monotonic() < deadline and not has_gap(place.progress()):
        pass


def killed_and_resumed(place: HistoryPlace | PostgresHistoryPlace, log: Path, expected: Any, *options: str) -> None:
    """Kill an apply again and again while it is under way; each further one goes on where the killed one was, until gaps were left.

    The moments are random at first; then each kill comes when a gap is there. An apply that ended before its kill is not counted.

    At ``most-of-the-time`` neighbours are swapped for a moment only, so that hardly any kill leaves a gap, and none is asked for.
    """
    print(f"PARAPLY_SEED={SEED}")
    moment, rows, kills, gaps = random.Random(SEED), len(expected["wide"]), 0, 0
    for attempt in range(1, ATTEMPTS + 1):
        place.empty()
        for kill in range(KILLS):
            process = start(log, place.url, "--workers", "8", *options)
            wait_for_rows(place, process, "wide", int(rows * 0.9 * (kill + moment.random()) / KILLS))
            if attempt > 1:
                wait_for_a_gap(place, process)
            process.send_signal(signal.SIGKILL)
            outcome = end(process)
            assert outcome.code in {-signal.SIGKILL, 0}, outcome
            kills += outcome.code == -signal.SIGKILL
            gaps += has_gap(place.progress())
        report = applied(log, place.url, "--workers", "8", *options)
        assert place.state() == expected
        assert report["skipped"] > 0
        print(f"{kills} kills, {gaps} left gaps")
        if kills >= KILLS and (gaps or "most-of-the-time" in options):
            return
    pytest.fail(f"{kills} kills of at least {KILLS}, {gaps} left gaps")


@pytest.mark.by_turns
@pytest.mark.parametrize(
    ("consistency", "sessions"), [("most-of-the-time", 5), pytest.param("eventual", 5, marks=pytest.mark.slow), ("eventual", 48)]
)
def test_r25_gaps_are_closed(history_source: Source, tmp_path: Path, consistency: str, sessions: int) -> None:
    """With many sessions workers take batches of transactions."""
    place = history_source.place
    log = history_source.log(SEED, TRANSACTIONS, tmp_path, cascades=True, spread=True, sessions=sessions)
    killed_and_resumed(place, log, place.state(), "--consistency", consistency, "--merge", "off")


@pytest.mark.by_turns
@pytest.mark.postgres
def test_r25_gaps_are_closed_in_postgresql(history_source: Source, postgres_server: str, tmp_path: Path) -> None:
    place = PostgresHistoryPlace(postgres_server)
    log = history_source.log(SEED, TRANSACTIONS, tmp_path, spread=True, sessions=48)
    place.empty()
    applied(log, place.url, "--workers", "0", "--merge", "64")
    killed_and_resumed(place, log, place.state(), "--consistency", "eventual", "--merge", "2")


@pytest.mark.by_turns
@pytest.mark.mysql
@pytest.mark.postgres
@pytest.mark.parametrize("family", ["mysql", pytest.param("postgresql", marks=pytest.mark.slow)])
def test_r25_gaps_are_closed_without_gtids(history_source: Source, postgres_server: str, tmp_path: Path, family: str) -> None:
    if history_source.place.mariadb:
        pytest.skip("MariaDB's logs always have GTIDs")
    log = history_source.log_without_gtids(SEED, TRANSACTIONS, tmp_path)
    place = history_source.place if family == "mysql" else PostgresHistoryPlace(postgres_server)
    place.empty()
    applied(log, place.url, "--workers", "0", "--merge", "64")
    killed_and_resumed(place, log, place.state(), "--consistency", "eventual", "--merge", "off")
