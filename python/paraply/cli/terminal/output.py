"""End of a command: one JSON object on stdout with ``--json``, else a few lines for people, and the exit code."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import IO, Any

import typer
from rich.console import Console, ConsoleDimensions
from rich.markup import escape
from rich.table import Column

from paraply._extras import mistake_of_import
from paraply.cli.process.secrets import redacted
from paraply.errors import ParaplyError, Stopped
from paraply.wording import without_copies

__all__ = [
    "columns_of_numbers",
    "console",
    "debug_before_command",
    "error_object",
    "notice",
    "one_line",
    "print_json",
    "run",
    "stderr",
]

_WIDTH_OF_FILES = 160


class PatientConsole(Console):
    """Console that ignores a closed reader and a full disk, which must not change how a command ends."""

    @property
    def size(self) -> ConsoleDimensions:
        """Size of the terminal; for a file or pipe wide enough for every column of a table, unless COLUMNS is set."""
        if self._width is None and not self.is_terminal and "COLUMNS" not in os.environ:
            return ConsoleDimensions(_WIDTH_OF_FILES, 25)
        return super().size

    @size.setter
    def size(self, new_size: tuple[int, int]) -> None:
        self._width, self._height = new_size

    def print(self, *objects: Any, **options: Any) -> None:
        """Print, without the folders of temporary copies, unless the reader has closed its end."""
        shown = [without_copies(text) if isinstance(text, str) else text for text in objects]
        try:
            super().print(*shown, **options)
        except (OSError, ValueError):
            silence(self.file)

    def on_broken_pipe(self) -> None:
        """Continue without output."""
        silence(self.file)


def silence(file: IO[str]) -> None:
    """Discard all further output, so that the interpreter's own flush at the end does not fail again."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), file.fileno())


console = PatientConsole(highlight=False, emoji=False)
stderr = PatientConsole(stderr=True, highlight=False, emoji=False)

INTERNAL_ERROR = 1

write_event: Callable[[str, str, str, Mapping[str, Any] | None], None] | None = None
"""Writer of level, event, text and further fields as an event; None if no form of events was asked for."""

as_lines: bool = False
"""True if progress is asked for as lines, on a terminal too."""

as_objects: bool = False
"""True if events are JSON objects."""

debug_before_command: ContextVar[bool] = ContextVar("debug_before_command", default=False)
"""True if ``--debug`` stands before the command's name."""


def columns_of_numbers(*names: str) -> list[Column]:
    """Return right-aligned columns of a table."""
    return [Column(name, justify="right") for name in names]


def error_object(error: BaseException) -> dict[str, Any]:
    """Return an error as the contract's JSON object.

    >>> error_object(ParaplyError("no room left", file="binlog.000003", position=120))
    {'class': 'ParaplyError', 'message': 'no room left', 'file': 'binlog.000003', 'position': 120, 'gtid': None}
    """
    if isinstance(error, ParaplyError):
        return {
            "class": type(error).__name__,
            "message": message_of(error),
            "file": None if error.file is None else redacted(error.file),
            "position": error.position,
            "gtid": error.gtid,
        }
    return {"class": type(error).__name__, "message": one_line(str(error)), "file": None, "position": None, "gtid": None}


def message_of(error: ParaplyError) -> str:
    """Return the message with the table and the key, which have no JSON field.

    >>> message_of(ParaplyError("the row is not there", table="shop.item", key="7", position=120))
    'the row is not there (table shop.item, key 7)'
    """
    places = {"table": error.table, "key": error.key}
    where = ", ".join(f"{name} {value}" for name, value in places.items() if value is not None and value not in error.message)
    return one_line(f"{error.message} ({where})" if where else error.message)


def run(
    command: str,
    body: Callable[[], tuple[int, Mapping[str, Any]]],
    *,
    as_json: bool,
    debug: bool = False,
    so_far: Callable[[], Mapping[str, Any]] | None = None,
) -> None:
    """Run a command's body, and exit with its exit code.

    Args:
        command: The command's name, for the JSON object.
        body: Does the work; returns the exit code and the JSON fields of the command.
        as_json: Print one JSON object on stdout.
        debug: Show the traceback of any error; ``debug_before_command`` does so too.
        so_far: Returns the JSON fields of a command that failed or was stopped.

    Raises:
        typer.Exit: Always, with the exit code.
    """
    started = time.monotonic()
    debug = debug or debug_before_command.get()
    fields: Mapping[str, Any] = {}
    error: dict[str, Any] | None = None
    try:
        code, fields = with_packages(body)
    except ParaplyError as failure:
        code, error = failure.exit_code, error_object(failure)
        show_failure(failure, debug)
    except KeyboardInterrupt:
        stop = Stopped("stopped on request; run the same command to continue")
        code, error = stop.exit_code, error_object(stop)
        show_failure(stop, debug)
    except OSError as failure:
        reason = f"{failure.strerror or failure}" + (f" ({failure.filename})" if failure.filename else "")
        code, error = INTERNAL_ERROR, error_object(failure)
        show_end("error", "red", reason, failure)
        if debug:
            print_traceback(failure)
    except Exception as defect:  # a defect of paraply: no traceback unless asked for
        code, error = INTERNAL_ERROR, error_object(defect)
        what = f"unexpected {type(defect).__name__}: {one_line(str(defect))}"
        show_end("error", "red", f"{what}; this is a defect of paraply, run again with --debug and report what it prints", defect)
        if debug:
            print_traceback(defect)
    if error is not None and so_far is not None:
        fields = so_far()
    if as_json:
        status = {0: "done", 4: "stopped"}.get(code, "failed")
        head = {"command": command, "status": status, "exit_code": code, "error": error}
        print_json(head | {"seconds": round(time.monotonic() - started, 3)} | dict(fields))
    raise typer.Exit(code)


def with_packages(body: Callable[[], tuple[int, Mapping[str, Any]]]) -> tuple[int, Mapping[str, Any]]:
    """Run a command's body; a package that is missing is a mistake that an extra mends, not a defect."""
    try:
        return body()
    except ImportError as error:
        mistake = mistake_of_import(error)
        if mistake is None:
            raise
        raise mistake from error


def print_json(fields: Mapping[str, Any]) -> None:
    """Print the one JSON object; a closed reader does not change how the command ends."""
    if sys.stdout is None:  # the shell has closed standard output
        return
    try:
        print(without_copies(json.dumps(fields)))
        sys.stdout.flush()
    except (OSError, ValueError):
        silence(sys.stdout)


def one_line(text: str) -> str:
    r"""Return a message in one line and without passwords, whatever a server or a library put into it.

    >>> one_line("connection refused\n\tIs the server running?")
    'connection refused Is the server running?'
    """
    return redacted(" ".join(text.split()))


def notice(event: str, text: str, level: str = "info") -> None:
    """Print a remark on standard error: as an event if a form of events was asked for.

    Args:
        event: Name of the event.
        text: The remark, in one line.
        level: Level of the event.
    """
    if write_event is not None:
        write_event(level, event, text, None)
        return
    stderr.print(escape(one_line(text)), soft_wrap=True)


def show_failure(failure: ParaplyError, debug: bool) -> None:
    """Print an error for people, in one line."""
    name, colour = ("stopped", "yellow") if isinstance(failure, Stopped) else ("error", "red")
    show_end(name, colour, str(failure), failure)
    if debug:
        print_traceback(failure)


def show_end(name: str, colour: str, text: str, failure: BaseException) -> None:
    """Print the line with which a command ends that is not done."""
    if write_event is not None and name == "stopped":
        write_event("warning", name, text, None)
        return
    if write_event is not None:
        places = {field: error_object(failure)[field] for field in ("gtid", "file", "position")}
        code = failure.exit_code if isinstance(failure, ParaplyError) else INTERNAL_ERROR
        write_event("error", name, text, {**places, "exit_code": code})
        return
    stderr.print(f"[{colour}]{name}:[/{colour}] {escape(one_line(text))}", soft_wrap=True)


def print_traceback(failure: BaseException) -> None:
    """Print the traceback of an error, without passwords."""
    stderr.print(escape(redacted("".join(traceback.format_exception(failure)))), soft_wrap=True)
