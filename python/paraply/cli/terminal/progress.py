"""Progress: on a terminal a bar, elsewhere nothing, or lines for an apply."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from rich.console import Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from paraply.cli.terminal import output
from paraply.cli.terminal.events import ProgressEvents
from paraply.cli.terminal.output import stderr
from paraply.wording import counted

if TYPE_CHECKING:
    from paraply.observe.counters import Counters

__all__ = ["ApplyLine", "ProgressLine", "apply_line", "counter_words", "progress_line", "time_left"]


class ProgressLine(Protocol):
    """Progress display of a command."""

    def update(self, done: float, text: str) -> None:
        """Show ``done`` of the total given at the start, and a few words."""


class Silent:
    """Display that shows nothing."""

    def update(self, done: float, text: str) -> None:
        """Do nothing."""


class Bar:
    """Progress bar on standard error."""

    def __init__(self, progress: Progress, total: float) -> None:
        self._progress = progress
        self._task = progress.add_task("", total=total or None, note="")

    def update(self, done: float, text: str) -> None:
        """Move the bar."""
        self._progress.update(self._task, completed=done, note=text)


@contextmanager
def progress_line(title: str, total: float, *, quiet: bool = False) -> Iterator[ProgressLine]:
    """Show a progress bar during a ``with`` block.

    Args:
        title: Name of the activity, one word.
        total: The total, in any unit; usually bytes of the logs.
        quiet: Show nothing even on a terminal.
    """
    if quiet or not stderr.is_terminal:
        yield Silent()
        return
    columns = (
        TextColumn(title),
        BarColumn(bar_width=30),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=stderr, transient=True) as progress:
        yield Bar(progress, total)


class ApplyLine:
    """Progress of an apply in two lines: position and time left, and the states of the workers."""

    def __init__(self, live: Live, bar: Progress) -> None:
        self._live = live
        self._bar = bar
        self._task = bar.add_task("", total=None, note="", left="")
        self._words = Text("", style="dim")
        live.update(Group(bar, self._words))

    def update(self, counters: Counters) -> None:
        """Show the counters."""
        note = f"{counted(counters.transactions, 'transaction')}, {counters.rate:,.0f}/s"
        total = counters.bytes_total or None
        self._bar.update(self._task, completed=counters.bytes_done, total=total, note=note, left=time_left(counters.seconds_left))
        self._words.plain = counter_words(counters)

    def complete(self) -> None:
        """Show that everything is applied, up to the end or to the stop."""
        total = self._bar.tasks[0].total or 1
        self._bar.update(self._task, completed=total, total=total, left=time_left(0.0))
        self._live.update(self._bar)


@contextmanager
def apply_line(*, quiet: bool = False) -> Iterator[ApplyLine | ProgressEvents | None]:
    """Show the progress of an apply during a ``with`` block; yield None if nothing is shown.

    Args:
        quiet: Show nothing even on a terminal.
    """
    if quiet:
        yield None
        return
    if output.as_lines or not stderr.is_terminal:
        yield ProgressEvents()
        return
    columns = (
        TextColumn("apply"),
        BarColumn(bar_width=30),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    bar = Progress(*columns, console=stderr)
    with Live(console=stderr, refresh_per_second=4) as live:
        yield ApplyLine(live, bar)


def time_left(seconds: float | None) -> str:
    """Return the time left in words.

    >>> time_left(None), time_left(75.4), time_left(7300)
    ('', '1:15 left', '2:01:40 left')
    """
    if seconds is None:
        return ""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02} left" if hours else f"{minutes}:{rest:02} left"


def counter_words(counters: Counters) -> str:
    """Return the states of the workers in a line.

    >>> from paraply.observe.counters import Counters
    >>> counter_words(Counters(queue=12, running=3, waiting_turn=1, retries=2, merge=32))
    'queue 12, 3 running, 0 blocked by dependency, 1 waiting to commit, 0 waiting for input; merging up to 32, 2 retries'
    """
    words = (
        f"queue {counters.queue}, {counters.running} running, {counters.waiting_dependency} blocked by dependency,"
        f" {counters.waiting_turn} waiting to commit, {counters.waiting_input} waiting for input"
        f"{f', {counters.resting} resting' if counters.resting else ''}; merging up to {counters.merge},"
        f" {counted(counters.retries, 'retry', 'retries')}"
    )
    words += ", one block at a time after a storm of retries" if counters.serial else ""
    words += f"; blocked by connections {', '.join(map(str, counters.foreign_blockers))}" if counters.foreign_blockers else ""
    return words
