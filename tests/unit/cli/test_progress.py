"""Output of an apply on a terminal."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from paraply.cli.terminal import progress
from paraply.cli.terminal.events import ProgressEvents
from paraply.cli.terminal.progress import apply_line
from paraply.observe.counters import Counters


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    shown = io.StringIO()
    monkeypatch.setattr(progress, "stderr", Console(file=shown, force_terminal=True, width=160, color_system=None))
    return shown


def lines(terminal: io.StringIO) -> list[str]:
    return [line for line in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue()).replace("\r", "\n").splitlines() if line.strip()]


def test_the_bar_is_full_at_the_stop(terminal: io.StringIO) -> None:
    with apply_line() as line:
        assert line is not None
        line.update(Counters(bytes_done=100, bytes_total=2000, transactions=7, rate=3.0, seconds_left=61.0, queue=5))
        line._live.refresh()
        assert any("5%" in shown and "7 transactions, 3/s" in shown and "1:01 left" in shown for shown in lines(terminal))
        assert any(shown.startswith("queue 5") for shown in lines(terminal))
        line.update(Counters(bytes_done=1190, bytes_total=1200, transactions=80))
        line.complete()
    assert "100%" in lines(terminal)[-1]
    assert "80 transactions" in lines(terminal)[-1]


def test_nothing_is_shown_where_nobody_looks(terminal: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    with apply_line(quiet=True) as line:
        assert line is None
    monkeypatch.setattr(progress, "stderr", Console(file=terminal, force_terminal=False))
    with apply_line() as line:
        assert isinstance(line, ProgressEvents), "lines, the first one after ten seconds"
    assert terminal.getvalue() == ""
