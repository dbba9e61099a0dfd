"""Start of the JVM without its meaningless warnings."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["quiet_start"]

# Spark itself requests the module.
WITHOUT_MEANING = (b"WARNING: Using incubator modules: jdk.incubator.vector",)
STANDARD_ERROR = 2


@contextmanager
def quiet_start() -> Iterator[None]:
    """Filter the standard error of processes started in the ``with`` block: lines without a meaning are left out.

    >>> with quiet_start():
    ...     pass
    """
    try:
        out, hidden = os.dup(STANDARD_ERROR), os.dup(STANDARD_ERROR)
    except OSError:  # this process has no standard error
        yield
        return
    read, write = os.pipe()
    threading.Thread(target=hand_on, args=(read, out), name="paraply-stderr", daemon=True).start()
    os.dup2(write, STANDARD_ERROR)
    os.close(write)
    try:
        yield
    finally:
        os.dup2(hidden, STANDARD_ERROR)
        os.close(hidden)


def hand_on(read: int, out: int) -> None:
    """Copy lines until all writers have closed their ends."""
    with open(read, "rb") as lines, open(out, "wb", buffering=0) as kept:
        for line in lines:
            if line.rstrip() not in WITHOUT_MEANING:
                kept.write(line)
