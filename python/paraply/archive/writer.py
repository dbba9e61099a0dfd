"""The one writer of an archive: parts, whole files, and the manifest."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from paraply._native import GtidSet
from paraply.archive.continuation import check_gtids, check_times
from paraply.errors import ArchiveRefused, UsageError
from paraply.logs.archived.fetching import checked_part
from paraply.logs.archived.location import MANIFEST
from paraply.logs.archived.manifest import ArchivedFile, Manifest, StoredPart, follows
from paraply.logs.archived.packing import COMPRESSIONS, pack
from paraply.runtime import runtime

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from paraply._native import LogPiece
    from paraply.archive.claim import Claim
    from paraply.logs.archived.storage import Storage
    from paraply.replication.source import Source

__all__ = ["ArchiveWriter"]

MOST_SMALL = 64
"""Number of small parts at the end of a growing file that are joined."""
SMALL = 1 << 20
"""Bytes from which a part is not small."""
_MAGIC, _HEADER = 4, 19
_PART = re.compile(r".+\.part-\d{12}-[0-9a-f]{8}(\.\w+)?")


class ArchiveWriter:
    """Writer of an archive.

    A piece of a log is stored as an object first, then the manifest is replaced. What a killed process left without a place in the
    manifest is removed or written again. The parts of a file that has ended are joined.

    Args:
        storage: The storage.
        claim: Right to write.
        token: Name of this process.
        compression: Name of the compression; None for that of the archive, or zstd for a new one.

    Raises:
        UsageError: The archive has another compression.
        LogDamaged: The manifest is damaged.
    """

    def __init__(self, storage: Storage, claim: Claim, token: str, compression: str | None) -> None:
        self._storage = storage
        self._claim = claim
        self._token = token
        found = storage.read_version(MANIFEST)
        self._version = None if found is None else found[1]
        self.manifest = Manifest(compression or "zstd") if found is None else Manifest.decode(found[0], storage.shown)
        if compression not in (None, self.manifest.compression):
            raise UsageError(f"--compression {compression}: the archive {storage.shown} uses {self.manifest.compression}")
        self._ending = COMPRESSIONS[self.manifest.compression]
        self._continues = False  # over the present connection
        self.stored_bytes = 0
        """Bytes of the objects that this writer has stored for the first time."""

    def begin(self, source: Source) -> None:
        """Note the source of a new archive, give up an unfinished transaction, and join the parts of files that have ended."""
        manifest = self.manifest
        if not manifest.files:
            manifest = replace(
                manifest, server_uuid=source.server_uuid, server_id=source.server_id, mariadb=source.mariadb, writer=self._token
            )
        self._put(manifest)
        self.cut_unfinished()
        self._remove_strays()
        newest = self.manifest.newest
        if newest is not None and newest.closed and newest.sha256 is None:
            self._join(newest)

    def cut_unfinished(self) -> None:
        """Give up the parts of a transaction that has not ended; they are received again, over a new connection."""
        self._continues = False
        newest = self.manifest.newest
        if newest is None:
            return
        kept = newest.whole_parts()
        if kept != newest:
            self._put(self.manifest.with_file(kept))
            for part in set(newest.parts) - set(kept.parts):
                self._storage.remove(part.object)

    def add(self, piece: LogPiece, source: Source) -> ArchivedFile:
        """Store a piece of a log, and return its file.

        Raises:
            ArchiveRefused: The piece does not continue the archive, or another process has written into it.
        """
        file = self._file_of(piece, source)
        self._continues = True
        plain = piece.data
        packed = pack(plain, self.manifest.compression)
        sha256 = hashlib.sha256(packed).hexdigest()
        if plain:
            name = f"{piece.file}.part-{piece.begin:012}-{sha256[:8]}{self._ending}"
            self._claim.renew()
            self._storage.put_new(name, [packed])
            self.stored_bytes += len(packed)
            part = StoredPart(name, piece.begin, piece.end, len(packed), sha256, hashlib.sha256(plain).hexdigest())
            file = replace(file, parts=(*file.parts, part))
        file = with_facts(file, piece)
        self._put(self.manifest.with_file(file))
        if file.closed:
            self._join(file)
        else:
            self._join_small(file)
        return file

    def renew(self) -> None:
        """Keep the right to write.

        Raises:
            AlreadyRunning: Another process has taken it.
        """
        self._claim.renew()

    def _file_of(self, piece: LogPiece, source: Source) -> ArchivedFile:
        """Return the file that a piece belongs to, as it is in the archive; check that the piece comes next."""
        newest = self.manifest.newest
        if newest is not None and newest.name == piece.file and not newest.closed:
            if newest.size != piece.begin:
                raise ArchiveRefused(f"{piece.file} goes on at {piece.begin}, but the archive ends at {newest.size}", file=piece.file)
            return newest
        if newest is not None:
            if not newest.closed or not follows(newest, piece.file):
                raise ArchiveRefused(
                    f"the source goes on with {piece.file}, which does not follow {newest.name}: its logs were reset; archive it into"
                    " another place",
                    file=piece.file,
                )
            check_gtids(source, self._storage.shown, newest, piece.file, piece.previous_gtids)
            if not self._continues:
                self._check_times(source, newest, piece)
        if piece.begin:
            raise ArchiveRefused(f"{piece.file} begins at {piece.begin} in place of its start", file=piece.file)
        return ArchivedFile(piece.file, source.server_uuid, source.server_id)

    def _check_times(self, source: Source, newest: ArchivedFile, piece: LogPiece) -> None:
        """Compare the end of the last file with the begin of the next one; within one connection the source does that."""
        if newest.last_event is None or not newest.parts:
            return
        part = newest.parts[-1]
        _, plain = self.read_part(newest.name, part)
        place = newest.last_event[0] - part.begin
        if place >= 0 and len(piece.data) >= _MAGIC + _HEADER:
            check_times(
                source, self._storage.shown, newest, plain[place : place + _HEADER], piece.file, piece.data[_MAGIC : _MAGIC + _HEADER]
            )

    def _join_small(self, file: ArchivedFile) -> None:
        """Join the last parts of a growing file if they are many and small: a quiet source makes one every few seconds."""
        small = small_parts(file)
        if len(small) < MOST_SMALL:
            return
        token = hashlib.sha256("".join(part.object_sha256 for part in small).encode()).hexdigest()
        name = f"{file.name}.part-{small[0].begin:012}-{token[:8]}{self._ending}"
        content = JoinedParts(self, file.name, small)
        self._storage.put_new(name, content)
        kept = file.parts[: -len(small)]
        self._put(self.manifest.with_file(replace(file, parts=(*kept, content.stored(name)))))
        for part in small:
            self._storage.remove(part.object)

    def _join(self, file: ArchivedFile) -> None:
        """Join the parts of a file that has ended, compare each with its checksum, and note the checksum of the whole."""
        digest = hashlib.sha256()
        groups = list(grouped(file.parts, self._storage.largest))
        joined = []
        for number, parts in enumerate(groups, 1):
            name = f"{file.name}{self._ending}" if len(groups) == 1 else f"{file.name}.{number:04}{self._ending}"
            content = JoinedParts(self, file.name, parts, digest)
            self._storage.put_new(name, content)
            joined.append(content.stored(name))
        whole = replace(file, parts=tuple(joined), sha256=digest.hexdigest(), stored_at=now())
        self._put(self.manifest.with_file(whole))
        for part in file.parts:
            self._storage.remove(part.object)

    def read_part(self, name: str, part: StoredPart) -> tuple[bytes, bytes]:
        """Return an object and the bytes of the file in it, checked; keep the right to write meanwhile."""
        self._claim.renew()
        return checked_part(self._storage, self.manifest.compression, name, part)

    def _put(self, manifest: Manifest) -> None:
        self._claim.renew()
        manifest = replace(manifest, generation=self.manifest.generation + 1, writer=self._token)
        self._version = self._storage.replace(MANIFEST, manifest.encode(), self._version)
        self.manifest = manifest

    def _remove_strays(self) -> None:
        """Remove parts that a killed process has stored, and the manifest does not know."""
        wanted = {part.object for file in self.manifest.files for part in file.parts}
        for name in self._storage.names():
            if _PART.fullmatch(name) and name not in wanted:
                self._storage.remove(name)


class JoinedParts:
    """Contents of several objects behind one another, which is one compressed file.

    Args:
        writer: The archive.
        name: Name of the log.
        parts: The objects.
        digest: SHA-256 of the log so far; None if it is not needed.
    """

    def __init__(self, writer: ArchiveWriter, name: str, parts: Sequence[StoredPart], digest: hashlib._Hash | None = None) -> None:
        self._writer = writer
        self._name = name
        self._parts = parts
        self._digest = digest
        self.size = 0
        self.object_sha256 = ""
        self.sha256 = ""

    def __iter__(self) -> Iterator[bytes]:
        stored_digest, plain_digest = hashlib.sha256(), hashlib.sha256()
        self.size = 0
        for part in self._parts:
            stored, plain = self._writer.read_part(self._name, part)
            stored_digest.update(stored)
            if self._digest is not None:
                self._digest.update(plain)
            plain_digest.update(plain)
            self.size += len(stored)
            yield stored
        self.object_sha256, self.sha256 = stored_digest.hexdigest(), plain_digest.hexdigest()

    def stored(self, name: str) -> StoredPart:
        """Return the joined parts as one, once they are stored."""
        return StoredPart(name, self._parts[0].begin, self._parts[-1].end, self.size, self.object_sha256, self.sha256)


def small_parts(file: ArchivedFile) -> list[StoredPart]:
    """Return the small parts at the end of a file, without those of a transaction that has not ended."""
    small: list[StoredPart] = []
    for part in reversed(file.parts):
        if part.size >= SMALL or part.end > file.last_position:
            break
        small.insert(0, part)
    return small


def grouped(parts: Sequence[StoredPart], largest: int | None) -> Iterator[list[StoredPart]]:
    """Yield consecutive parts whose objects have no more bytes together than the largest object.

    >>> parts = [StoredPart(name, n, n + 1, 40, "", "") for n, name in enumerate("abc")]
    >>> [[part.object for part in group] for group in grouped(parts, 100)]
    [['a', 'b'], ['c']]
    """
    group: list[StoredPart] = []
    for part in parts:
        if group and largest is not None and sum(each.size for each in group) + part.size > largest:
            yield group
            group = []
        group.append(part)
    if group:
        yield group


def with_facts(file: ArchivedFile, piece: LogPiece) -> ArchivedFile:
    """Return a file with the properties of another piece of it."""
    gtids = GtidSet(file.gtids) | piece.gtids
    times = [*(piece.committed or ()), *(time for time in (file.first_commit, file.last_commit) if time is not None)]
    ends_whole = piece.closed or piece.end == piece.whole
    before = file.gtids_before if piece.previous_gtids is None else str(piece.previous_gtids)
    return replace(
        file,
        gtids_before=before,
        gtids=str(gtids),
        transactions=file.transactions + piece.transactions,
        without_gtid=file.without_gtid + max(0, piece.transactions - len(piece.gtids)),
        first_commit=min(times, default=None),
        last_commit=max(times, default=None),
        last_position=piece.end if piece.closed else piece.whole,
        closed=piece.closed,
        next_file=piece.next_file,
        head=piece.head or file.head,
        last_event=piece.last if ends_whole and piece.begin < piece.end else file.last_event,
        stored_at=now(),
    )


def now() -> int:
    """Return the time, microseconds since 1970, UTC."""
    return int(runtime.now() * 1e6)
