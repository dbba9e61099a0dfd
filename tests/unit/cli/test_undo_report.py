"""Lines of ``paraply undo`` for people."""

from __future__ import annotations

import pytest

from paraply.cli.undo import show_refused
from paraply.undo.options import Dependent, UndoReport


def lines(report: UndoReport, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the lines of a refused undo."""
    show_refused(report)
    return capsys.readouterr().out.splitlines()


def test_a_refused_undo_says_what_the_listed_transactions_are(capsys: pytest.CaptureFixture[str]) -> None:
    report = UndoReport()
    assert lines(report, capsys) == []
    report.add_dependent(Dependent("0-1-8", None, "binlog.000001", 491, ("shop.item",), ("shop.item id=7",)))
    assert lines(report, capsys) == ["1 later transaction depends on what was to be undone:", "  0-1-8: shop.item id=7"]
    for number in range(9, 40):
        report.add_dependent(Dependent(f"0-1-{number}", None, "binlog.000001", 491, ("shop.item",), ("shop.item id=7",)))
    shown = lines(report, capsys)
    assert shown[0] == "32 later transactions depend on what was to be undone:"
    assert shown[-1].endswith("more; --json lists the first thousand")
