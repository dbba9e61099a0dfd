"""``paraply forget`` asks on a terminal, and changes nothing without a yes."""

from __future__ import annotations

import io

import pytest
import typer
from rich.console import Console

from paraply.cli.service import channels
from paraply.cli.service.channels import ask
from paraply.cli.terminal import output
from paraply.errors import Stopped, UsageError
from paraply.targets.channel_status import ChannelStatus

CHANNEL = ChannelStatus("old", 2, complete=True, executed="0-1-7")


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    shown = io.StringIO()
    monkeypatch.setattr(output, "stderr", Console(file=shown, force_terminal=True, color_system=None))
    monkeypatch.setattr(channels.sys.stdin, "isatty", lambda: True, raising=False)
    return shown


def test_a_yes_lets_it_go_on(terminal: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typer, "confirm", lambda *_arguments, **_options: True)
    ask(CHANNEL, as_json=False)
    assert "channel old: complete after 0-1-7" in terminal.getvalue()


@pytest.mark.usefixtures("terminal")
def test_a_no_and_ctrl_c_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typer, "confirm", lambda *_arguments, **_options: False)
    with pytest.raises(Stopped, match="nothing was changed"):
        ask(CHANNEL, as_json=False)

    def interrupted(*_arguments: object, **_options: object) -> bool:
        raise typer.Abort

    monkeypatch.setattr(typer, "confirm", interrupted)
    with pytest.raises(Stopped, match="nothing was changed"):
        ask(CHANNEL, as_json=False)


@pytest.mark.usefixtures("terminal")
def test_a_program_has_to_say_yes() -> None:
    with pytest.raises(UsageError, match="--yes"):
        ask(CHANNEL, as_json=True)
