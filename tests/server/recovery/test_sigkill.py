"""Killed at random moments and started again with the same command: the same tables, and nothing twice (R25, R25a).

A row that was applied twice cannot go unseen: the second insert, update or delete would fail, and the tables are compared.
``PARAPLY_KILLS`` says how often each target's test kills, ``PARAPLY_SEED`` repeats the moments of an earlier run.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from server.replay import MARIADB_OPTIONS, PostgresPlace, SqlPlace, applied, end, expected_checksums, kill_at_random, start, wait_for_rows
from servers import running_mariadb

Log = Callable[[str], Path]
KILLS = int(os.environ.get("PARAPLY_KILLS", "6"))
RESTARTS = max(2, KILLS // 4)


def has_everything_once(place: SqlPlace, truth: Log, name: str, mode: str, merge: str, longest: float) -> None:
    """Kills one command after the other; in the end the tables are the source's, and some command found something applied."""
    expected = expected_checksums(truth(f"{name}.checksums"))

    def check() -> None:
        assert place.state() == expected

    options = ("--workers", "4", "--gtid", mode, "--merge", "auto" if mode == "preserve" else merge)
    kills = KILLS if mode == "record" else max(3, KILLS // 2)
    assert kill_at_random(place, truth(f"{name}.binlog"), options, kills, longest, check)


@pytest.mark.by_turns
@pytest.mark.mysql
@pytest.mark.truth
@pytest.mark.parametrize("mode", ["record", "preserve", "none"])
def test_r25_mysql_has_everything_once(mysql_place: SqlPlace, truth: Log, mode: str) -> None:
    has_everything_once(mysql_place, truth, "mysql-binlog/single-session", mode, "4", 2.0)


@pytest.mark.by_turns
@pytest.mark.mariadb
@pytest.mark.truth
@pytest.mark.parametrize("mode", ["record", "preserve"])
def test_r25_mariadb_has_everything_once(mariadb_place: SqlPlace, truth: Log, mode: str) -> None:
    has_everything_once(mariadb_place, truth, "mariadb-binlog/plain", mode, "8", 3.0)


@pytest.mark.postgres
def test_r25_postgresql_has_everything_once(postgres_place: PostgresPlace, demo_log: Path) -> None:
    applied(demo_log, postgres_place.url, "--workers", "0", "--merge", "64")
    expected = postgres_place.state()

    def check() -> None:
        assert postgres_place.state() == expected

    assert kill_at_random(postgres_place, demo_log, ("--workers", "4", "--merge", "4"), KILLS, 2.5, check)


@pytest.mark.by_turns
@pytest.mark.mariadb
@pytest.mark.truth
@pytest.mark.parametrize("mode", ["record", "preserve"])
def test_r25_a_killed_server_has_everything_once(truth: Log, mode: str) -> None:
    """The apply waits for the server to come back, or ends and is started again; either way it goes on."""
    log = truth("mariadb-binlog/plain.binlog")
    options = ("--workers", "4", "--gtid", mode, "--merge", "auto" if mode == "preserve" else "8")
    with running_mariadb(MARIADB_OPTIONS) as server:
        place = SqlPlace(server.url)
        process = start(log, server.url, *options)
        for restart in range(RESTARTS):
            wait_for_rows(place, process, "orders", 200 * (restart + 1))
            server.kill()
            time.sleep(0.2)
            server.start()
            if process.poll() is not None:
                assert end(process).code == 1
                process = start(log, server.url, *options)
        outcome = end(process)
        if outcome.code == 1:
            outcome = end(start(log, server.url, *options))
        assert outcome.code == 0, outcome
        assert place.state() == expected_checksums(truth("mariadb-binlog/plain.checksums"))
