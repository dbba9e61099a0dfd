"""The place in a source's binlogs after the end of an archive, or the reason why the source does not continue it."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paraply._native import GtidSet
from paraply.archive.source_files import same_content, source_files
from paraply.errors import ArchiveRefused
from paraply.logs.archived.manifest import follows
from paraply.logs.file_names import split_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paraply.logs.archived.manifest import ArchivedFile, Manifest
    from paraply.replication.source import Source

__all__ = ["Continuation", "check_gtids", "check_times", "find_continuation"]

LONGEST_ROTATION = 60
"""Most seconds between the last event of a file that names the next one, and the first event of that."""
_ROTATE = 4


@dataclass(frozen=True, slots=True)
class Continuation:
    """Place at which copying goes on.

    Attributes:
        file: Name of the source's file.
        known: The last copied event of the file: its offset, the offset after it, and its hash; None for the file's beginning.
    """

    file: str
    known: tuple[int, int, int] | None = None


def find_continuation(source: Source, archive: str, manifest: Manifest) -> Continuation:
    """Return the place in the source's files after the end of the archive.

    Args:
        source: The source.
        archive: Name of the archive for messages.
        manifest: The archive, without an unfinished transaction.

    Raises:
        ArchiveRefused: The source is another server, has other contents under a name, or has purged what the archive lacks.
        ConnectionFailed: The source cannot be reached.
    """
    files = source_files(source)
    newest = manifest.newest
    if newest is None:
        return Continuation(files[0])
    check_server(source, archive, manifest)
    if newest.name in files:
        if not same_content(source, archive, newest):
            raise ArchiveRefused(
                f"the source {source.url} has another content under the name {newest.name} than the archive {archive}: its logs were"
                " reset or it is another server; nothing is overwritten: archive it into another place",
                file=newest.name,
                position=newest.last_position,
            )
        if not newest.closed:
            return Continuation(newest.name, newest.last_event)
        following = files[files.index(newest.name) + 1 :]
        if following and follows(newest, following[0]):
            return Continuation(following[0])
    elif newest.closed:
        next_one = next((name for name in files if follows(newest, name)), None)
        if next_one is not None:
            return Continuation(next_one)
    raise gap(source, archive, newest, files)


def check_server(source: Source, archive: str, manifest: Manifest) -> None:
    """Refuse a source that is another server than that of the archive.

    Raises:
        ArchiveRefused: It is another server.
    """
    of_archive = (manifest.server_uuid, manifest.server_id if manifest.mariadb else 0, manifest.mariadb)
    of_source = (source.server_uuid, source.server_id if source.mariadb else 0, source.mariadb)
    if of_archive != of_source:
        raise ArchiveRefused(
            f"the archive {archive} holds the logs of {identity(*of_archive, manifest.server_id)}, but the source {source.url} is"
            f" {identity(*of_source, source.server_id)}, which may use the same names for other contents; nothing is overwritten:"
            " archive it into another place"
        )


def identity(uuid: str, _known_id: int, mariadb: bool, server_id: int) -> str:
    """Return the identity of a server for messages.

    >>> identity("", 7, True, 7)
    'the MariaDB with server id 7'
    """
    return f"the MariaDB with server id {server_id}" if mariadb else f"the MySQL with server UUID {uuid}"


def gap(source: Source, archive: str, newest: ArchivedFile, files: Sequence[str]) -> ArchiveRefused:
    """Return the error for a source whose files do not continue the archive."""
    wanted = newest.next_file if newest.closed else newest.name
    stem, number = split_name(newest.name)
    if wanted is None:
        wanted = newest.name if number is None else f"{stem}.{number + 1:06}"
    first_number = split_name(files[0])[1] if files else None
    place = f"the archive {archive} ends at {newest.name}:{newest.last_position}"
    if number is not None and first_number is not None and first_number > number:
        return ArchiveRefused(
            f"{place}, but the source {source.url} has purged {wanted}: its oldest log is {files[0]}, so transactions are missing between"
            " them; take a new backup, and archive into another place",
            file=newest.name,
            position=newest.last_position,
        )
    return ArchiveRefused(
        f"{place}, but the source {source.url} has no log {wanted} (it has {', '.join(files[:3])}{' ...' if len(files) > 3 else ''}): its"
        " logs were reset or it is another server; nothing is overwritten: archive it into another place",
        file=newest.name,
        position=newest.last_position,
    )


def check_gtids(source: Source, archive: str, newest: ArchivedFile, name: str, before: GtidSet | None) -> None:
    """Refuse a next file that was not begun right after the transactions of the archive.

    A server writes into each file which GTIDs its earlier files have. Logs that were reset, and purged up to the wanted name, have others.

    Args:
        source: The source.
        archive: Name of the archive for messages.
        newest: The last file of the archive.
        name: The next file.
        before: GTIDs that were executed before it, as it states them.

    Raises:
        ArchiveRefused: Transactions of the archive are missing in it, or it knows others.
    """
    if before is None or newest.gtids_before is None:
        return
    archived = GtidSet(newest.gtids_before) | GtidSet(newest.gtids)
    if others := before - archived:
        raise ArchiveRefused(
            f"{name} of the source {source.url} was begun after {others}, which the archive {archive} does not hold: transactions are"
            " missing between them, as its logs were reset or it is another server; nothing is overwritten: archive it into another place",
            file=name,
        )
    if missing := archived - before:
        raise ArchiveRefused(
            f"{name} of the source {source.url} was begun without {missing}, which the archive {archive} holds: its logs were reset or it"
            " is another server; nothing is overwritten: archive it into another place",
            file=name,
        )


def check_times(source: Source, archive: str, newest: ArchivedFile, last_event: bytes, name: str, first_event: bytes) -> None:
    """Refuse a next file that was not begun when the last one ended.

    A server begins the next file at once when it ends one with its name. Logs that were reset and purged up to that name can have the very
    same GTIDs, but are begun later.

    Args:
        source: The source.
        archive: Name of the archive for messages.
        newest: The last file of the archive.
        last_event: Header of its last event.
        name: The next file.
        first_event: Header of its first event.

    Raises:
        ArchiveRefused: The next file was begun at another time.
    """
    ended, kind = struct.unpack_from("<IB", last_event)
    (begun,) = struct.unpack_from("<I", first_event)
    if kind == _ROTATE and abs(begun - ended) > LONGEST_ROTATION:
        raise ArchiveRefused(
            f"{name} of the source {source.url} was begun {abs(begun - ended)} s {'after' if begun > ended else 'before'} the end of"
            f" {newest.name} in the archive {archive}, which names it: its logs were reset or it is another server; nothing is overwritten:"
            " archive it into another place",
            file=name,
        )
