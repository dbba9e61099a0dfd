"""Progress of a run, and the estimate of its end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from unit.applier.fake_database import Target
from unit.applier.fakes import GtidSet, make
from unit.applier.harness import make_applier, run_within

from paraply.logs.stop_point import StopPoint, parse_stop
from paraply.observe.progress_estimate import ProgressEstimate, file_of_stop
from paraply.runtime import runtime

if TYPE_CHECKING:
    from pathlib import Path

UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"


@dataclass
class Block:
    end_file: str
    end_offset: int
    file: str = ""
    offset: int = 0


@dataclass
class Run:
    last_block: Any = None
    handed: Any = None


@dataclass
class Feed:
    read_bytes: int = 0


@dataclass
class Head:
    first_committed_at: int | None = None


@dataclass
class File:
    path: str
    head: Head | None = None
    previous: Any = None


@dataclass
class Clock:
    now: float = 0.0
    steps: list[float] = field(default_factory=list)

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def logs(tmp_path: Path) -> list[str]:
    paths = [tmp_path / "binlog.000001", tmp_path / "binlog.000002"]
    for path in paths:
        path.write_bytes(bytes(1000))
    return [str(path) for path in paths]


def test_places_add_up_over_the_files_and_never_go_back(logs: list[str]) -> None:
    estimate, run = ProgressEstimate(logs), Run()
    assert estimate.total == 2000
    assert estimate.done(run, Feed(700)) == 700
    run.handed = Block(logs[0], 0, file=logs[0], offset=500)
    assert estimate.done(run, Feed(900)) == 700
    run.last_block = Block(logs[1], 300)
    assert estimate.done(run, Feed(1500)) == 1300


def test_the_stop_is_the_end(logs: list[str]) -> None:
    estimate, run = ProgressEstimate(logs), Run(Block(logs[1], 250))
    estimate.stops_at(logs[1], 250)
    assert (estimate.total, estimate.done(run, Feed())) == (1250, 1250)
    estimate.sample(run, Feed())
    estimate.sample(run, Feed())
    assert estimate.seconds_left == 0.0


def test_the_time_left_is_that_of_the_last_seconds(logs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(runtime, "perf_counter", clock.perf_counter)
    estimate, run = ProgressEstimate(logs), Run()
    assert estimate.seconds_left is None
    for second, offset in ((0.0, 0), (10.0, 100), (40.0, 400), (50.0, 600)):
        clock.now, run.last_block = second, Block(logs[0], offset)
        estimate.sample(run, Feed())
    assert estimate.seconds_left == pytest.approx((2000 - 600) * 10 / 200)


@pytest.mark.parametrize(("time", "expected"), [(5, 0), (10, 0), (11, 1), (25, 1), (31, 2)])
def test_a_time_is_looked_for_in_the_last_file_that_begins_before_it(time: int, expected: int) -> None:
    files = [File("a", Head(1)), File("b", Head(10)), File("c", Head(30))]
    assert file_of_stop(StopPoint(time=time), files) == expected  # type: ignore[arg-type]


def test_a_gtid_is_looked_for_in_the_last_file_before_which_it_was_not_executed() -> None:
    stop = parse_stop(f"{UUID}:7")
    assert stop is not None
    files = [File("a", previous=GtidSet()), File("b", previous=GtidSet()), File("c", previous=GtidSet(f"{UUID}:7"))]
    assert file_of_stop(stop, files) == 1  # type: ignore[arg-type]
    assert file_of_stop(stop, [File("a"), File("b")]) == 0  # type: ignore[arg-type]


def test_a_run_tells_how_far_it_is() -> None:
    applier = make_applier([make(n, "k") for n in range(1, 30)], Target(), merge="off")
    run_within(applier)
    counters = applier.counters()
    assert counters.bytes_total == 0  # the stand-in of the log is empty
    assert counters.last_gtid == "u:00029"
    assert (counters.handed_gtid, counters.ahead) == ("u:00029", 0)
    assert sum(worker.transactions for worker in counters.workers) == 29
    assert {worker.last_gtid for worker in counters.workers} >= {"u:00029"}
