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

from paraply.cli.terminal.output import debug_before_command, error_object, one_line, print_json, show_failure, stderr
from paraply.errors import Stopped

__all__ = ["app", "main"]

COMMANDS = (
    *("apply", "replicate", "serve", "status", "verify", "analyze", "stamp", "trace", "rows", "undo", "archive"),
    *("group", "demo", "bench"),
)
"""Command names in the order of the help; each command is the function of its name in the module of its name."""


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
    alone.command(name)(getattr(import_module(f"paraply.cli.{name}"), name))
    return typer.main.get_command(alone)


_INTERRUPTED = 130
"""Result of Typer after Ctrl-C outside of a command's work."""

app = typer.Typer(
    name="paraply",
    cls=Commands,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Replay replicated MySQL and MariaDB transactions in parallel, in the source's order.",
    epilog="Exit codes: 0 done, 1 the apply failed, 2 usage, 3 the log is damaged or not understood, 4 stopped and resumable.",
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
        return tell_stop(arguments)
    except typer.TyperException as mistake:
        return tell_usage(mistake, arguments)
    if result == _INTERRUPTED:
        return tell_stop(arguments)
    return result if isinstance(result, int) else 0


def tell_stop(arguments: list[str]) -> int:
    """Report Ctrl-C before a command began its work; also as JSON, if that was asked for."""
    stop = Stopped("stopped on request before anything was done; run the same command again")
    show_failure(stop, debug=False)
    if "--json" in arguments:
        name = next((word for word in arguments if word in COMMANDS), None)
        print_json({"command": name, "status": "stopped", "exit_code": stop.exit_code, "error": error_object(stop), "seconds": 0.0})
    return stop.exit_code


def tell_usage(mistake: typer.TyperException, arguments: list[str]) -> int:
    """Report an error in the command line; also as JSON, if that was asked for."""
    message = one_line(mistake.format_message())
    context = getattr(mistake, "ctx", None)
    if not message:  # without any argument the help was printed
        return 2
    name = context.info_name if context is not None and context.parent is not None else None
    advice = f"; see paraply {name} --help" if name else "; see paraply --help"
    stderr.print(f"[red]error:[/red] {escape(message.rstrip('.'))}{advice}", soft_wrap=True)
    if "--json" in arguments:
        error = {"class": "UsageError", "message": message, "file": None, "position": None, "gtid": None}
        print_json({"command": name, "status": "failed", "exit_code": 2, "error": error, "seconds": 0.0})
    return 2
