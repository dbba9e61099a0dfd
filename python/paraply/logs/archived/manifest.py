"""The manifest of an archive: one JSON object a line, the archive first, then each file, and a checksum of the lines at the end."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from paraply.errors import LogDamaged, LogNotUnderstood
from paraply.logs.archived.location import MANIFEST
from paraply.logs.file_names import split_name

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ArchivedFile", "Manifest", "StoredPart", "follows"]

FORMAT = 1


@dataclass(frozen=True, slots=True)
class StoredPart:
    """Consecutive bytes of a file, in one object.

    Attributes:
        object: Name of the object in the archive.
        begin: Offset of the first byte in the file.
        end: Offset after the last one.
        size: Bytes of the object, compressed.
        object_sha256: SHA-256 of the object.
        sha256: SHA-256 of the bytes of the file. A CRC32 would not do: each event ends with its own, which cancels it.
    """

    object: str
    begin: int
    end: int
    size: int
    object_sha256: str
    sha256: str


@dataclass(frozen=True, slots=True)
class ArchivedFile:
    """A binlog in an archive.

    Attributes:
        name: Name of the file on its server.
        server_uuid: UUID of its server; empty for MariaDB.
        server_id: Id of its server.
        gtids_before: GTIDs that were executed before the file, as it states them; None if it does not.
        gtids: GTIDs of its transactions; for MariaDB the last one of each domain.
        transactions: Number of its transactions.
        without_gtid: Number of transactions without a GTID.
        first_commit: Earliest commit time in it, microseconds since 1970, UTC.
        last_commit: Latest commit time in it.
        first_position: Offset of its first event.
        last_position: Offset after its last whole transaction.
        closed: True if its server appends nothing any more.
        next_file: Name of the next file, if the file ends with it.
        sha256: SHA-256 of the whole file; None while it grows.
        head: Size and hash (XXH64) of its bytes up to its format description.
        last_event: Offset of the last event, the offset after it, and its hash.
        stored_at: Time of the last change in the archive, microseconds since 1970, UTC.
        parts: The objects that hold it, in order.
    """

    name: str
    server_uuid: str
    server_id: int
    gtids_before: str | None = None
    gtids: str = ""
    transactions: int = 0
    without_gtid: int = 0
    first_commit: int | None = None
    last_commit: int | None = None
    first_position: int = 4
    last_position: int = 4
    closed: bool = False
    next_file: str | None = None
    sha256: str | None = None
    head: tuple[int, int] | None = None
    last_event: tuple[int, int, int] | None = None
    stored_at: int = 0
    parts: tuple[StoredPart, ...] = ()

    @property
    def size(self) -> int:
        """Bytes of the file that are in the archive."""
        return self.parts[-1].end if self.parts else 0

    def whole_parts(self) -> ArchivedFile:
        """Return the file without the parts of a transaction that has not ended; a closed file is whole."""
        if self.closed:
            return self
        return replace(self, parts=tuple(part for part in self.parts if part.end <= self.last_position))


@dataclass(frozen=True, slots=True)
class Manifest:
    """Contents of an archive.

    Attributes:
        compression: Name of the compression of its objects.
        server_uuid: UUID of the source; empty for MariaDB.
        server_id: Id of the source.
        mariadb: True if the source is a MariaDB.
        generation: Number of the manifest, raised with each change.
        writer: Token of the process that wrote it.
        files: The files, in order.
    """

    compression: str
    server_uuid: str = ""
    server_id: int = 0
    mariadb: bool = False
    generation: int = 0
    writer: str = ""
    files: tuple[ArchivedFile, ...] = field(default=())

    @property
    def newest(self) -> ArchivedFile | None:
        """The last file."""
        return self.files[-1] if self.files else None

    def with_file(self, file: ArchivedFile) -> Manifest:
        """Return the manifest with a file, which replaces one of its name at the end."""
        newest = self.newest
        kept = self.files[:-1] if newest is not None and newest.name == file.name else self.files
        return replace(self, files=(*kept, file))

    def encode(self) -> bytes:
        """Return the manifest as the bytes of its object.

        >>> Manifest.decode(Manifest("zstd", generation=7).encode(), "here").generation
        7
        """
        head = {"paraply_archive": FORMAT} | {key: value for key, value in asdict(self).items() if key != "files"}
        lines = [json.dumps(head), *(json.dumps(asdict(file)) for file in self.files)]
        text = "".join(line + "\n" for line in lines).encode()
        end = json.dumps({"lines": len(lines), "sha256": hashlib.sha256(text).hexdigest()})
        return text + end.encode() + b"\n"

    @classmethod
    def decode(cls, data: bytes, shown: str) -> Manifest:
        """Return the manifest of an object, checked.

        Args:
            data: The bytes.
            shown: Name of the archive for messages.

        Raises:
            LogDamaged: The manifest is damaged, or files or parts of files are missing in it.
            LogNotUnderstood: A later paraply wrote it.
        """
        text, _, last = data.rstrip(b"\n").rpartition(b"\n")
        text += b"\n"
        try:
            end = json.loads(last)
            intact = end == {"lines": text.count(b"\n"), "sha256": hashlib.sha256(text).hexdigest()}
        except ValueError:
            intact = False
        if not intact:
            raise LogDamaged(f"{shown}: the manifest {MANIFEST} is damaged: its checksum differs; restore it from a copy", file=shown)
        head, *lines = [json.loads(line) for line in text.splitlines()]
        if head.pop("paraply_archive", None) != FORMAT:
            raise LogNotUnderstood(f"{shown}: the manifest {MANIFEST} has a later format: use a later paraply", file=shown)
        manifest = cls(**known(head, cls), files=tuple(file_of(line) for line in lines))
        check_continuity(manifest, shown)
        return manifest


def known(values: Mapping[str, Any], kind: type[Any]) -> dict[str, Any]:
    """Return the values that are fields of a class; later versions may add others."""
    names = {each.name for each in fields(kind)}
    return {name: value for name, value in values.items() if name in names}


def file_of(values: Mapping[str, Any]) -> ArchivedFile:
    """Return a file from the values of its line."""
    found = known(values, ArchivedFile)
    parts = tuple(StoredPart(**known(part, StoredPart)) for part in found.pop("parts", ()))
    pairs = {name: tuple(found[name]) for name in ("head", "last_event") if found.get(name) is not None}
    return ArchivedFile(**(found | pairs), parts=parts)


def check_continuity(manifest: Manifest, shown: str) -> None:
    """Refuse a manifest in which something is missing between two files, or inside of one.

    Raises:
        LogDamaged: Something is missing.
    """
    for older, newer in pairwise(manifest.files):
        if not follows(older, newer.name) or older.server_uuid != newer.server_uuid:
            raise LogDamaged(f"{shown}: the archive has a gap: {newer.name} does not follow {older.name}", file=newer.name)
        if not older.closed:
            raise LogDamaged(f"{shown}: the archive has a gap: the end of {older.name} is missing", file=older.name)
    for file in manifest.files:
        ends = [0, *(part.end for part in file.parts)]
        if any(part.begin != end for part, end in zip(file.parts, ends, strict=False)):
            raise LogDamaged(f"{shown}: the archive has a gap inside {file.name}", file=file.name)


def follows(older: ArchivedFile, name: str) -> bool:
    """Return True if a file of this name is the next one.

    >>> follows(ArchivedFile("binlog.000009", "", 1), "binlog.000010")
    True
    """
    if older.next_file is not None:
        return older.next_file == name
    stem, number = split_name(older.name)
    next_stem, next_number = split_name(name)
    return number is not None and (next_stem, next_number) == (stem, number + 1)
