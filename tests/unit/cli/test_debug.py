"""``--debug``: listed, and accepted before and after the name of a command."""

from __future__ import annotations

import pytest
from command_line import paraply

from paraply.cli.app import COMMANDS


@pytest.mark.parametrize("arguments", [["--debug", "apply", "/no/such/log"], ["apply", "/no/such/log", "--debug"]])
def test_an_error_has_its_traceback(arguments: list[str]) -> None:
    done = paraply(*arguments)
    assert done.returncode == 2
    assert "Traceback" in done.stderr


def test_without_it_there_is_none() -> None:
    assert "Traceback" not in paraply("apply", "/no/such/log").stderr


@pytest.mark.parametrize("command", [[], ["apply"], *([name] for name in COMMANDS[1:4])])
def test_the_help_lists_it(command: list[str]) -> None:
    assert "--debug" in paraply(*command, "--help").stdout
