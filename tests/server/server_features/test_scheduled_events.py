"""Scheduled events of the target, which would change once more what is in the log's rows already, are named in the plan and the report."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import run_json
from server.apply.test_errors_mysql import STATEMENTS, Server, server

__all__ = ["server"]

pytestmark = pytest.mark.mariadb

TOMORROW = "ON SCHEDULE EVERY 1 DAY STARTS NOW() + INTERVAL 1 DAY DO SELECT 1"


@pytest.fixture
def log(server: Server, tmp_path: Path) -> Iterator[Path]:
    """A log that makes the event ``errs.purge`` and changes it; ``kept.old`` stands in the target, whose scheduler is on."""
    (before,) = server.sql("SELECT @@GLOBAL.event_scheduler")
    yield server.record(
        [*STATEMENTS, f"CREATE EVENT errs.purge {TOMORROW}", "ALTER EVENT errs.purge COMMENT 'by night'"], tmp_path / "binlog.000001"
    )
    server.sql("DROP DATABASE IF EXISTS kept", f"SET GLOBAL event_scheduler={before[0]}")


def notes_about_events(server: Server, log: Path, *options: str) -> list[str]:
    outcome = run_json("apply", log, "--to", server.url, "--gtid", "none" if server.mariadb else "preserve", *options)
    assert outcome.code == 0, outcome.line
    report = outcome.report["plan"] if "--dry-run" in options else outcome.report
    return [note for note in report["notes"] if "event scheduler" in note]


@pytest.mark.parametrize("workers", ["0", "4"])
def test_events_that_run_during_a_replay_are_named(server: Server, log: Path, workers: str) -> None:
    server.sql("CREATE DATABASE kept", f"CREATE EVENT kept.old {TOMORROW}", f"CREATE EVENT kept.off {TOMORROW}")
    server.sql("ALTER EVENT kept.off DISABLE", "SET GLOBAL event_scheduler=ON")
    standing, made, changed = notes_about_events(server, log, "--workers", workers)
    assert "runs kept.old during the replay" in standing
    assert "SET GLOBAL event_scheduler=OFF" in standing
    assert "made or changed a scheduled event" in made
    assert made != changed, "each names its transaction"
    assert server.sql("SELECT status, event_comment FROM information_schema.events WHERE event_name='purge'") == [("ENABLED", "by night")]


def test_a_scheduler_that_is_off_needs_no_note(server: Server, log: Path) -> None:
    server.sql("CREATE DATABASE kept", f"CREATE EVENT kept.old {TOMORROW}", "SET GLOBAL event_scheduler=OFF")
    assert notes_about_events(server, log) == []


def test_the_plan_of_a_dry_run_names_them(server: Server, log: Path) -> None:
    server.sql("CREATE DATABASE kept", *[f"CREATE EVENT kept.e{number} {TOMORROW}" for number in range(7)], "SET GLOBAL event_scheduler=ON")
    (note,) = notes_about_events(server, log, "--dry-run")
    assert "kept.e0, kept.e1, kept.e2, kept.e3, kept.e4 and 2 more" in note
