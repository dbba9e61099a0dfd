"""Reports of a run on its stop, its gaps and its plan, with fakes of log and database."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from unit.applier import fakes
from unit.applier.fake_database import Target
from unit.applier.fakes import LOG, GtidSet, make
from unit.applier.harness import apply, make_applier, run_within

from paraply.applier.preflight.plan import RunPlan, check_gap, check_stop
from paraply.applier.selection.stop_result import check_result
from paraply.errors import StopNotReached, UsageError
from paraply.logs.file_order import LogFile
from paraply.logs.stop_point import StopPoint, moment_text

SECOND = 1_000_000


def log(count: int) -> list[Any]:
    return [make(number, f"k{number}", committed_us=number * SECOND) for number in range(1, count + 1)]


@pytest.mark.parametrize("workers", [0, 1, 4])
def test_a_stop_that_is_reached_is_the_end_of_the_run(workers: int) -> None:
    target = Target()
    report = apply(log(40), target, workers=workers, stop_at=moment_text(25 * SECOND))
    assert target.database.applied == list(range(1, 25))
    assert report.stop is not None
    assert (report.stop.committed_at, report.stop.included) == (25 * SECOND, False)
    assert target.finished is not None
    assert report.transactions == 24


def test_logs_that_end_before_the_time_are_applied_with_a_note() -> None:
    target = Target()
    report = apply(log(5), target, stop_at=moment_text(60 * SECOND))
    assert report.stop is None
    assert target.finished is not None
    (note,) = [note for note in report.notes if "ended before the stop" in note]
    assert moment_text(5 * SECOND) in note


def test_a_later_stop_goes_on_and_an_earlier_one_is_refused() -> None:
    target = Target()
    apply(log(20), target, stop_at=moment_text(10 * SECOND))
    fingerprint = target.plan.fingerprint if target.plan else None
    later = Target(target.database)
    apply(log(20), later, stop_at=moment_text(15 * SECOND))
    assert target.database.applied == list(range(1, 15))
    assert later.plan is not None
    assert later.plan.fingerprint == fingerprint, "the stop is not part of the progress's identity"
    outcome = run_within(make_applier(log(20), Target(target.database), stop_at=moment_text(5 * SECOND)))
    assert isinstance(outcome, UsageError)
    assert "older backup" in outcome.message
    assert target.database.applied == list(range(1, 15))


def test_the_plan_comes_before_the_first_write() -> None:
    target = Target()
    seen: list[tuple[RunPlan, int, bool]] = []
    apply(log(3), target, on_plan=lambda plan: seen.append((plan, len(target.database.applied), target.plan is None)))
    ((plan, applied, unopened),) = seen
    assert (applied, unopened) == (0, True)
    assert plan.files == (LOG,)
    assert any(line.startswith("stop     at the end") for line in plan.lines())


def test_a_gtid_that_did_not_come_is_an_error_behind_everything() -> None:
    class Run:
        filtered, transactions, last_block = 0, 5, None

    applier = make_applier(log(1), Target())
    options = replace(applier._options, stop=StopPoint(after="0-1-9", text="--stop-at 0-1-9"))
    with pytest.raises(StopNotReached, match="everything in them is applied"):
        check_result(options, None, Run(), fakes.LogReader([]))  # type: ignore[arg-type]


def test_a_run_that_skips_everything_says_why() -> None:
    target = Target()
    assert apply(log(3), target).notes == []
    again = apply(log(3), Target(target.database))
    assert (again.transactions, again.skipped) == (0, 3)
    assert [note for note in again.notes if note.startswith("nothing to apply: 3 transactions were skipped, held by ")] == again.notes


def test_a_gap_before_the_first_log_is_refused_and_named() -> None:
    class Held(GtidSet):
        def __sub__(self, other: GtidSet) -> GtidSet:
            return GtidSet(members=self.members - other.members)

    files = [LogFile(LOG, fakes.LogHead(previous_gtids=Held("u:1,u:2")), "binlog", 1)]  # type: ignore[arg-type]
    held: Any = GtidSet("u:1")
    with pytest.raises(UsageError, match="u:2 was executed before"):
        check_gap(files, held, allowed=False)
    assert "--allow-gap" in (check_gap(files, held, allowed=True) or "")
    assert check_gap(files, GtidSet("u:1,u:2,u:3"), allowed=False) is None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("stop", "has_gtids", "mariadb", "wanted"),
    [
        (StopPoint(after="0-1-9"), True, False, "not a GTID of MySQL"),
        (StopPoint(before="3e11fa47-71ca-11e1-9e33-c80aa9429562:9"), True, True, "not a GTID of MariaDB"),
        (StopPoint(after="0-1-9"), False, True, "carry no GTIDs"),
        (StopPoint(before="0-1-9"), True, True, "holds this transaction already"),
    ],
)
def test_a_gtid_that_cannot_be_the_stop_is_refused(stop: StopPoint, has_gtids: bool, mariadb: bool, wanted: str) -> None:
    with pytest.raises(UsageError, match=wanted):
        check_stop(stop, [], GtidSet("0-1-9"), has_gtids=has_gtids, mariadb=mariadb)  # type: ignore[arg-type]
