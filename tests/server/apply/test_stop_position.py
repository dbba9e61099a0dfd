"""Stops by file and position, the dry run that shows them, and logs without transactions behind a gap."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path
from typing import Any

import pytest
from command_line import paraply, run_json
from server.replay import SqlPlace, applied
from servers import MariaDbServer

from paraply import open_log

pytestmark = pytest.mark.mariadb

HISTORY = (
    "CREATE DATABASE shop",
    "CREATE TABLE shop.t (id INT PRIMARY KEY)",
    "INSERT INTO shop.t VALUES (1)",
    "FLUSH BINARY LOGS",
    "INSERT INTO shop.t VALUES (2), (3), (4)",
    "INSERT INTO shop.t VALUES (5)",
    "FLUSH BINARY LOGS",
)


@pytest.fixture
def logs(mariadb_place: SqlPlace, durable_mariadb: MariaDbServer, tmp_path: Path) -> list[Path]:
    """Two logs of an empty MariaDB, and a third one without a transaction."""
    mariadb_place.sql(*HISTORY)
    names = ["binlog.000001", "binlog.000002", "binlog.000003"]
    files = [Path(shutil.copy(durable_mariadb.data / name, tmp_path / name)) for name in names]
    mariadb_place.empty()
    return files


def ids(place: SqlPlace) -> list[int]:
    return [row[0] for row in place.sql("SELECT id FROM shop.t ORDER BY id")]


def apply(logs: list[Path], place: SqlPlace, *options: str) -> tuple[int, dict[str, Any]]:
    outcome = run_json("apply", *logs, "--to", place.url, *options)
    return outcome.code, outcome.report


def test_mariadb_stop_before_a_position_also_of_a_compressed_log(logs: list[Path], mariadb_place: SqlPlace) -> None:
    five = list(open_log(logs[1]))[-1]
    packed = logs[1].with_name("binlog.000002.gz")
    packed.write_bytes(gzip.compress(logs[1].read_bytes()))
    code, report = apply([logs[0], packed], mariadb_place, "--stop-before", f"{packed}:{five.offset}")
    assert (code, ids(mariadb_place)) == (0, [1, 2, 3, 4])
    assert report["stop"]["gtid"] == five.gtid
    code, report = apply(logs[:2], mariadb_place, "--stop-before", f"binlog.000002:{five.offset + 1}")
    assert code == 2
    assert f"binlog.000002:{five.offset} ({five.gtid})" in report["error"]["message"]
    assert ids(mariadb_place) == [1, 2, 3, 4], "nothing was written"
    code, report = apply(logs[:2], mariadb_place, "--stop-before", f"binlog.000001:{list(open_log(logs[0]))[-1].offset}")
    assert (code, "older backup" in report["error"]["message"]) == (2, True)


def test_mariadb_dry_run_shows_what_the_options_take(logs: list[Path], mariadb_place: SqlPlace) -> None:
    table, one, many, five = [*list(open_log(logs[0]))[1:], *open_log(logs[1])]
    shown = paraply("apply", *logs[:2], "--to", mariadb_place.url, "--dry-run", "--skip", one.gtid or "").stdout.splitlines()
    (ddl,) = [line for line in shown if "CREATE TABLE shop.t" in line]
    gtid, time, place = ddl.split()[1:4]
    assert (gtid, place) == (table.gtid, f"{logs[0]}:{table.offset}")
    (largest,) = [line for line in shown if "3 rows of shop.t" in line]
    assert largest.split()[1:4:2] == [many.gtid, f"{logs[1]}:{many.offset}"]
    assert any("1 transaction is left out by --skip" in line for line in shown)
    _, report = apply(logs[:2], mariadb_place, "--dry-run")
    assert (report["largest"][0]["gtid"], report["largest"][0]["rows"]) == (many.gtid, 3)
    assert {large["gtid"] for large in report["largest"]} == {one.gtid, many.gtid, five.gtid}
    # Each of the three is taken as it is.
    for options, left in ((("--stop-at", time), None), (("--stop-before", place), None), (("--skip", largest.split()[1]), [1, 5])):
        assert apply(logs[:2], mariadb_place, *options)[0] == 0
        found = mariadb_place.sql("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema='shop'")[0][0]
        assert (ids(mariadb_place) if found else None) == left
        mariadb_place.empty()


def test_mariadb_a_log_without_transactions_behind_a_gap_is_refused(logs: list[Path], mariadb_place: SqlPlace) -> None:
    before = list(open_log(logs[1]))[-1].gtid or ""
    for options in ((), ("--dry-run",)):
        code, report = apply(logs[2:], mariadb_place, *options)
        assert code == 2
        assert f"{before} was executed before the start of binlog.000003" in report["error"]["message"]
    code, report = apply(logs[2:], mariadb_place, "--allow-gap")
    assert code == 0
    assert any("--allow-gap" in note for note in report["notes"])
    assert apply(logs[2:], mariadb_place, "--start-after", before)[0] == 0
    applied(logs[0], mariadb_place.url)
    assert apply(logs[2:], mariadb_place)[0] == 2, "the second log is missing"
    assert apply(logs, mariadb_place)[0] == 0
    assert apply(logs[2:], mariadb_place)[0] == 0
