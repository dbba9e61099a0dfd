"""The help: options in groups, and no line wider than a terminal of 80 columns."""

from __future__ import annotations

import pytest
from command_line import paraply

from paraply.cli.app import COMMANDS, made
from paraply.cli.terminal import panels


@pytest.mark.parametrize("command", [[], ["apply"], ["replicate"], ["serve"], ["doctor"]])
def test_it_fits_into_80_columns(command: list[str]) -> None:
    text = paraply(*command, "--help", environment={"COLUMNS": "80", "TERMINAL_WIDTH": "80"}).stdout
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text


def test_every_command_is_in_a_group() -> None:
    grouped = [name for names in panels._COMMANDS.values() for name in names]
    assert set(COMMANDS) <= set(grouped)
    assert len(grouped) == len(set(grouped))
    text = paraply("--help").stdout
    assert all(title in text for title in panels._COMMANDS)


@pytest.mark.parametrize("name", ["apply", "replicate"])
def test_a_command_with_many_options_has_groups_of_a_readable_size(name: str) -> None:
    options = [parameter for parameter in made(name).params if parameter.param_type_name == "option"]
    sizes: dict[str, int] = {}
    for parameter in options:
        sizes[parameter.rich_help_panel or "Options"] = sizes.get(parameter.rich_help_panel or "Options", 0) + 1
    assert len(sizes) >= 4
    assert max(sizes.values()) <= 18
