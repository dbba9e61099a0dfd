"""Handling of Ctrl-C, SIGTERM, and SIGHUP of a terminal that is closed."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from paraply.cli.process.interrupt import raise_interrupted
from paraply.cli.terminal import output
from paraply.errors import ConnectionFailed, ConnectionLost, Stopped

__all__ = ["ignores_interrupts", "interrupted_by_signal", "stops_on_signal"]

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def stops_on_signal(stop: Callable[[], None], notice: str = "stopping at a transaction boundary ...") -> Iterator[None]:
    """Let Ctrl-C, SIGTERM and SIGHUP stop at a transaction boundary during the ``with`` block.

    A closed terminal may send SIGHUP twice, by the shell and by the kernel: only the first signal that is one counts.

    Args:
        stop: Called at each signal. The first call asks for a stop at a boundary; the second one rolls back the blocks in progress.
        notice: Text for people at each signal.

    Raises:
        Stopped: After a signal, in place of the error about a server that is not reached.
    """
    asked = False

    def handler(number: int, _frame: FrameType | None) -> None:
        nonlocal asked
        if number == signal.SIGHUP and asked:
            return
        asked = True
        with suppress(OSError):  # the terminal may be gone
            output.notice("stopping", notice)
        stop()

    with _handled_by(handler):
        try:
            yield
        except (ConnectionFailed, ConnectionLost) as error:
            if not asked:
                raise
            raise Stopped(
                f"stopped on request, while a server was not reached ({error.message}); run the same command to continue"
            ) from error


@contextmanager
def interrupted_by_signal() -> Iterator[None]:
    """Let Ctrl-C, SIGTERM and SIGHUP raise KeyboardInterrupt during the ``with`` block.

    This includes a script's background process, which starts with SIGINT ignored, so that Python raises no exception by itself.
    """
    with _handled_by(raise_interrupted):
        yield


@contextmanager
def ignores_interrupts() -> Iterator[None]:
    """Leave Ctrl-C to a program that runs in the same terminal during the ``with`` block. The program gets it as usual."""
    before = signal.signal(signal.SIGINT, lambda _number, _frame: None)  # unlike SIG_IGN, a handler is not inherited
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _handled_by(handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    # `nohup` starts a process with SIGHUP ignored, and means it.
    wanted = [number for number in SIGNALS if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, handler) for number in wanted}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
