"""Waiting for a state that another process brings about."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["ENOUGH_SECONDS", "wait_until"]

ENOUGH_SECONDS = 30


def wait_until(ready: Callable[[], bool], what: str, seconds: float = ENOUGH_SECONDS) -> None:
    """Wait until something holds, where no process of its own may end meanwhile."""
    deadline = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < deadline, f"{what} did not come within {seconds} s"
        time.sleep(0.02)
