"""The overview of commands, drawn without the library of the command line: the same text as that library's."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from paraply.cli.app import COMMANDS, app, made
from paraply.cli.terminal.overview import overview, print_overview
from paraply.cli.terminal.summaries import SUMMARIES


@pytest.mark.parametrize("width", [60, 79, 80, 100, 133, 200])
def test_it_is_the_help_of_the_library(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        app(["--help"], prog_name="paraply", standalone_mode=False)
    plain = re.sub(r"\x1b\[[\d;]*m", "", printed.getvalue())  # the library has colors in a run of GitHub
    lines = [line.rstrip() for line in plain.splitlines()]
    assert [line.rstrip() for line in f"{overview(width, 'paraply')}\n".splitlines()] == lines


def test_every_command_has_its_summary() -> None:
    assert tuple(SUMMARIES) == COMMANDS
    for name, summary in SUMMARIES.items():
        assert made(name).help.strip().split("\n\n")[0].replace("\n", " ") == summary


def test_colors_change_no_character() -> None:
    colored = overview(80, "paraply", colored=True)
    for style in ("1;36", "1;33", "2", "0"):
        colored = colored.replace(f"\x1b[{style}m", "")
    assert colored == overview(80, "paraply")


@pytest.mark.parametrize(("name", "value"), [("COLUMNS", "40"), ("FORCE_COLOR", "1")])
def test_unusual_terminals_are_left_to_the_library(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    assert not print_overview()


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_a_closed_pipe_ends_quietly_and_a_full_device_is_an_error(option: str) -> None:
    command = [sys.executable, "-m", "paraply", option]
    reader, writer = os.pipe()
    os.close(reader)
    closed = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (closed.returncode, closed.stderr) == (0, "")
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        failed = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (failed.returncode, failed.stderr) == (1, "error: No space left on device (standard output)\n")
