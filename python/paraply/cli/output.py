"""How a command ends: one JSON object on stdout with ``--json``, a few lines for people otherwise, and the exit code."""

from __future__ import annotations

import json
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape

from paraply.errors import ParaplyError, Stopped

__all__ = ["Fallback", "console", "error_object", "fallback_reasons", "run", "stderr"]

Fallback = tuple[str, str, int]

console = Console(highlight=False)
stderr = Console(stderr=True, highlight=False)

INTERNAL_ERROR = 1


def error_object(error: BaseException) -> dict[str, Any]:
    """An error as the contract's JSON object.

    >>> error_object(ParaplyError("no room left", file="binlog.000003", position=120))
    {'class': 'ParaplyError', 'message': 'no room left', 'file': 'binlog.000003', 'position': 120, 'gtid': None}
    """
    if isinstance(error, ParaplyError):
        return {
            "class": type(error).__name__,
            "message": error.message,
            "file": error.file,
            "position": error.position,
            "gtid": error.gtid,
        }
    return {"class": type(error).__name__, "message": str(error), "file": None, "position": None, "gtid": None}


def fallback_reasons(fallbacks: Sequence[Fallback]) -> list[dict[str, Any]]:
    """Write-set fallbacks (R13) as the contract lists them.

    >>> fallback_reasons([("no unique key", "shop.log", 3)])
    [{'reason': 'no unique key', 'table': 'shop.log', 'count': 3}]
    """
    return [{"reason": reason, "table": table, "count": count} for reason, table, count in fallbacks]


def run(command: str, body: Callable[[], tuple[int, Mapping[str, Any]]], *, as_json: bool, debug: bool = False) -> None:
    """Runs a command's body and leaves with its exit code.

    Args:
        command: The command's name, for the JSON object.
        body: Does the work; gives the exit code and the JSON fields of the command.
        as_json: Print one JSON object on stdout.
        debug: Show the traceback of any error.

    Raises:
        typer.Exit: Always, with the exit code.
    """
    started = time.monotonic()
    fields: Mapping[str, Any] = {}
    error: dict[str, Any] | None = None
    try:
        code, fields = body()
    except ParaplyError as failure:
        code, error = failure.exit_code, error_object(failure)
        fields = getattr(failure, "report", {})
        show_failure(failure, debug)
    except KeyboardInterrupt:
        stop = Stopped("stopped on request; run the same command to go on")
        code, error = stop.exit_code, error_object(stop)
        show_failure(stop, debug)
    except Exception as defect:  # ours: never a traceback unless asked for
        code, error = INTERNAL_ERROR, error_object(defect)
        stderr.print(f"[red]error:[/red] unexpected {escape(type(defect).__name__)}: {escape(str(defect))}")
        stderr.print("This is a defect of paraply; run again with --debug and report what it prints.")
        if debug:
            traceback.print_exc()
    if as_json:
        status = {0: "done", 4: "stopped"}.get(code, "failed")
        head = {"command": command, "status": status, "exit_code": code, "error": error}
        print(json.dumps(head | {"seconds": round(time.monotonic() - started, 3)} | dict(fields)))
    raise typer.Exit(code)


def show_failure(failure: ParaplyError, debug: bool) -> None:
    """Prints an error for people, in one line."""
    name, colour = ("stopped", "yellow") if isinstance(failure, Stopped) else ("error", "red")
    stderr.print(f"[{colour}]{name}:[/{colour}] {escape(str(failure))}", soft_wrap=True)
    if debug:
        traceback.print_exception(failure, file=sys.stderr)
