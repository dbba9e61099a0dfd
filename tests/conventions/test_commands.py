"""Commands: every one has examples, and the reference names every option."""

from __future__ import annotations

import re
import subprocess
from typing import Any

import pytest
import typer
from conventions.repository import ROOT

from paraply.cli.app import app

REFERENCE = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
# Typer's newer versions bring a click of their own, so its classes are not named here.
GROUP: Any = typer.main.get_command(app)
CONTEXT = GROUP.context_class(GROUP)
COMMANDS: dict[str, Any] = {name: GROUP.get_command(CONTEXT, name) for name in GROUP.list_commands(CONTEXT)}


def section(command: str) -> str:
    """The part of the reference on a command."""
    found = re.search(rf"^## paraply {command}$(.*?)(?=^## |\Z)", REFERENCE, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def options(command: str) -> list[str]:
    """The long names of a command's options, but for hidden ones and --help."""
    shown = [
        parameter
        for parameter in COMMANDS[command].params
        if parameter.param_type_name == "option" and not getattr(parameter, "hidden", False)
    ]
    return [
        name for parameter in shown for name in (*parameter.opts, *parameter.secondary_opts) if name.startswith("--") and name != "--help"
    ]


def test_there_are_commands() -> None:
    assert {"apply", "verify", "demo", "bench"} <= set(COMMANDS)


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_has_examples_in_its_help(command: str) -> None:
    help_text = COMMANDS[command].help or ""
    assert "Examples" in help_text
    assert f"paraply {command}" in help_text.split("Examples", 1)[1]


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_option_has_a_help_text(command: str) -> None:
    silent = [parameter.name for parameter in COMMANDS[command].params if parameter.name != "help" and not getattr(parameter, "help", None)]
    assert silent == []


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_can_print_json(command: str) -> None:
    assert "--json" in options(command)


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_the_reference_names_every_option_and_no_other(command: str) -> None:
    rows = [line.split(" | ", 1)[0] for line in section(command).splitlines() if line.startswith("| `-")]
    documented = {name for row in rows for name in re.findall(r"--[a-z][a-z-]*", row)}
    assert documented == set(options(command))


def test_make_prints_its_targets() -> None:
    targets = re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    printed = subprocess.run(["make", "--no-print-directory"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert {"demo", "test", "lint", "bench", "docs"} <= set(targets)
    assert re.findall(r"^  make ([a-z-]+) ", printed, re.MULTILINE) == targets
