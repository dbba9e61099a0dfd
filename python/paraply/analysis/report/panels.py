"""Panels of a report: what each shows, in words, charts and tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from paraply.analysis.analyze.words import duration, scheduler_name, short
from paraply.analysis.report import charts, tables
from paraply.analysis.report.charts import bar
from paraply.analysis.report.series import edges, in_milliseconds, rates
from paraply.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paraply.analysis.analyze.result import Analysis, ConflictForecast, CriticalPath, Explanation, OverTime, Totals
    from paraply.analysis.report.charts import Chart
    from paraply.analysis.report.lanes import Sweep
    from paraply.analysis.report.series import Along
    from paraply.analysis.report.tables import Table

__all__ = ["Figure", "Panel", "Toggle", "panels_of"]

_MOST_BARS = 12
_MOST_STEPS = 8
_UUID_BEGIN = 8


@dataclass(frozen=True, slots=True)
class Toggle:
    """Box in a legend that shows or hides a series.

    Attributes:
        series: The series.
        name: Its name on the page.
        mark: Class of its mark in the style sheet.
        checked: True if it is shown at first.
    """

    series: str
    name: str
    mark: str
    checked: bool = True


@dataclass(frozen=True, slots=True)
class Figure:
    """Chart with its legend.

    Attributes:
        id: Name of the chart in the page.
        chart: Its specification.
        label: What it shows, in a few words.
        toggles: Boxes of its legend.
        legend: Entries of a legend without boxes: mark and name.
    """

    id: str
    chart: Chart
    label: str
    toggles: tuple[Toggle, ...] = ()
    legend: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Panel:
    """Section of a report.

    Attributes:
        id: Anchor.
        title: Heading.
        lead: How to read it.
        figures: Charts; none if there is nothing to draw.
        tables: Tables behind the charts.
        schedule: True for the panel whose chart can be zoomed.
    """

    id: str
    title: str
    lead: str
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = field(default=())
    schedule: bool = False


def panels_of(result: Analysis, along: Along, sweeps: Sequence[Sweep]) -> list[Panel]:
    """Return the panels of a report in their order."""
    found = [
        speed_panel(result),
        lost_panel(result.explanation),
        keys_panel(result.explanation),
        parallelism_panel(along),
        path_panel(result.critical_path),
        schedule_panel(sweeps),
        schemes_panel(result),
    ]
    if result.totals.over_time is not None:
        found.append(load_panel(result.totals, result.totals.over_time))
    if result.group is not None:
        found.append(conflicts_panel(result.group))
    if result.fallback_reasons:
        lead = "Keys of these tables are not known exactly, so that more transactions wait than need to."
        found.append(Panel("fallbacks", "Fallbacks", lead, (), (tables.fallbacks_table(result),)))
    return found


def speed_panel(result: Analysis) -> Panel:
    """Return the curves of all appliers."""
    names = dict.fromkeys(scheduler_name(curve.applier, curve.numbers) for curve in result.curves)
    toggles = [Toggle(name, name, "c{} {}".format(*charts.MARKS[name])) for name in names]
    toggles.append(Toggle("no order", "also without commit order (dashed)", "dashed", checked=False))
    lead = (
        "Simulated speed-up against one worker. A curve that stays on the dotted line uses all its workers; where it becomes flat,"
        " more workers gain nothing. paraply puts several transactions into a commit, so that its curve can begin above 1."
        " * The Change Stream Applier was not validated against a server."
    )
    figure = Figure("speed-up", charts.speed_up(result.curves), "Speed-up by number of workers", tuple(toggles))
    return Panel("speed", "Speed-up by applier", lead, (figure,), (tables.curves_table(result),))


def lost_panel(found: Explanation) -> Panel:
    """Return the lost time by cause."""
    values = [
        bar(cause.title, f"{short(cause.seconds)} s, {percent(cause.share)}", cause.seconds, second=cause.gain_seconds)
        for cause in found.causes
        if cause.seconds > 0
    ]
    lead = (
        f"{scheduler_name(found.applier, found.numbers)} with {found.workers} workers needs {short(found.seconds)} s. Of"
        f" these {short(found.lost_seconds)} s are lost against {found.ideal_workers} workers that are always busy. Each moment belongs to"
        " what keeps the next transaction from starting. The thin bar is the time saved if the cause were not there. Gains do not add up."
    )
    description = "Lost seconds by cause, and the gain without each cause."
    figures = one_figure("lost-time", charts.bars(values[:_MOST_BARS], description, "seconds", second=True), "Lost time by cause", values)
    legend = (("c1 box", "lost time"), ("c3 box", "gain without the cause"))
    return Panel("lost", "Lost time by cause", lead, with_legend(figures, legend), (tables.causes_table(found),))


def keys_panel(found: Explanation) -> Panel:
    """Return the keys with most lost time."""
    keys = tables.keys_of(found)
    values = [bar(str(key.name), f"{short(key.seconds)} s", key.seconds) for _, key in keys[:_MOST_BARS]]
    lead = (
        "Rows, parents and tables over which most time is lost. The table names the cause of each."
        if keys
        else "No time is lost over a key: nothing waits for a row, a parent row or a table without a key."
    )
    figures = one_figure("hot-keys", charts.bars(values, "Lost seconds by key.", "seconds lost"), "Lost time by key", values)
    return Panel("keys", "Hot keys", lead, figures, (tables.keys_table(found),) if keys else ())


def parallelism_panel(along: Along) -> Panel:
    """Return the parallelism along the log."""
    names = [name for name, _ in along.series]
    toggles = tuple(Toggle(name, name, f"c{place + 1} line{place + 1}") for place, name in enumerate(names))
    lead = (
        "Mean number of workers that apply or commit while each part of the log is replayed. A part where all lines are low is serial"
        " by its keys; a part where only the line of the log's numbers is low would gain from better numbers."
    )
    if not along.places:
        return Panel("parallelism", "Parallelism over time", "The log has no transactions.")
    figure = Figure("parallelism-over-time", charts.parallelism(along), "Busy workers along the log", toggles)
    return Panel("parallelism", "Parallelism over time", lead, (figure,), (tables.along_table(along),))


def path_panel(path: CriticalPath) -> Panel:
    """Return the critical path."""
    lead = (
        f"The longest chain of transactions that wait for one another: {counted(path.steps, 'transaction')}, {duration(path.seconds)},"
        f" {path.share:.0%} of one worker's time. No number of workers is faster without putting transactions together."
    )
    keys = [bar(str(key.name), f"{key.steps:,} steps", key.steps) for key in path.keys[:_MOST_BARS]]
    steps = [
        bar(short_gtid(step.gtid) or tables.file_name(step.file), f"{short(step.seconds)} s, {counted(step.rows, 'row')}", step.seconds)
        for step in path.largest[:_MOST_STEPS]
    ]
    by_key = charts.bars(keys, "Steps of the critical path by the key for which they wait.", "steps that wait for the key")
    by_step = charts.bars(steps, "Transactions of the critical path that take longest.", "seconds of the transaction")
    figures = (
        *one_figure("path-keys", by_key, "Keys that hold the path together", keys),
        *one_figure("path-steps", by_step, "Its largest transactions", steps),
    )
    found = [table for table in (tables.path_keys_table(path), tables.path_table(path)) if table.rows]
    return Panel("path", "Critical path", lead, figures, tuple(found))


def schedule_panel(sweeps: Sequence[Sweep]) -> Panel:
    """Return the schedules."""
    lead = (
        "What each worker does over the simulated time. Drag to move, pinch or hold Ctrl and turn the wheel to zoom; with the keyboard:"
        " arrows move, + and - zoom, 0 shows everything. Far out each row shows shares of time, close up single transactions."
    )
    legend = (("c1 box", "apply"), ("c2 box", "waiting to commit"), ("c3 box", "commit"))
    figure = Figure("schedule-chart", charts.schedule(len(sweeps[0].cells)), "Schedule of the workers", legend=legend)
    return Panel("schedule", "Schedule", lead, (figure,), tuple(tables.lanes_table(found) for found in sweeps), schedule=True)


def schemes_panel(result: Analysis) -> Panel:
    """Return the parallelism by scheme."""
    lead = (
        "Time of one worker, divided by the time of the longest chain under each scheme of numbers. stamped: the log's own; writeset: those"
        " of a source with write sets; group: those of a group's certifier; fine: what the keys need; fine-merged: several transactions in"
        " a commit."
    )
    figure = Figure("schemes-chart", charts.schemes(result.schemes), "Parallelism by scheme")
    return Panel("schemes", "Parallelism by scheme", lead, (figure,), (tables.schemes_table(result),))


def load_panel(totals: Totals, over_time: OverTime) -> Panel:
    """Return the load of the source."""
    begins = [in_milliseconds(edge) for edge in edges(totals, over_time)]
    figure = Figure("load-chart", charts.load(begins, rates(totals, over_time)), "Load of the source")
    lead = "What the source committed: the rate that a replica must keep up with."
    return Panel("load", "Load of the source", lead, (figure,), (tables.load_table(over_time, begins[:-1]),))


def conflicts_panel(found: ConflictForecast) -> Panel:
    """Return the predicted conflicts of a group."""
    bound = "at most " if found.upper_bound else ""
    lead = (
        f"With {found.primaries} primaries and messages that take {found.latency_ms:g} ms, certification would reject {bound}"
        f"{found.conflicts:,.1f} of {counted(found.transactions, 'transaction')} ({found.share:.2%})."
    )
    values = [bar(str(key.name), f"{key.conflicts:,.1f}", key.conflicts) for key in found.keys[:_MOST_BARS]]
    figures = one_figure("conflict-keys", charts.bars(values, "Predicted conflicts by key.", "conflicts"), "Conflicts by key", values)
    return Panel("conflicts", "Conflicts of a group", lead, figures, (tables.conflicts_table(found),) if values else ())


def one_figure(name: str, chart: Chart, label: str, values: Sequence[Chart]) -> tuple[Figure, ...]:
    """Return a figure, or none if it has no values."""
    return (Figure(name, chart, label),) if values else ()


def with_legend(figures: tuple[Figure, ...], legend: tuple[tuple[str, str], ...]) -> tuple[Figure, ...]:
    """Return figures with a legend."""
    return tuple(Figure(figure.id, figure.chart, figure.label, figure.toggles, legend) for figure in figures)


def short_gtid(gtid: str | None) -> str:
    """Return a GTID with the begin of its UUID only; the table has the whole one.

    >>> short_gtid("1d518e33-e4d6-11f1-bfda-02fc00000001:2299"), short_gtid("0-1-7"), short_gtid(None)
    ('1d518e33...:2299', '0-1-7', '')
    """
    source, _, number = (gtid or "").partition(":")
    return f"{source[:_UUID_BEGIN]}...:{number}" if number else source


def percent(share: float) -> str:
    """Return a share.

    >>> percent(0.25), percent(0.005), percent(0.0)
    ('25%', 'under 1%', '0%')
    """
    return "under 1%" if 0 < share < 0.01 else f"{share:.0%}"
