"""R25: numbers of MariaDB's GTIDs that go back within a domain: a position does not say what is applied, and nothing is passed over."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import apply
from server.replay import MARIADB_OPTIONS, SqlPlace
from servers import MariaDbServer, running_mariadb

pytestmark = pytest.mark.mariadb
WAYS = [("--gtid", "preserve"), ("--gtid", "record"), ("--gtid", "none"), ("--via", "replication")]


@pytest.fixture(scope="module")
def server() -> Iterator[MariaDbServer]:
    with running_mariadb([*MARIADB_OPTIONS, "--server-id=77", "--log-slave-updates=ON"]) as server:
        yield server


@pytest.fixture(scope="module")
def log(server: MariaDbServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log with 0-1-1, 0-1-2, 0-1-100, then 0-2-50, which a second source wrote, and 0-1-101."""
    place = SqlPlace(server.url)
    place.empty()
    rows = ((1, 1, 100), (2, 2, 50), (3, 1, 101))
    place.sql(
        "SET SESSION server_id=1",
        "CREATE DATABASE shop",
        "CREATE TABLE shop.item (id INT PRIMARY KEY)",
        *(
            statement
            for row, source, number in rows
            for statement in (f"SET SESSION server_id={source}, gtid_seq_no={number}", f"INSERT INTO shop.item VALUES ({row})")
        ),
        "FLUSH BINARY LOGS",
    )
    copy = shutil.copy(server.data / "binlog.000001", tmp_path_factory.mktemp("log") / "source.000001")
    place.empty()
    return Path(copy)


def rows(place: SqlPlace) -> list[int]:
    return [row[0] for row in place.sql("SELECT id FROM shop.item ORDER BY id")]


@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_r25_a_run_in_one_piece_applies_everything(server: MariaDbServer, log: Path, way: tuple[str, ...]) -> None:
    place = SqlPlace(server.url)
    place.empty()
    assert apply(log, server.url, *way).code == 0
    assert rows(place) == [1, 2, 3]
    assert apply(log, server.url, *way).code == 0  # nothing follows the position


@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_r25_a_run_that_goes_on_passes_over_nothing(server: MariaDbServer, log: Path, way: tuple[str, ...]) -> None:
    place = SqlPlace(server.url)
    place.empty()
    assert apply(log, server.url, *way, "--stop-at", "0-1-100").code == 0
    outcome = apply(log, server.url, *way)
    assert (outcome.code, outcome.error["class"], outcome.error["gtid"]) == (3, "LogNotUnderstood", "0-2-50"), outcome.line
    assert "--skip 0-2-50" in outcome.line
    assert rows(place) == [1]
    assert apply(log, server.url, *way).code == 3
    if "--via" not in way:
        place.sql("SET SESSION sql_log_bin=0", "INSERT INTO shop.item VALUES (2)")
    outcome = apply(log, server.url, *way, "--skip", "0-2-50")
    assert outcome.code == 0, outcome.line
    assert rows(place) == ([1, 3] if "--via" in way else [1, 2, 3])
