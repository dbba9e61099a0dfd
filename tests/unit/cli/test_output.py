"""Width of a command's output, which is printed unchanged."""

from __future__ import annotations

import io

import pytest

from paraply.cli.terminal import output
from paraply.cli.terminal.output import PatientConsole


def test_in_a_file_there_is_room_for_every_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert PatientConsole(file=io.StringIO()).width == 160


def test_columns_of_the_environment_and_a_given_width_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    assert PatientConsole(file=io.StringIO()).width == 70
    monkeypatch.delenv("COLUMNS")
    assert PatientConsole(file=io.StringIO(), width=50, height=20).width == 50


@pytest.mark.parametrize("shown", [output.console, output.stderr])
def test_a_tagged_gtid_is_printed_as_it_is(shown: PatientConsole) -> None:
    gtid = "6746adb1-e9c2-11f1-9106-02fc00000001:b:5"
    with shown.capture() as printed:
        shown.print(f"transaction {gtid}")
    assert printed.get() == f"transaction {gtid}\n"
