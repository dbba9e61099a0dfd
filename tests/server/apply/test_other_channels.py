"""R25: a second channel does not apply again, without a word, what another channel of the target holds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import apply, run_json
from server.replay import PostgresPlace, SqlPlace, applied

from paraply import open_log

Truth = Callable[[str], Path]


@pytest.mark.mariadb
def test_r25_a_second_channel_of_the_log_is_refused_after_a_crash(mariadb_place: SqlPlace, truth: Truth) -> None:
    log = truth("mariadb-binlog/plain.binlog")
    gtids = [found.gtid for found in open_log(log)]
    middle = str(gtids[len(gtids) // 2])
    applied(log, mariadb_place.url, "--stop-at", middle)
    mariadb_place.sql("SET GLOBAL gtid_slave_pos=''")  # as a run that was killed leaves it
    refused = apply(log, mariadb_place.url, "--channel", "second")
    assert (refused.code, "channel default" in refused.line) == (2, True), refused.line
    assert "--start-after" in refused.line
    assert applied(log, mariadb_place.url, "--channel", "second", "--start-after", middle)["transactions"] > 0
    assert run_json("status", "--to", mariadb_place.url).code == 0


def test_r25_a_second_channel_into_postgresql_says_what_is_applied_twice(postgres_place: PostgresPlace, truth: Truth) -> None:
    log = truth("mysql-binlog/eight-sessions.binlog")
    gtids = [found.gtid for found in open_log(log)]
    applied(log, postgres_place.url, "--stop-at", str(gtids[20]))
    found = run_json("apply", log, "--to", postgres_place.url, "--channel", "second", "--dry-run")
    assert any("channel default" in note and "twice" in note for note in found.report["plan"]["notes"]), found.report["plan"]
