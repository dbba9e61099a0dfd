"""Plain values of options are those that Typer would give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import typer
from command_line import paraply
from typer.core import TyperArgument, TyperOption

from paraply.cli.app import COMMANDS, made
from paraply.cli.plain_values import NotPlain, PlainArgument, PlainOption, plain_value

TEXTS = (
    "", "x", "auto", "ö", "\udcff", "7", "007", "-1", "+1", "1_0", " 7", "7.0", "1e3", "٣", "999999", "9" * 30, "no", ".", "/", __file__,
)  # fmt: skip
PARAMETERS = [(name, place) for name in COMMANDS for place in range(len(made(name).params))]


def by_typer(parameter: Any, context: Any, value: Any) -> Any:
    kind = TyperArgument if isinstance(parameter, TyperArgument) else TyperOption
    try:
        return kind.process_value(parameter, context, value)
    except typer.BadParameter as refused:
        return refused


@pytest.mark.parametrize(("command", "place"), PARAMETERS, ids=lambda one: str(one))
def test_a_plain_value_is_what_typer_gives(command: str, place: int) -> None:
    built = made(command)
    parameter, context = built.params[place], typer.Context(built)
    several = parameter.multiple or parameter.nargs == -1
    values: list[Any] = [None, parameter.default, True, 7, 3.5, Path("no"), Path(__file__).parent, *TEXTS]
    if several:
        values = [None, (), *([value] for value in TEXTS), TEXTS, tuple(TEXTS[1:3])]
    for value in values:
        try:
            plain = plain_value(parameter, value)
        except NotPlain:
            continue
        expected = by_typer(parameter, context, value)
        assert (type(plain), plain) == (type(expected), expected), value


def test_the_common_values_are_plain() -> None:
    options = {parameter.name: parameter for parameter in made("apply").params}
    assert plain_value(options["log"], ("binlog.000001", __file__)) == [Path("binlog.000001"), Path(__file__)]
    assert plain_value(options["to"], "mysql://root@127.0.0.1") == "mysql://root@127.0.0.1"
    assert plain_value(options["workers"], "8") == 8
    assert plain_value(options["database"], ["shop"]) == ["shop"]
    for name, value in (("workers", "257"), ("workers", "eight"), ("schema", "no/such/dump"), ("trace", "/"), ("log", ())):
        with pytest.raises(NotPlain):
            plain_value(options[name], value)


def test_every_parameter_takes_plain_values() -> None:
    for name in COMMANDS:
        command = made(name)
        kinds = {type(parameter) for parameter in command.get_params(typer.Context(command))}
        assert kinds <= {PlainOption, PlainArgument}


def test_a_wrong_value_is_still_told_by_typer() -> None:
    done = paraply("apply", "no-such-log", "--workers", "300")
    assert done.returncode == 2
    assert "Invalid value for '--workers'" in done.stderr
    assert "256" in done.stderr
