"""Storages of archives: a folder, or a cloud storage. No object is ever written over; only the manifest is replaced."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from paraply.errors import ParaplyError, UsageError
from paraply.logs.archived.refusals import changed, exists
from paraply.logs.inputs.compression import SPACE_ERRORS
from paraply.logs.inputs.locations import CLOUD_SCHEMES, is_url, joined_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["FolderStorage", "Storage", "open_storage"]


class Storage(Protocol):
    """Objects with names."""

    shown: str
    """Name of the storage for messages."""
    largest: int | None
    """Bytes of the largest object that is written; None for any size."""

    def read(self, name: str) -> bytes | None:
        """Return an object, or None if there is none of this name."""

    def read_version(self, name: str) -> tuple[bytes, str] | None:
        """Return an object and its version, or None."""

    def names(self) -> Sequence[str]:
        """Return the names of all objects."""

    def put_new(self, name: str, pieces: Iterable[bytes]) -> None:
        """Store a new object, durably; one of this name with the same content may be there.

        Raises:
            ArchiveRefused: There is an object of this name with another content.
        """

    def replace(self, name: str, data: bytes, version: str | None) -> str:
        """Replace an object if it has this version still, or make it for None; return the new version.

        Raises:
            ArchiveRefused: Another process has changed it.
        """

    def remove(self, name: str) -> None:
        """Remove an object that is not needed."""


def open_storage(location: Path | str, *, purpose: str = "reading") -> Storage:
    """Return the storage at a folder or URL.

    Raises:
        UsageError: The URL cannot be used, or the extra ``cloud`` is not installed.
    """
    if not is_url(location):
        return FolderStorage(Path(location))
    url = joined_url(location).rstrip("/")
    if url.partition(":")[0] not in CLOUD_SCHEMES:
        known = ", ".join(f"{scheme}://" for scheme in CLOUD_SCHEMES)
        raise UsageError(f"{url.partition('?')[0].rpartition('@')[2]}: an archive is a folder, or at {known}")
    from paraply.logs.archived.cloud import CloudStorage

    return CloudStorage(url, purpose)


class FolderStorage:
    """Archive in a folder. Objects are synced to disk, and appear under their names only as a whole.

    Args:
        folder: The folder.
    """

    largest: int | None = None

    def __init__(self, folder: Path) -> None:
        self.shown = str(folder)
        self._folder = folder

    def read(self, name: str) -> bytes | None:
        """Return an object, or None if there is none of this name."""
        try:
            return (self._folder / name).read_bytes()
        except FileNotFoundError:
            return None

    def read_version(self, name: str) -> tuple[bytes, str] | None:
        """Return an object and its version, or None."""
        data = self.read(name)
        return None if data is None else (data, hashlib.sha256(data).hexdigest())

    def names(self) -> Sequence[str]:
        """Return the names of all objects."""
        return sorted(path.name for path in self._folder.iterdir() if path.is_file())

    def put_new(self, name: str, pieces: Iterable[bytes]) -> None:
        """Store a new object, durably; one of this name with the same content may be there.

        Raises:
            ArchiveRefused: There is an object of this name with another content.
        """
        place = self._folder / name
        unfinished, sha256 = self._written(name, pieces)
        try:
            try:
                os.link(unfinished, place)
            except FileExistsError:
                if sha256_of(place) != sha256:
                    raise exists(self.shown, name) from None
            except OSError:  # a file system without links; the folder's lock keeps other writers out
                if place.exists():
                    raise exists(self.shown, name) from None
                unfinished.rename(place)
        finally:
            unfinished.unlink(missing_ok=True)
        self._sync()

    def replace(self, name: str, data: bytes, version: str | None) -> str:
        """Replace an object if it has this version still, or make it for None; return the new version.

        Raises:
            ArchiveRefused: Another process has changed it.
        """
        present = self.read_version(name)
        if (None if present is None else present[1]) != version:
            raise changed(self.shown)
        unfinished, sha256 = self._written(name, [data])
        unfinished.replace(self._folder / name)
        self._sync()
        return sha256

    def remove(self, name: str) -> None:
        """Remove an object that is not needed."""
        (self._folder / name).unlink(missing_ok=True)

    def _written(self, name: str, pieces: Iterable[bytes]) -> tuple[Path, str]:
        """Write an object under a name of its own, sync it, and return its place and its SHA-256."""
        unfinished = self._folder / f".{name}.unfinished"
        digest = hashlib.sha256()
        try:
            with unfinished.open("wb") as file:
                for piece in pieces:
                    digest.update(piece)
                    file.write(piece)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            with suppress(OSError):
                unfinished.unlink(missing_ok=True)
            if error.errno in SPACE_ERRORS:
                raise ParaplyError(f"no space is left in {self._folder}: free some; the same command continues", file=name) from None
            raise
        return unfinished, digest.hexdigest()

    def _sync(self) -> None:
        """Write the folder's entries to disk."""
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
