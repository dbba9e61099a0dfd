"""Progress on a terminal; nothing at all where output is not one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from paraply.cli.output import stderr

__all__ = ["ProgressLine", "progress_line"]


class ProgressLine(Protocol):
    """Shows how far a command is."""

    def update(self, done: float, text: str) -> None:
        """Shows ``done`` of the total given at the start, and a few words."""


class Silent:
    """Shows nothing."""

    def update(self, done: float, text: str) -> None:
        """Shows nothing."""


class Bar:
    """A bar on standard error."""

    def __init__(self, progress: Progress, total: float) -> None:
        self._progress = progress
        self._task = progress.add_task("", total=total or None, note="")

    def update(self, done: float, text: str) -> None:
        """Moves the bar."""
        self._progress.update(self._task, completed=done, note=text)


@contextmanager
def progress_line(title: str, total: float, *, quiet: bool = False) -> Iterator[ProgressLine]:
    """A progress bar for the duration of a ``with`` block.

    Args:
        title: What is going on, in a word.
        total: What counts as all, in any unit; bytes of the logs, usually.
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
