"""Position of a stop in a real log, for the progress bar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply import open_log
from paraply.logs.file_order import read_heads
from paraply.logs.stop_point import StopPoint, parse_stop
from paraply.observe.progress_estimate import ProgressEstimate, StopFinder

if TYPE_CHECKING:
    from pathlib import Path


def test_the_finder_finds_a_stop_in_a_real_log(demo_log: Path) -> None:
    log = list(open_log(demo_log))
    wanted = log[4321]
    stop = parse_stop(wanted.gtid)
    assert stop is not None
    estimate = ProgressEstimate([str(demo_log)])
    finder = StopFinder(estimate, stop, read_heads([str(demo_log)]))
    finder.start()
    finder._thread.join(20)
    finder.end()
    assert estimate.total == wanted.end_offset
    before = ProgressEstimate([str(demo_log)])
    finder = StopFinder(before, StopPoint(before=wanted.gtid), read_heads([str(demo_log)]))
    finder.start()
    finder._thread.join(20)
    assert before.total == wanted.offset
