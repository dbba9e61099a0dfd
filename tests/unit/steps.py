"""Steps of other threads, to wait for instead of a time."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

__all__ = ["until", "until_waiting"]

MOST_SECONDS = 30.0
"""Only a test that fails takes that long."""


def until(holds: Callable[[], object], what: str = "it") -> None:
    """Wait until something holds; fail if it never does."""
    deadline = time.monotonic() + MOST_SECONDS
    while not holds():
        assert time.monotonic() < deadline, f"{what} never came"
        time.sleep(0.001)


def until_waiting(thread: threading.Thread, function: str) -> None:
    """Wait until a thread waits for a condition in a function of this name.

    A thread that waits does nothing more by itself: what it has not done by then, it does not do.
    """

    def waits() -> bool:
        assert thread.is_alive(), f"ended without waiting in {function}"
        frames = list(_stack(sys._current_frames().get(thread.ident or 0)))
        return bool(frames) and frames[0].f_code is threading.Condition.wait.__code__ and function in {f.f_code.co_name for f in frames}

    until(waits, f"a wait in {function}")


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back
