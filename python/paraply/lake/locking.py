"""The right to write into a lake: one process at a time on a machine has it."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from paraply.errors import AlreadyRunning

__all__ = ["LOCK", "local_folder", "locked"]

LOCK = "_paraply_lock"


def local_folder(into: str) -> Path | None:
    """Return the folder of a path or of a ``file://`` URL; None for another URL.

    >>> local_folder("file:///lake"), local_folder("s3://bucket/lake")
    (PosixPath('/lake'), None)
    """
    if into.startswith("file://"):
        return Path(into.removeprefix("file://"))
    return None if "://" in into else Path(into)


@contextmanager
def locked(folder: Path | None) -> Iterator[None]:
    """Hold the lock of a folder during a ``with`` block; the system releases it with the process. Do nothing without a folder.

    Raises:
        AlreadyRunning: Another process holds it.
    """
    if folder is None:
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise AlreadyRunning(f"another paraply lake writes into {folder}; wait for it, or stop it first") from error
        yield
