"""Summary of an analysis on a terminal: it fits a screen of 80 columns and 24 lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from paraply.analysis.analyze.words import APPLIERS, curve_name, duration, short, times
from paraply.cli.terminal.output import columns_of_numbers
from paraply.wording import counted, fallback_words

if TYPE_CHECKING:
    from rich.console import Console

    from paraply.analysis.analyze import Analysis, ConflictForecast, LostTime

__all__ = ["show"]

_CAUSES = 4
_MORE_CAUSES = 9
_TALL = 32
_SMALL = 0.0005
_BAR = 10
_LAST_WORD = 15


def show(result: Analysis, console: Console) -> None:
    """Print the summary."""
    tall = console.is_terminal is False or console.size.height >= _TALL
    totals = result.totals
    rate = f", {totals.transactions_per_second:,.0f} transactions/s" if totals.transactions_per_second else ""
    period = f" in {duration(totals.span_seconds)}" if totals.span_seconds else ""
    sessions = f", {totals.sessions:,} sessions" if totals.sessions > 1 else ""
    counts = f"{counted(totals.transactions, 'transaction')}, {counted(totals.rows, 'row')}"
    line(console, f"{counts}, {totals.bytes / 1e6:,.1f} MB{period}{rate}{sessions}")
    parallel = ", ".join(f"{scheme.name} {times(scheme.parallelism)}" for scheme in result.schemes)
    line(console, f"parallelism: {parallel}")
    show_curves(result, console, tall)
    show_causes(result, console, _MORE_CAUSES if tall else _CAUSES)
    path = result.critical_path
    first = f", most for {path.keys[0].name}" if path.keys else ""
    line(
        console,
        f"critical path: {counted(path.steps, 'transaction')}, {duration(path.seconds)} ({path.share:.0%} of one worker's time){first}",
        lines=2,
    )
    if result.group is not None:
        show_forecast(result.group, console, tall)
    if result.fallback_reasons:
        largest = result.fallback_reasons[0]
        more = f", and {len(result.fallback_reasons) - 1} more" if len(result.fallback_reasons) > 1 else ""
        line(console, f"fallbacks: {fallback_words(**largest)}{more}")
    costs = result.costs
    origin = f"measured on {costs.measured_on}" if costs.measured_on else "assumed, a CPU for each worker"
    line(
        console,
        f"[dim]* not validated; transaction {costs.transaction_us:.0f} us, row {costs.row_us:.0f} us, byte {costs.byte_ns:.0f} ns,"
        f" commit {costs.commit_us:.0f} us, DDL {costs.ddl_us / 1000:.0f} ms, {escape(origin)}[/dim]",
        marked=True,
    )


def line(console: Console, text: str, *, marked: bool = False, lines: int = 1) -> None:
    """Print a text, cut at the width of the console after a number of lines."""
    if lines == 1:
        console.print(text if marked else escape(text), no_wrap=True, overflow="ellipsis", crop=True)
        return
    most = lines * (console.width - _LAST_WORD)
    console.print(escape(text if len(text) <= most else f"{text[:most]}..."))


def show_curves(result: Analysis, console: Console, tall: bool) -> None:
    """Print the simulated times, in order of commits; without order only where there is space."""
    shown = [curve for curve in result.curves if curve.ordered or tall]
    workers = [point.workers for point in shown[0].points] if shown else []
    table = Table("seconds with workers", *columns_of_numbers(*map(str, workers)), box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for curve in shown:
        table.add_row(curve_name(curve), *(short(point.seconds) for point in curve.points))
    console.print(table)


def show_causes(result: Analysis, console: Console, most: int) -> None:
    """Print why the server's own applier is serial."""
    found = result.explanation
    line(
        console,
        f"[bold]why serial[/bold]: {APPLIERS[found.applier]}, {found.workers} workers, {short(found.seconds)} s;"
        f" {short(found.lost_seconds)} s lost against {found.ideal_workers} always busy",
        marked=True,
    )
    causes = [cause for cause in found.causes if cause.share > _SMALL][:most]
    for cause in causes:
        line(console, f"{cause.share:5.0%} {bar(cause.share)} {cause_words(cause)}")
    if causes:
        line(console, f"advice: {causes[0].advice}", lines=2)


def cause_words(cause: LostTime) -> str:
    """Return a cause with its largest key and its gain."""
    gain = f", gain {short(cause.gain_seconds)} s" if cause.gain_seconds is not None else ""
    key = f": {cause.keys[0].name}" if cause.keys else ""
    return f"{cause.title}{gain}{key}"


def show_forecast(found: ConflictForecast, console: Console, tall: bool) -> None:
    """Print the prediction of conflicts."""
    bound = ", at most" if found.upper_bound else ""
    line(
        console,
        f"group of {found.primaries} primaries, {found.latency_ms:g} ms:{bound} {found.conflicts:,.0f} conflicts"
        f" ({found.share:.2%}){f', most on {found.keys[0].name}' if found.keys else ''}",
        lines=2,
    )
    for key in found.keys[1:4] if tall else ():
        line(console, f"  {key.conflicts:,.0f} on {key.name}")


def bar(share: float) -> str:
    """Return a bar of ten places.

    >>> bar(0.34)
    '###.......'
    """
    full = round(share * _BAR)
    return "#" * full + "." * (_BAR - full)
