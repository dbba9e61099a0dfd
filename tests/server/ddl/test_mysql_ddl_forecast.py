"""A dry run says which statements of a log the target could not take, before anything is written."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from server.replay import SqlPlace, command
from server.source_log import copy_binlogs

pytestmark = pytest.mark.mysql

MADE = (
    "CREATE DATABASE shop",
    "CREATE TABLE shop.good (id INT PRIMARY KEY, name VARCHAR(9))",
    "CREATE TABLE shop.place (id INT PRIMARY KEY, at POINT)",
    "INSERT INTO shop.good VALUES (1, 'a')",
    "ALTER TABLE shop.good ADD COLUMN old POLYGON",
    "DROP TABLE shop.place",
)


def stops(log: Path, place: SqlPlace, target: str, *options: str) -> list[tuple[str, str]]:
    """The statements at which the apply would stop, each with the reason."""
    arguments = command(log, target, "--dry-run", *options)
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, cwd=log.parent)
    place.empty()
    assert done.returncode == 0, done.stderr
    return [(one["sql"], one["problem"]) for one in json.loads(done.stdout)["statements"] if one["problem"]]


@pytest.fixture
def log(mysql_place: SqlPlace, tmp_path: Path) -> Path:
    mysql_place.sql(*MADE)
    (log,) = copy_binlogs(mysql_place.url, tmp_path)
    mysql_place.empty()
    return log


def test_a_dry_run_names_every_type_without_counterpart(mysql_place: SqlPlace, log: Path, postgres_server: str) -> None:
    (first, second) = stops(log, mysql_place, postgres_server)
    assert first[0] == MADE[2]
    assert "POINT" in first[1]
    assert second[0] == MADE[4]
    assert "POLYGON" in second[1]


def test_what_the_filters_leave_out_is_no_obstacle(mysql_place: SqlPlace, log: Path, postgres_server: str) -> None:
    assert [sql for sql, _ in stops(log, mysql_place, postgres_server, "--exclude-table", "shop.place")] == [MADE[4]]


def test_a_mysql_takes_them_all(mysql_place: SqlPlace, log: Path) -> None:
    assert stops(log, mysql_place, mysql_place.url, "--gtid", "record") == []
