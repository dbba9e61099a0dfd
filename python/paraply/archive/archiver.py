"""Continuous copy of a source's binlogs into an archive."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from paraply._native import GtidSet, LogCopy
from paraply.archive.claim import claimed
from paraply.archive.continuation import find_continuation
from paraply.archive.source_files import open_connection, replica_id, source_end
from paraply.archive.writer import ArchiveWriter
from paraply.errors import ConnectionFailed, LogError, ParaplyError, ReceiveFailed, ServerError, Stopped
from paraply.logs.archived.packing import parse_compression
from paraply.logs.archived.storage import open_storage
from paraply.logs.file_names import split_name
from paraply.logs.inputs import is_url, joined_url
from paraply.replication.receiver import permanent
from paraply.replication.source import SILENCE_SECONDS, look, parse_source
from paraply.runtime import runtime
from paraply.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from paraply.archive.source_files import SourceEnd
    from paraply.logs.archived.manifest import ArchivedFile
    from paraply.replication.source import Source

__all__ = ["ArchiveReport", "Archiver"]

FLUSH_SECONDS = 5.0
"""Longest time that a received transaction waits before it is stored, by default."""
_LAST_SECONDS = 0.3
"""The same for a copy up to the source's present end."""
_FIRST_WAIT = 0.5
_LONGEST_WAIT = 5.0


@dataclass(frozen=True, slots=True)
class ArchiveReport:
    """State of an archive, and what a run has added.

    Attributes:
        archive: The archive.
        source: URL of the source, without a password.
        files: Number of files in the archive.
        file: Name of the newest one; empty for none.
        position: Offset after its last whole transaction.
        executed: GTID set up to there; empty for a log without GTIDs.
        last_commit: Latest commit time in the newest file, microseconds since 1970, UTC.
        transactions: Number of transactions that the run has added.
        bytes: Number of bytes of the logs that the run has added.
        stored_bytes: Number of bytes that they take in the archive, before parts are joined.
    """

    archive: str
    source: str
    files: int = 0
    file: str = ""
    position: int = 0
    executed: str = ""
    last_commit: int | None = None
    transactions: int = 0
    bytes: int = 0
    stored_bytes: int = 0


class Archiver:
    """Copier of a live source's binlogs, byte for byte, into a folder or a cloud storage.

    It may be killed at any moment, and the source may restart: the same call continues. ``paraply apply`` and the other commands take the
    archive as a log.

    Args:
        source: URL of the source: ``mysql://`` or ``mariadb://``.
        into: Folder of the archive, or its ``s3://``, ``gs://`` or ``az://`` URL; one archive holds the logs of one server.
        compression: ``zstd``, ``gzip``, ``xz`` or ``none``; None for that of the archive, or zstd for a new one.
        once: True to end at the source's present end, in place of copying until ``stop``.
        flush_seconds: Longest time that a received transaction waits before it is stored.
        source_timeout: Seconds of silence after which the source is connected to again.
        defaults_file: MySQL option file for values missing in the URL.
        on_event: Called with one line about each event, such as the loss of the source.
        on_progress: Called after each stored piece.

    Raises:
        UsageError: The source is no MySQL or MariaDB, or the compression is not known.

    >>> Archiver("mysql://repl@db1.example.org", "/backup/db1", once=True).report.files
    0
    """

    def __init__(
        self,
        source: str,
        into: Path | str,
        *,
        compression: str | None = None,
        once: bool = False,
        flush_seconds: float = FLUSH_SECONDS,
        source_timeout: float = SILENCE_SECONDS,
        defaults_file: str | None = None,
        on_event: Callable[[str], None] | None = None,
        on_progress: Callable[[ArchiveReport], None] | None = None,
    ) -> None:
        self._url = parse_source(source, defaults_file=defaults_file)
        self._location = joined_url(into).rstrip("/") if is_url(into) else str(into)
        self._compression = None if compression is None else parse_compression(compression)
        self._once = once
        self._flush_seconds = _LAST_SECONDS if once else flush_seconds
        self._timeout = source_timeout
        self._on_event = on_event or (lambda _text: None)
        self._on_progress = on_progress or (lambda _report: None)
        self._wake = runtime.event()
        self._copy: LogCopy | None = None
        self._end: SourceEnd | None = None
        self._writer: ArchiveWriter | None = None
        self._begun = False
        self._transactions = 0
        self._bytes = 0

    def stop(self) -> None:
        """End after the present piece. May be called from any thread or signal handler."""
        self._wake.set()
        if (copy := self._copy) is not None:
            copy.stop()

    @property
    def report(self) -> ArchiveReport:
        """The state of the archive, and what this run has added so far."""
        source, writer = str(self._url), self._writer
        if writer is None:
            return ArchiveReport(self._location, source)
        newest = writer.manifest.newest
        return ArchiveReport(
            self._location,
            source,
            len(writer.manifest.files),
            newest.name if newest is not None else "",
            newest.last_position if newest is not None else 0,
            executed(newest),
            newest.last_commit if newest is not None else None,
            self._transactions,
            self._bytes,
            writer.stored_bytes,
        )

    def run(self) -> ArchiveReport:
        """Copy until it is stopped, or with ``once`` up to the source's present end.

        Raises:
            Stopped: On request.
            ArchiveRefused: The source does not continue the archive, or another process has written into it.
            AlreadyRunning: Another process writes into the archive.
            ReceiveFailed: The source does not send its log.
            ConnectionFailed: The source cannot be reached at the start, or the storage cannot be reached.
            LogDamaged: The source sends damaged events, or the archive is damaged.
        """
        storage = open_storage(self._location, purpose="archiving into")
        token = uuid.uuid4().hex
        with claimed(storage, self._location, token) as claim:
            self._writer = writer = ArchiveWriter(storage, claim, token, self._compression)
            wait = _FIRST_WAIT
            while not self._wake.is_set():
                before = self._bytes
                lost = self._receive(writer)
                if lost is None:
                    break
                if not self._begun and not writer.manifest.files:
                    raise lost
                self._on_event(f"the source was lost, and is tried again: {lost}")
                wait = _FIRST_WAIT if self._bytes > before else min(_LONGEST_WAIT, wait * 2)
                writer.renew()
                self._wake.wait(wait)
        if self._is_complete(writer):
            return self.report
        raise Stopped("stopped on request at a transaction boundary; the same command continues from here")

    def _receive(self, writer: ArchiveWriter) -> ParaplyError | None:
        """Copy over one connection; return the reason why it was lost, or None if there is nothing more to do."""
        try:
            source = look(self._url, self._timeout, any_format=True)
            place = find_continuation(source, self._location, writer.manifest)
            if self._once and self._end is None:
                self._end = source_end(source)
        except (ConnectionFailed, ServerError) as error:
            return temporary(error)
        if self._begun:
            writer.cut_unfinished()
        else:
            writer.begin(source)
            self._begun = True
        self._on_progress(self.report)
        if self._is_complete(writer):
            return None
        self._copy = copy = LogCopy(place.file, known=place.known)
        return self._store(writer, source, copy)

    def _store(self, writer: ArchiveWriter, source: Source, copy: LogCopy) -> ParaplyError | None:
        """Store the pieces of one connection."""
        failures: list[BaseException] = []
        receiver = runtime.thread(lambda: self._fill(source, copy, failures), name="paraply-archive-receiver")
        receiver.start()
        try:
            while True:
                ended = not receiver.is_alive()
                if self._wake.is_set():
                    copy.stop()
                piece = copy.take(self._flush_seconds)
                if piece is not None:
                    file = writer.add(piece, source)
                    self._transactions += piece.transactions
                    self._bytes += piece.end - piece.begin
                    self._on_progress(self.report)
                    if file.closed:
                        size = f"{counted(file.size, 'byte')}, {counted(file.transactions, 'transaction')}"
                        self._on_event(f"{file.name} is complete: {size}")
                elif ended or self._wake.is_set():
                    break
                writer.renew()
                if self._is_complete(writer):
                    break
        finally:
            copy.stop()
            receiver.join(timeout=3.0)
        if self._is_complete(writer) or self._wake.is_set() or not failures:
            return None
        return temporary(failures[0])

    def _fill(self, source: Source, copy: LogCopy, failures: list[BaseException]) -> None:
        """Receive until the connection ends; the receiver's thread."""
        try:
            connection = open_connection(source, self._location)
            try:
                connection.copy_log(copy, replica_id(self._location))
            finally:
                connection.close()
        except BaseException as error:  # the main thread reports it
            failures.append(error)
        finally:
            copy.stop()

    def _is_complete(self, writer: ArchiveWriter) -> bool:
        """Return True if the archive has reached the end that the source had at the start."""
        newest, end = writer.manifest.newest, self._end
        if newest is None or end is None:
            return False
        here, there = split_name(newest.name)[1] or 0, split_name(end.file)[1] or 0
        return here > there or (here == there and newest.last_position >= end.position)


def temporary(error: BaseException) -> ParaplyError:
    """Return the error of a source that may come back.

    Raises:
        ParaplyError: The error is permanent.
    """
    if isinstance(error, LogError) or not isinstance(error, ParaplyError):
        raise error
    failure = permanent(error)
    if failure is None:
        return error
    if isinstance(failure, ReceiveFailed) and "GRANT" in failure.message:
        raise ReceiveFailed(f"{failure.message}, and REPLICATION CLIENT (MariaDB: BINLOG MONITOR)")
    raise failure


def executed(file: ArchivedFile | None) -> str:
    """Return the GTIDs executed up to the end of a file."""
    return "" if file is None else str(GtidSet(file.gtids_before or "") | GtidSet(file.gtids))
