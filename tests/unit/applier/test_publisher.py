"""The published status: written while the run lasts and at its end, and never in the run's way."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from unit.applier.fake_database import Target
from unit.applier.fakes import make
from unit.applier.harness import apply, make_applier, run_within
from unit.steps import until

from paraply.errors import ConnectionLost, LogDamaged, Stopped
from paraply.observe import publisher
from paraply.observe.publisher import Publisher
from paraply.targets.channel_status import Pause


class StatusRowConnection:
    def __init__(self) -> None:
        self.texts: list[str] = []
        self.closed = 0
        self.failing: Exception | None = None
        self.pause: Pause | None = None

    def paused(self) -> Pause | None:
        return self.pause

    def publish(self, text: str) -> None:
        if self.failing is not None:
            raise self.failing
        self.texts.append(text)

    def close(self) -> None:
        self.closed += 1

    @property
    def last(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.texts[-1])
        return found


class Place(Target):
    def __init__(self, status_row: StatusRowConnection | None) -> None:
        super().__init__()
        self.status_row = status_row

    def open_status_row(self, found: object = None) -> StatusRowConnection | None:
        return self.status_row


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publisher, "PUBLISH_SECONDS", 0.02)


def test_the_last_word_says_how_the_run_ended() -> None:
    status_row = StatusRowConnection()
    run_within(make_applier([make(n, "k") for n in range(1, 20)], Place(status_row)))
    assert status_row.last["outcome"] == "done"
    assert status_row.last["counters"]["transactions"] == 19
    assert status_row.last["counters"]["last_gtid"] == "u:00019"
    assert status_row.closed == 1


def test_an_error_is_told() -> None:
    status_row = StatusRowConnection()
    run_within(make_applier([make(1, "k"), LogDamaged("broken")], Place(status_row)))
    assert (status_row.last["outcome"], status_row.last["error"]["class"]) == ("failed", "LogDamaged")


def test_it_is_written_again_and_again() -> None:
    status_row = StatusRowConnection()
    publishing = Publisher(lambda: status_row, lambda: {"outcome": None})
    publishing.start()
    until(lambda: len(status_row.texts) > 3, "the fourth status")
    publishing.end({"outcome": "done"})
    assert {"outcome": None} in map(json.loads, status_row.texts)
    assert status_row.last == {"outcome": "done"}


def test_a_lost_connection_is_made_again() -> None:
    connections = [StatusRowConnection(), StatusRowConnection()]
    connections[0].failing = ConnectionLost("gone")
    opened = iter(connections)
    publishing = Publisher(lambda: next(opened), dict)
    publishing.start()
    until(lambda: connections[1].texts, "a status on the second connection")
    publishing.end({"outcome": "done"})
    assert (connections[0].closed, connections[1].closed) == (1, 1)
    assert connections[1].last == {"outcome": "done"}


def test_a_target_without_a_place_is_no_error() -> None:
    place = Place(None)
    assert apply([make(1, "k")], place).transactions == 1
    assert place.database.applied == [1]


def test_a_defect_of_the_row_is_no_error_of_the_run_and_ends_the_publishing(caplog: pytest.LogCaptureFixture) -> None:
    status_row = StatusRowConnection()
    status_row.failing = ValueError("a defect")
    place = Place(status_row)
    assert apply([make(1, "k")], place).transactions == 1
    assert place.database.applied == [1]
    assert (status_row.texts, status_row.closed) == ([], 1)
    assert [record.getMessage() for record in caplog.records if record.name == "paraply.observe"] == [
        "the status is not published any more"
    ]


def test_a_target_that_hangs_does_not_keep_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publisher, "_PATIENCE_SECONDS", 0.1)
    asked, released, answered = threading.Event(), threading.Event(), threading.Event()

    def open_status_row() -> None:
        asked.set()
        released.wait()
        answered.set()

    publishing = Publisher(open_status_row, dict)
    publishing.start()
    assert asked.wait(10)
    publishing.end({})
    assert not answered.is_set(), "the end did not wait for the target"
    released.set()
    assert answered.wait(10)


def test_a_run_whose_channel_is_paused_applies_nothing_until_it_is_resumed() -> None:
    status_row = StatusRowConnection()
    status_row.pause = Pause("dba@db1", "2026-03-01T14:07:00Z")
    place = Place(status_row)
    applier = make_applier([make(n, "k") for n in range(1, 20)], place)
    run = threading.Thread(target=run_within, args=(applier,))
    run.start()
    until(lambda: status_row.texts and status_row.last.get("paused") == "paused", "the report of the pause")
    until(lambda: applier.counters().read == 19, "the reader, which goes on")
    assert place.database.applied == []
    status_row.pause = None
    run.join(30)
    assert place.database.applied == list(range(1, 20))
    assert (status_row.last["outcome"], status_row.last["paused"]) == ("done", None)


@pytest.mark.parametrize("workers", [0, 4])
def test_a_paused_run_can_be_stopped(workers: int) -> None:
    status_row = StatusRowConnection()
    status_row.pause = Pause("dba@db1", "2026-03-01T14:07:00Z")
    place = Place(status_row)
    applier = make_applier([make(n, "k") for n in range(1, 20)], place, workers=workers)
    ended: list[object] = []
    run = threading.Thread(target=lambda: ended.append(run_within(applier)))
    run.start()
    until(lambda: status_row.texts and status_row.last.get("paused") == "paused", "the report of the pause")
    applier.stop()
    run.join(30)
    assert isinstance(ended[0], Stopped)
    assert place.database.applied == []


def test_what_a_run_has_begun_is_committed_in_a_pause() -> None:
    status_row = StatusRowConnection()
    place = Place(status_row)

    def pause_in_the_fifth() -> bool:
        status_row.pause = status_row.pause or Pause("dba@db1", "2026-03-01T14:07:00Z")
        return applier.counters().queue >= 0

    place.database.waits_for[5] = pause_in_the_fifth
    applier = make_applier([make(n, f"k{n}") for n in range(1, 2000)], place, merge="off")
    run = threading.Thread(target=run_within, args=(applier,))
    run.start()
    until(lambda: status_row.texts and status_row.last.get("paused") == "paused", "the report of the pause")
    done = len(place.database.applied)
    assert place.database.applied == list(range(1, done + 1))
    assert done >= 5
    assert not place.database.owners, "no transaction is open"
    status_row.pause = None
    run.join(30)
    assert place.database.applied == list(range(1, 2000))
