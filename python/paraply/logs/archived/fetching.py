"""Plain copies of the files of an archive, checked before anything reads them."""

from __future__ import annotations

import hashlib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from paraply.errors import LogDamaged, UsageError
from paraply.logs.archived.choice import Wanted, needed_files
from paraply.logs.archived.location import MANIFEST
from paraply.logs.archived.manifest import ArchivedFile, Manifest, StoredPart
from paraply.logs.archived.packing import unpack_part
from paraply.logs.archived.storage import open_storage
from paraply.logs.inputs.compression import write
from paraply.logs.inputs.staging import MOST_AT_ONCE, staged
from paraply.runtime import runtime

if TYPE_CHECKING:
    from paraply.logs.archived.storage import Storage

__all__ = ["archived_logs", "checked_part", "read_manifest"]

TRIES = 3
"""Reads of the manifest: between it and an object, the writer may have packed the file."""


def read_manifest(storage: Storage) -> Manifest:
    """Return the manifest of an archive.

    Raises:
        UsageError: There is none.
        LogDamaged: It is damaged, or has a gap.
    """
    data = storage.read(MANIFEST)
    if data is None:
        raise UsageError(f"{storage.shown} is no archive: it holds no {MANIFEST}")
    return Manifest.decode(data, storage.shown)


def archived_logs(location: Path | str, wanted: Wanted | None = None) -> list[Path]:
    """Return plain copies of the files of an archive that hold the wanted part, in order.

    Every object is compared with its checksum before this returns. The growing file ends after its last whole transaction.

    Raises:
        UsageError: The archive is empty.
        LogDamaged: An object is missing or damaged, or the archive has a gap.
        ConnectionFailed: The storage cannot be reached, or refuses.
    """
    storage = open_storage(location)
    for last in range(1, TRIES + 1):
        manifest = read_manifest(storage)
        files = [file.whole_parts() for file in manifest.files]
        chosen = needed_files([file for file in files if file.parts], wanted or Wanted())
        if not chosen:
            raise UsageError(f"the archive {storage.shown} holds no log yet")
        try:
            return fetched(storage, manifest, chosen)
        except MissingObject:
            if last == TRIES or read_manifest(storage) == manifest:
                raise
    raise AssertionError


class MissingObject(LogDamaged):
    """Object of an archive that is not there."""


def fetched(storage: Storage, manifest: Manifest, files: list[ArchivedFile]) -> list[Path]:
    """Return plain copies of files; several are fetched at the same time."""
    with runtime.pool(MOST_AT_ONCE, "paraply-archive") as pool:
        copies = [
            pool.submit(partial(staged, copy_key(storage, file), file.name, partial(fill, storage, manifest.compression, file)))
            for file in files
        ]
        return [copy.result() for copy in copies]


def copy_key(storage: Storage, file: ArchivedFile) -> str:
    """Return a name of the content of a file."""
    return f"archive {storage.shown} {file.name} {file.size} {[part.sha256 for part in file.parts]}"


def fill(storage: Storage, compression: str, file: ArchivedFile, place: Path) -> None:
    """Write a plain copy of a file of the archive.

    Raises:
        LogDamaged: An object is missing or damaged.
        ParaplyError: There is no space left.
    """
    # The checksum of a single part is that of the file.
    digest = hashlib.sha256() if file.sha256 is not None and len(file.parts) > 1 else None
    with place.open("wb") as copy:
        for part in file.parts:
            _, plain = checked_part(storage, compression, file.name, part)
            if digest is not None:
                digest.update(plain)
            write(copy.write, plain, f"{storage.shown}/{part.object}", place)
    if digest is not None and digest.hexdigest() != file.sha256:
        raise LogDamaged(f"{storage.shown}: {file.name} is damaged: its checksum differs", file=file.name)


def checked_part(storage: Storage, compression: str, name: str, part: StoredPart) -> tuple[bytes, bytes]:
    """Return an object and the bytes of the file in it, compared with their checksums.

    Raises:
        LogDamaged: The object is missing or damaged.
    """
    stored = storage.read(part.object)
    if stored is None:
        raise MissingObject(
            f"{storage.shown}: the object {part.object} is missing, which holds {name} from {part.begin} to {part.end};"
            " restore it from a copy",
            file=name,
            position=part.begin,
        )
    try:
        intact = hashlib.sha256(stored).hexdigest() == part.object_sha256
        plain = unpack_part(stored, compression) if intact else b""
    except ValueError:
        intact = False
    if not intact or hashlib.sha256(plain).hexdigest() != part.sha256 or len(plain) != part.end - part.begin:
        raise LogDamaged(
            f"{storage.shown}: the object {part.object} is damaged: its checksum differs; restore it from a copy",
            file=name,
            position=part.begin,
        )
    return stored, plain
