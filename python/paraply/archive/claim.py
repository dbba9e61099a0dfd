"""The right to write into an archive: one process at a time has it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from paraply.errors import AlreadyRunning, ArchiveRefused, UsageError
from paraply.logs.archived.storage import FolderStorage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from paraply.logs.archived.storage import Storage

__all__ = ["Claim", "claimed"]

LOCK = "paraply-archive.lock"
LEASE = "paraply-archive.lease"
LEASE_SECONDS = 60.0
"""Seconds after which a lease that was not renewed ends."""
RENEWAL_SECONDS = 15.0
"""Seconds between renewals."""


class Claim(Protocol):
    """Right to write into an archive."""

    def renew(self) -> None:
        """Keep the right.

        Raises:
            AlreadyRunning: Another process has taken it.
        """


class FolderClaim:
    """Lock of a folder, which the system releases with the process."""

    def renew(self) -> None:
        """Do nothing."""


class Lease:
    """Object in a cloud storage with the time up to which its writer has the right.

    The manifest is replaced only in the version that its writer read, so a writer that outlived its lease can do no harm.

    Args:
        storage: The storage.
        token: Name of this process.
    """

    def __init__(self, storage: Storage, token: str) -> None:
        self._storage = storage
        self._token = token
        self._renewed_at = 0.0
        self._version = self._take()

    def renew(self) -> None:
        """Keep the right, with a write every few seconds.

        Raises:
            AlreadyRunning: Another process has taken it.
        """
        if time.monotonic() - self._renewed_at >= RENEWAL_SECONDS:
            self._version = self._write(time.time() + LEASE_SECONDS, self._version)

    def release(self) -> None:
        """Give the right back."""
        with contextlib.suppress(AlreadyRunning):
            self._write(0.0, self._version)

    def _take(self) -> str:
        found = self._storage.read_version(LEASE)
        if found is None:
            version = self._write(time.time() + LEASE_SECONDS, None)
        else:
            holder = json.loads(found[0])
            left = holder["until"] - time.time()
            if left > 0 and not is_dead(holder):
                raise AlreadyRunning(
                    f"another paraply archive (process {holder['process']} on {holder['host']}) writes into {self._storage.shown}:"
                    f" end it, or wait {left:.0f} s if it was killed"
                )
            version = self._write(time.time() + LEASE_SECONDS, found[1])
        self._check_conditions()
        return version

    def _check_conditions(self) -> None:
        """Refuse a storage that ignores the conditions of writes."""
        probe = f"{LEASE}.probe"
        self._storage.replace(probe, b"a", self._version_of(probe))
        try:
            self._storage.replace(probe, b"b", None)
        except ArchiveRefused:
            return
        raise UsageError(
            f"{self._storage.shown}: the storage ignores the conditions of writes (If-None-Match), without which two writers cannot be told"
            " apart: use another storage, or a folder"
        )

    def _version_of(self, name: str) -> str | None:
        found = self._storage.read_version(name)
        return None if found is None else found[1]

    def _write(self, until: float, version: str | None) -> str:
        lease = {"token": self._token, "host": socket.gethostname(), "process": os.getpid(), "until": until}
        self._renewed_at = time.monotonic()
        try:
            return self._storage.replace(LEASE, json.dumps(lease).encode(), version)
        except ArchiveRefused:
            raise AlreadyRunning(
                f"another paraply archive has begun to write into {self._storage.shown}: let only one process write into an archive"
            ) from None


def is_dead(holder: dict[str, Any]) -> bool:
    """Return True if the holder of a lease was a process of this host that has ended.

    >>> is_dead({"host": "elsewhere", "process": 1})
    False
    """
    if holder["host"] != socket.gethostname():
        return False
    try:
        os.kill(holder["process"], 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return bool(holder["process"] == os.getpid())


@contextmanager
def claimed(storage: Storage, location: str, token: str) -> Iterator[Claim]:
    """Hold the right to write into an archive during a ``with`` block.

    Raises:
        AlreadyRunning: Another process has it.
        UsageError: The storage ignores the conditions of writes.
    """
    if isinstance(storage, FolderStorage):
        folder = Path(location)
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / LOCK).open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise AlreadyRunning(f"another paraply archive writes into {folder}: end it, or archive into another folder") from None
            yield FolderClaim()
        return
    lease = Lease(storage, token)
    try:
        yield lease
    finally:
        lease.release()
