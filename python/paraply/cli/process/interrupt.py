"""Ctrl-C as an exception, from the start of the process on."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

__all__ = ["Interrupted", "raise_interrupted", "raises_interrupted"]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C.

    It is not KeyboardInterrupt itself: if that passes through ``exec`` of a text, as dataclasses use, CPython ends the process by the
    signal, whatever the exit code is.
    """


def raise_interrupted(_signal: int, _frame: FrameType | None) -> None:
    """Raise the exception; a signal handler."""
    raise Interrupted


def raises_interrupted() -> None:
    """Let Ctrl-C raise ``Interrupted``, unless the process was started with Ctrl-C ignored, as in the background of a script."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, raise_interrupted)
