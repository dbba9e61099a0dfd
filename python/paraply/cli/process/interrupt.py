"""Ctrl-C, SIGTERM and SIGHUP as an exception, from the start of the process on."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

__all__ = ["BEFORE_THE_START", "Interrupted", "raise_interrupted", "raises_interrupted", "report_early_stop", "stop_object"]

BEFORE_THE_START = "stopped on request before anything was done; run the same command again"


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, or a signal that means the same.

    It is not KeyboardInterrupt itself: if that passes through ``exec`` of a text, as dataclasses use, CPython ends the process by the
    signal, whatever the exit code is.
    """


def raise_interrupted(_signal: int, _frame: FrameType | None) -> None:
    """Raise the exception; a signal handler."""
    raise Interrupted


def raises_interrupted() -> None:
    """Let Ctrl-C, SIGTERM and SIGHUP raise ``Interrupted``, but none that the process was started with as ignored.

    A script ignores Ctrl-C for its background processes, and ``nohup`` SIGHUP.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL):
            signal.signal(number, raise_interrupted)


def report_early_stop(arguments: list[str]) -> None:
    """Report a signal while the command's modules are loaded; also as JSON, if that is asked for."""
    print(f"stopped: {BEFORE_THE_START}", file=sys.stderr)
    if "--json" in arguments:
        import json

        print(json.dumps(stop_object(arguments)))


def stop_object(arguments: list[str]) -> dict[str, object]:
    """Return the JSON object of a command that was stopped before it began its work.

    >>> stop_object(["apply", "binlog.000001", "--json"])["command"]
    'apply'
    """
    name = next((word for word in arguments if not word.startswith("-")), None)
    error = {"class": "Stopped", "message": BEFORE_THE_START, "file": None, "position": None, "gtid": None}
    return {"command": name, "status": "stopped", "exit_code": 4, "error": error, "seconds": 0.0}
