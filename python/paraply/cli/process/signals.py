"""Handling of Ctrl-C and SIGTERM."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from paraply.cli.process.interrupt import raise_interrupted
from paraply.cli.terminal import output

__all__ = ["interrupted_by_signal", "stops_on_signal"]

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stops_on_signal(stop: Callable[[], None], notice: str = "stopping at a transaction boundary ...") -> Iterator[None]:
    """Let Ctrl-C and SIGTERM stop at a transaction boundary during the ``with`` block.

    Args:
        stop: Called at each signal. The first call asks for a stop at a boundary; the second one rolls back the blocks in progress.
        notice: Text for people at each signal.
    """

    def handler(_signal: int, _frame: FrameType | None) -> None:
        output.stderr.print(notice)
        stop()

    with _handled_by(handler):
        yield


@contextmanager
def interrupted_by_signal() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM raise KeyboardInterrupt during the ``with`` block.

    This includes a script's background process, which starts with SIGINT ignored, so that Python raises no exception by itself.
    """
    with _handled_by(raise_interrupted):
        yield


@contextmanager
def _handled_by(handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number in SIGNALS}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
