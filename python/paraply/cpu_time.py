"""CPU time of this process and its threads, which is no time of a simulation."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

__all__ = ["ThreadKind", "process_seconds", "thread_counted", "thread_seconds"]

ThreadKind = Literal["reader", "coordinator", "worker", "watcher"]
"""Task of a thread; a watcher looks after the others, or reports their state."""

_spent: dict[ThreadKind, float] = {"reader": 0.0, "coordinator": 0.0, "worker": 0.0, "watcher": 0.0}
_lock = threading.Lock()


def process_seconds() -> float:
    """Return the CPU seconds of this process so far, of all its threads."""
    return time.process_time()


def thread_seconds() -> dict[ThreadKind, float]:
    """Return the CPU seconds that were counted for each kind of thread so far."""
    with _lock:
        return dict(_spent)


@contextmanager
def thread_counted(kind: ThreadKind) -> Iterator[None]:
    """Count the CPU time of the calling thread during the ``with`` block; it is visible after the block.

    Args:
        kind: Task of the thread.

    >>> before = thread_seconds()["reader"]
    >>> with thread_counted("reader"):
    ...     total = sum(range(10_000))
    >>> thread_seconds()["reader"] > before
    True
    """
    started = time.thread_time()
    try:
        yield
    finally:
        spent = max(0.0, time.thread_time() - started)
        with _lock:
            _spent[kind] += spent
