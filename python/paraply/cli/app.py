"""The commands of ``paraply``, and the report of usage errors."""

from __future__ import annotations

import gc
import sys
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from rich.markup import escape
from typer.core import TyperGroup

from paraply.cli.process.interrupt import BEFORE_THE_START, stop_object
from paraply.cli.service.config import CONFIG_KEY, CONFIGURED
from paraply.cli.service.options import with_service_options
from paraply.cli.terminal.output import debug_before_command, one_line, print_json, show_failure, stderr
from paraply.cli.terminal.panels import group_commands, group_options
from paraply.cli.terminal.summaries import EPILOG, PURPOSE
from paraply.errors import Stopped

__all__ = ["app", "main"]

COMMANDS = (
    "apply", "replicate", "serve", "archive", "status", "pause", "resume", "forget", "doctor", "database",
    "verify", "analyze", "stamp", "trace", "rows", "lake", "undo", "group", "demo", "bench",
)  # fmt: skip
"""Command names in the order of the help; each command is the function of its name."""

MODULES = {"pause": "service.channels", "resume": "service.channels", "forget": "service.channels", "database": "service.database"}
"""Modules of commands that are not in the module of their own name."""

WITH_EVENTS = ("apply", "replicate", "serve")
"""Commands that get ``--log-format``."""


class Commands(TyperGroup):
    """Group of the commands. A module is imported, and its options are made, when its command is chosen or listed."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Return the names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command by name; for an unknown name load all, so that Typer can suggest similar ones."""
        for name in (cmd_name,) if cmd_name in COMMANDS else COMMANDS:
            self.add_command(made(name), name)
        return super().get_command(ctx, cmd_name)


@cache
def made(name: str) -> Any:
    """Return Typer's form of a command."""
    alone = typer.Typer(add_completion=False, rich_markup_mode="rich")
    function = getattr(import_module(f"paraply.cli.{MODULES.get(name, name)}"), name)
    alone.command(name)(with_service_options(function, events=name in WITH_EVENTS) if name in CONFIGURED else function)
    return group_commands(group_options(typer.main.get_command(alone)), name)


_INTERRUPTED = 130
"""Result of Typer after Ctrl-C outside of a command's work."""

app = typer.Typer(
    name="paraply",
    cls=Commands,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help=PURPOSE,
    epilog=EPILOG,
)


def show_version(wanted: bool) -> None:
    """Print the version and exit."""
    if wanted:
        from paraply._version import __version__

        print(f"paraply {__version__}")
        raise typer.Exit


def note_debug(wanted: bool) -> None:
    """Note ``--debug`` before the command."""
    debug_before_command.set(wanted)


@app.callback()
def root(
    _version: Annotated[bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version and exit.")] = False,
    _debug: Annotated[bool, typer.Option("--debug", callback=note_debug, help="Show the traceback of an error.")] = False,
) -> None:
    """Replay replicated MySQL and MariaDB transactions in parallel, in the source's order."""


def main() -> None:
    """Run the command line, and end the process with the exit code."""
    code = invoke(sys.argv[1:])
    gc.freeze()  # the process ends: cycles need not be collected
    sys.exit(code)


def invoke(arguments: list[str]) -> int:
    """Run one command line, and return its exit code.

    >>> invoke(["no-such-command"])
    2
    """
    try:
        result = app(arguments, standalone_mode=False)
    except typer.Abort:
        return report_stop(arguments)
    except typer.TyperException as mistake:
        return report_usage(mistake, arguments)
    if result == _INTERRUPTED:
        return report_stop(arguments)
    return result if isinstance(result, int) else 0


def report_stop(arguments: list[str]) -> int:
    """Report Ctrl-C before a command began its work; also as JSON, if that was asked for."""
    stop = Stopped(BEFORE_THE_START)
    show_failure(stop, debug=False)
    if "--json" in arguments:
        print_json(stop_object(arguments))
    return stop.exit_code


def from_config(mistake: typer.TyperException, context: Any) -> bool:
    """Return True if the wrong value is one of the file of ``--config``."""
    parameter = getattr(mistake, "param", None)
    if parameter is None or CONFIG_KEY not in context.meta:
        return False
    source = context.get_parameter_source(parameter.name)
    return source is not None and bool(source.name == "DEFAULT_MAP")


def report_usage(mistake: typer.TyperException, arguments: list[str]) -> int:
    """Report an error in the command line; also as JSON, if that was asked for."""
    message = one_line(mistake.format_message())
    context = getattr(mistake, "ctx", None)
    if not message:  # without any argument the help was printed
        return 2
    name = context.info_name if context is not None and context.parent is not None else None
    if context is not None and from_config(mistake, context):
        message = f"{message.rstrip('.')} (in {context.meta[CONFIG_KEY]})"
    advice = f"; see paraply {name} --help" if name else "; see paraply --help"
    stderr.print(f"[red]error:[/red] {escape(message.rstrip('.'))}{advice}", soft_wrap=True)
    if "--json" in arguments:
        error = {"class": "UsageError", "message": message, "file": None, "position": None, "gtid": None}
        print_json({"command": name, "status": "failed", "exit_code": 2, "error": error, "seconds": 0.0})
    return 2
