"""A short share of the comparison of the model database with real servers, and what the comparison itself must notice."""

from __future__ import annotations

from dataclasses import replace

import pytest
from conformance.command import compare_all
from conformance.compare import compare
from conformance.model import play_model
from conformance.play import play_server
from conformance.servers import server_of
from conformance.steps import TABLES, Record, draw_schedule
from simulation.database import Connection

from tests.pg_databases import Database, database, embedded
from tests.servers import MariaDbServer, mariadb_server

__all__ = ["database", "embedded", "mariadb_server"]


def test_mariadb_does_what_the_model_does(mariadb_server: MariaDbServer) -> None:
    assert compare_all(server_of(mariadb_server.url), range(9_000_000, 9_000_200), 3.0) == 0


def test_postgresql_does_what_the_model_does(database: Database) -> None:
    assert compare_all(server_of(database.url), range(9_000_000, 9_000_200), 3.0) == 0


def test_another_answer_of_a_server_is_a_difference() -> None:
    schedule = replace(draw_schedule(5), impatient=None)
    alone = [Record(step) for step in schedule.steps if step.kind == "change" and step.session == 0]
    records = [outcome.record for outcome in play_model(schedule, alone[:1], "mysql", {})]
    assert not compare(schedule, records, "mysql").difference
    (answer,) = records[0].answers.values()
    other = "ok" if answer != "ok" else "missing"
    result = compare(schedule, [replace(records[0], answers={0: other})], "mysql")
    assert result.difference.startswith("step 0: server:")


def test_a_fault_of_the_model_is_found(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that does not wait for rows of open transactions differs from a server."""

    def no_wait(self: Connection, name: tuple[str, object], *, exclusive: bool) -> None:
        if name not in self.held:
            self._grant(self.database.locks.setdefault(name, type(self.database).new_lock()), name, exclusive)

    server = server_of(database.url)
    server.prepare()
    schedules = [draw_schedule(seed) for seed in range(9_100_000, 9_100_012)]
    records = [play_server(schedule, server) for schedule in schedules]
    server.close()
    monkeypatch.setattr(Connection, "lock", no_wait)
    assert any(compare(schedule, record, "postgresql").difference for schedule, record in zip(schedules, records, strict=True))


def test_schedules_are_those_of_the_seed_and_have_every_step() -> None:
    assert draw_schedule(7) == draw_schedule(7)
    schedules = [draw_schedule(seed) for seed in range(300)]
    steps = [step for schedule in schedules for step in schedule.steps]
    assert {step.kind for step in steps} == {"change", "commit", "rollback", "interrupt", "disconnect"}
    assert {step.change.table for step in steps if step.change is not None} == set(TABLES)
    assert {schedule.sessions for schedule in schedules} == {2, 3, 4}
    assert any(schedule.impatient is not None for schedule in schedules)
