"""The result of ``analyze``: totals, names, hidden values, traces, predictions and the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import paraply, run_json
from rich.console import Console
from unit.analyze.made_log import MadeLog
from unit.analyze.planted import HOT, ITEM, TRANSACTIONS, hot_row, session_order

from paraply.analysis.analyze import Analysis, AnalyzeOptions, analyze
from paraply.analysis.trace_files import write_trace
from paraply.cli.terminal.analyze_summary import show
from paraply.errors import UsageError

SMALL = AnalyzeOptions(workers=(1, 4, 16), replica_workers=4)


@pytest.fixture(scope="module")
def hot(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the files of a log with a hot row."""
    return hot_row(tmp_path_factory.mktemp("hot") / "log")


@pytest.fixture(scope="module")
def found(hot: list[str]) -> Analysis:
    """Return its analysis."""
    return analyze(hot, SMALL)


def test_totals_and_rates(found: Analysis) -> None:
    totals = found.totals
    assert (totals.transactions, totals.rows, totals.barriers, totals.files) == (TRANSACTIONS + 1, TRANSACTIONS, 1, 1)
    assert totals.first_time == "2023-11-14T22:13:20.001000Z"
    assert totals.span_seconds == pytest.approx(TRANSACTIONS / 1000)
    assert totals.transactions_per_second == pytest.approx(1000, rel=0.01)
    assert totals.over_time is not None
    assert sum(totals.over_time.rows) == TRANSACTIONS


def test_every_applier_has_a_time_for_every_number_of_workers(found: Analysis) -> None:
    assert {(curve.applier, curve.numbers, curve.ordered) for curve in found.curves} == {
        ("mysql", "stamped", True),
        ("mysql", "stamped", False),
        ("mysql", "fine", True),
        ("mysql", "fine", False),
        ("change_stream", "stamped", True),
        ("change_stream", "stamped", False),
        ("mariadb", "fine", True),
        ("paraply", "fine", True),
        ("paraply", "fine", False),
    }
    assert all([point.workers for point in curve.points] == [1, 4, 16] for curve in found.curves)
    assert {curve.applier for curve in found.curves if not curve.validated} == {"change_stream"}
    serial = next(curve for curve in found.curves if curve.applier == "mysql").points[0]
    assert serial.seconds == pytest.approx(found.serial_seconds)


def test_the_critical_path_is_the_hot_row(found: Analysis) -> None:
    assert found.critical_path.steps == TRANSACTIONS + 1
    assert found.critical_path.share == pytest.approx(1.0)
    assert str(found.critical_path.keys[0].name) == f"d.item PRIMARY ({HOT})"
    step = found.critical_path.largest[0]
    assert step.gtid is not None
    assert step.file.endswith("made.000001")


def test_hidden_values_are_equal_in_one_result_and_differ_between_two(hot: list[str]) -> None:
    one, other = (analyze(hot, AnalyzeOptions(workers=(4,), hide_values=True)) for _ in range(2))
    names = {key.name for cause in one.explanation.causes for key in cause.keys} | {key.name for key in one.critical_path.keys}
    assert len(names) == 1
    assert str(HOT) not in next(iter(names)).values
    assert names.isdisjoint({key.name for key in other.critical_path.keys})


def test_a_trace_gives_the_same_times_as_its_log(hot: list[str], found: Analysis, tmp_path: Path) -> None:
    write_trace(hot, tmp_path / "trace.parquet")
    traced = analyze(tmp_path / "trace.parquet", SMALL)
    assert traced.curves == found.curves
    assert traced.explanation.seconds == found.explanation.seconds
    assert traced.critical_path.steps == found.critical_path.steps
    assert [cause.cause for cause in traced.explanation.causes] == [cause.cause for cause in found.explanation.causes]
    assert {scheme.name for scheme in traced.schemes} == {"stamped", "fine", "fine-merged"}
    with pytest.raises(UsageError, match="not both"):
        analyze([tmp_path / "trace.parquet", *hot], SMALL)


def test_what_is_no_trace_is_refused(tmp_path: Path) -> None:
    (tmp_path / "no.parquet").write_bytes(b"no trace")
    with pytest.raises(UsageError, match="is no trace"):
        analyze(tmp_path / "no.parquet")


def test_r2_sessions_on_different_primaries_conflict_over_a_row(tmp_path: Path) -> None:
    log = MadeLog(tmp_path / "log", ITEM)
    for n in range(100):
        log.write(("item", {"id": HOT, "n": n}, {"id": HOT, "n": n + 1}), need=log.number, session=n % 2 + 1)
    found = analyze(log.close(), AnalyzeOptions(workers=(4,), primaries=2, latency_ms=10)).group
    assert found is not None
    # Two sessions are on different primaries in half of all cases; the first transaction has no rival.
    assert found.conflicts == pytest.approx(99 / 2)
    assert (found.tables[0].table, str(found.keys[0].name)) == ("d.item", f"d.item PRIMARY ({HOT})")
    apart = analyze(session_order(tmp_path / "apart"), AnalyzeOptions(workers=(4,), primaries=2)).group
    assert apart is not None
    assert apart.conflicts == 0


@pytest.mark.parametrize("size", [(80, 24), (100, 40)])
def test_the_summary_fits_a_screen(found: Analysis, size: tuple[int, int]) -> None:
    width, height = size
    console = Console(width=width, height=height, force_terminal=True, color_system=None, legacy_windows=False)
    with console.capture() as captured:
        show(found, console)
    lines = captured.get().splitlines()
    assert len(lines) < height
    assert max(map(len, lines)) <= width
    assert any("hot row" in line and "d.item" in line for line in lines)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": ()}, "numbers of workers"),
        ({"workers": (0,)}, "numbers of workers"),
        ({"primaries": 1}, "2 to 9 primaries"),
        ({"latency_ms": -1.0}, "latency"),
        ({"history": 0}, "history"),
    ],
)
def test_impossible_options_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        AnalyzeOptions(**options)  # type: ignore[arg-type]


def test_the_command_prints_one_json_object_and_a_timeline(hot: list[str], tmp_path: Path) -> None:
    outcome = run_json("analyze", *hot, "--workers", "1,8", "--trace", tmp_path / "schedule.json")
    report = outcome.report
    assert outcome.code == 0
    assert report["transactions"] == TRANSACTIONS + 1
    assert report["explanation"]["causes"][0]["cause"] == "hot_row"
    assert (report["fallbacks"], report["group"]) == (0, None)
    events = json.loads((tmp_path / "schedule.json").read_text())["traceEvents"]
    assert sum(event["name"] == "apply" for event in events) == TRANSACTIONS + 1


def test_the_command_reads_a_folder_and_refuses_odd_numbers_of_workers(hot: list[str]) -> None:
    done = paraply("analyze", Path(hot[0]).parent)
    assert done.returncode == 0, done.stderr
    assert "why serial" in done.stdout
    assert "hot row" in done.stdout
    outcome = run_json("analyze", *hot, "--workers", "many")
    assert (outcome.code, outcome.error["class"]) == (2, "UsageError")


def test_a_log_without_transactions_has_no_times(tmp_path: Path) -> None:
    found = analyze(MadeLog(tmp_path / "log").close(), SMALL)
    assert (found.totals.transactions, found.totals.first_time, found.totals.over_time) == (0, None, None)
    assert (found.serial_seconds, found.explanation.causes, found.critical_path.steps) == (0, (), 0)
    show(found, Console(quiet=True))
