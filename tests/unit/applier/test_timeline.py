"""The timeline: a complete JSON object at every moment, whatever ends the run, in bounded memory."""

from __future__ import annotations

import json
import os
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from unit.applier.fake_database import Target
from unit.applier.fakes import make
from unit.applier.harness import make_applier, run_within

from paraply.errors import LogDamaged, Stopped, UsageError
from paraply.observe.counters import Counters
from paraply.observe.timeline import Timeline

if TYPE_CHECKING:
    from pathlib import Path


def events(path: Path, kind: str | None = None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text())["traceEvents"]
    return [event for event in found if kind in (None, event["ph"])]


def check_tracks(path: Path) -> None:
    """Slices of one track follow each other, as one thread's do."""
    tracks: dict[int, float] = {}
    for event in sorted(events(path, "X"), key=lambda event: event["ts"]):
        assert event["ts"] >= tracks.get(event["tid"], 0.0) - 0.002, event
        tracks[event["tid"]] = event["ts"] + event["dur"]


def test_it_is_complete_after_every_write_though_nobody_closes_it(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    timeline = Timeline(path)
    assert events(path) == []
    for number in range(3):
        timeline.slice(1, "apply", 0.0, 0.1, {"gtid": f'odd"{number}'})
        timeline.counters(Counters(queue=number))
        timeline.flush()
        assert [event["args"]["gtid"] for event in events(path, "X")] == [f'odd"{n}' for n in range(number + 1)]
    timeline.close()
    timeline.close()
    timeline.slice(1, "apply", 0.0, 0.1)
    assert len(events(path, "X")) == 3


def test_memory_holds_a_few_thousand_events(tmp_path: Path) -> None:
    timeline = Timeline(tmp_path / "trace.json")
    for _ in range(50_000):
        timeline.slice(1, "apply", 0.0, 0.1)
        assert len(timeline._events) <= 2048
    timeline.close()
    assert len(events(tmp_path / "trace.json", "X")) == 50_000


def test_many_threads_write_whole_events(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    with Timeline(path) as timeline:
        writers = [threading.Thread(target=lambda n=n: [timeline.slice(n, "apply", i, i + 1) for i in range(3000)]) for n in range(4)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
    assert Counter(event["tid"] for event in events(path, "X")) == dict.fromkeys(range(4), 3000)


def test_a_log_that_is_named_by_mistake_is_not_overwritten(tmp_path: Path) -> None:
    log = tmp_path / "binlog.000001"
    log.write_bytes(b"\xfebin1234")
    with pytest.raises(UsageError, match="no timeline"):
        Timeline(log)
    assert log.read_bytes() == b"\xfebin1234"


def test_an_older_timeline_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    for number in range(2):
        with Timeline(path) as timeline:
            timeline.slice(number, "apply", 0.0, 0.1)
    assert [event["tid"] for event in events(path, "X")] == [1]


def test_a_folder_that_is_missing_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        Timeline(tmp_path / "missing" / "trace.json")


def test_a_full_disk_ends_the_timeline_and_not_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "trace.json"
    timeline = Timeline(path)
    timeline.slice(1, "apply", 0.0, 0.1)
    timeline.flush()
    whole, calls = os.pwrite, 0

    def full(file: int, data: memoryview, place: int) -> int:
        nonlocal calls
        calls += 1
        if calls == 1:
            return whole(file, data[:10], place)
        if calls == 2:
            raise OSError(28, "No space left on device")
        return whole(file, data, place)

    monkeypatch.setattr(os, "pwrite", full)
    timeline.slice(2, "apply", 0.0, 0.1)
    timeline.flush()
    timeline.slice(3, "apply", 0.0, 0.1)
    timeline.close()
    assert timeline.problem is not None
    assert "No space left" in timeline.problem
    assert [event["tid"] for event in events(path, "X")] == [1]


@pytest.mark.parametrize("workers", [0, 3])
def test_a_run_draws_what_each_worker_does(tmp_path: Path, workers: int) -> None:
    path = tmp_path / "trace.json"
    run_within(make_applier([make(n, f"k{n % 5}") for n in range(1, 60)], Target(), workers=workers, trace=path, merge="off"))
    slices = events(path, "X")
    assert {"apply", "commit", "turn"} <= {event["name"] for event in slices} <= {"apply", "commit", "turn", "wait"}
    commits = [event for event in slices if event["name"] == "commit"]
    assert sorted(event["args"]["gtid"] for event in commits) == [f"u:{n:05}" for n in range(1, 60)]
    assert all(event["args"]["transactions"] == 1 for event in commits)
    assert {event["args"]["name"] for event in events(path, "M") if event["name"] == "thread_name"} == {
        f"worker {n}" for n in range(1, max(1, workers) + 1)
    }
    assert events(path, "C")
    check_tracks(path)


def test_a_run_that_fails_leaves_a_complete_timeline(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    log = [*(make(n, "k") for n in range(1, 10)), LogDamaged("broken", position=1000)]
    assert isinstance(run_within(make_applier(log, Target(), trace=path, merge="off")), LogDamaged)
    assert len([event for event in events(path, "X") if event["name"] == "commit"]) == 9
    check_tracks(path)


def test_a_run_that_is_stopped_leaves_a_complete_timeline(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    applier = make_applier([make(n, "k") for n in range(1, 20_000)], Target(), trace=path, merge="off")

    def stop_soon() -> None:
        while applier.counters().transactions == 0:
            time.sleep(0.001)
        applier.stop()

    threading.Thread(target=stop_soon, daemon=True).start()
    assert isinstance(run_within(applier), Stopped)
    assert events(path, "X")
    check_tracks(path)


def test_a_file_that_cannot_be_written_is_told_before_the_target_is_opened(tmp_path: Path) -> None:
    target = Target()
    outcome = run_within(make_applier([make(1, "k")], target, trace=tmp_path / "missing" / "trace.json"))
    assert isinstance(outcome, UsageError)
    assert target.plan is None
