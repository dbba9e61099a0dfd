"""Source server for one replica: speaks MySQL's protocol as far as a receiver thread uses it."""

from __future__ import annotations

import contextlib
import logging
import secrets
import socket
import threading
import time
import uuid
from typing import TYPE_CHECKING

from paraply.applier.via_replication.protocol import Command, PacketStream, greet, received_gtids
from paraply.errors import ConnectionFailed, ParaplyError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from paraply._native import Dump
    from paraply.applier.schedule.job_list import Job
    from paraply.applier.via_replication.outbox import Outbox

__all__ = ["SourceServer", "last_committed_of"]

_log = logging.getLogger("paraply.logs")

_HEARTBEAT_SECONDS = 2.0
_GREETING_SECONDS = 10.0
_USER = "paraply"
_LONGEST_PASSWORD = 32
_SENT_AT_ONCE = 1 << 20
_LARGEST_SERVER_ID = 0xFFFF_FFFE


class SourceServer:
    """Server on one address that sends the outbox to the client that knows the password: the replica's receiver.

    Args:
        address: Host and port to listen on; port 0 for a free one.
        outbox: Jobs to send.
        version: Version of the server that wrote the log.
        replica_id: The target's server_id.
        workers: Number of workers of the replica's applier.
        on_error: Called with the error that ends the run: a log that cannot be read any more.

    Raises:
        UsageError: Listening on the address fails.
    """

    def __init__(
        self,
        address: tuple[str, int],
        outbox: Outbox,
        version: str,
        replica_id: int,
        workers: int,
        on_error: Callable[[BaseException], None],
    ) -> None:
        self._outbox = outbox
        self._workers = workers
        self._version = version
        self._replica_id = replica_id
        own = 1 + secrets.randbelow(_LARGEST_SERVER_ID)
        self._server_id = own if own != replica_id else own ^ 1
        self._on_error = on_error
        self._uuid = str(uuid.uuid4())
        self.user = _USER
        self.password = secrets.token_urlsafe(24)[:_LONGEST_PASSWORD]
        self.dumps = 0
        """Number of times that a replica began to read."""
        self._links: set[socket.socket] = set()
        self._mutex = threading.Lock()
        self._closed = False
        try:
            self._listener = socket.create_server(address)
        except OSError as error:
            raise UsageError(
                f"cannot listen on {address[0]}:{address[1]} for the target's replication: {error.strerror or error}"
            ) from None
        self._threads = [threading.Thread(target=self._accept, name="paraply-source", daemon=True)]
        self._threads[0].start()

    @property
    def port(self) -> int:
        """Port on which it listens."""
        return int(self._listener.getsockname()[1])

    def close(self) -> None:
        """End every connection and stop listening."""
        self._closed = True
        with contextlib.suppress(OSError):  # wakes the thread that accepts
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._mutex:
            links = list(self._links)
        for link in links:
            with contextlib.suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        number = 0
        while not self._closed:
            try:
                link, _ = self._listener.accept()
            except OSError:
                return
            number += 1
            self._threads = [thread for thread in self._threads if thread.is_alive()]
            thread = threading.Thread(target=self._serve, args=(link, number), name=f"paraply-source-{number}", daemon=True)
            with self._mutex:
                self._links.add(link)
            self._threads.append(thread)
            thread.start()

    def _serve(self, link: socket.socket, number: int) -> None:
        try:
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            link.settimeout(_GREETING_SECONDS)
            stream = PacketStream(link)
            if greet(stream, version=self._version, connection_id=number, user=self.user, password=self.password):
                link.settimeout(None)
                self._answer(stream)
        except (ConnectionFailed, OSError, IndexError, UnicodeDecodeError) as error:
            _log.info("connection %d of the replica has ended: %s", number, error)
        except BaseException as error:  # without a report the replica would wait for this thread
            self._on_error(error)
        finally:
            with self._mutex:
                self._links.discard(link)
            link.close()

    def _answer(self, stream: PacketStream) -> None:
        while True:
            request = stream.read()
            command = request[0]
            if command == Command.QUERY:
                self._query(stream, request[1:].decode("utf-8", "replace"))
            elif command in (Command.REGISTER_REPLICA, Command.PING):
                stream.ok()
            elif command == Command.DUMP_GTID:
                self._dump(stream, request)
                return
            elif command == Command.QUIT:
                return
            else:
                stream.error(1047, "08S01", "Unknown command")

    def _query(self, stream: PacketStream, text: str) -> None:
        """Answer a query that a receiver sends before it asks for the log."""
        query = text.upper()
        answers = {
            "UNIX_TIMESTAMP()": str(int(time.time())),
            "@@GLOBAL.SERVER_ID": str(self._server_id),
            "@@GLOBAL.SERVER_UUID": self._uuid,
            "@@GLOBAL.GTID_MODE": "ON",
            "BINLOG_CHECKSUM": "CRC32",
        }
        if query.startswith("SET "):
            stream.ok()
            return
        for what, answer in answers.items():
            if what in query:
                stream.row(answer)
                return
        stream.unknown(text.rpartition(".")[2][:64])

    def _dump(self, stream: PacketStream, request: bytes) -> None:
        """Send the outbox, until the replica or the run ends."""
        from paraply._native import Dump, GtidSet

        dump = Dump(self._server_id, self._replica_id, stream.sequence)
        sending = self._outbox.begin(GtidSet(received_gtids(request)))
        self.dumps += 1
        while (jobs := self._outbox.take(sending, _HEARTBEAT_SECONDS)) is not None:
            try:
                for packets in _packets(dump, jobs, self._workers):
                    stream.write_raw(packets)
            except ConnectionFailed:
                raise
            except ParaplyError as error:
                self._on_error(error)
                return


def last_committed_of(job: Job, workers: int) -> int:
    """Return the number of the transaction for which the replica waits before it starts this one.

    It is the youngest one that this job needs, but never further back than the number of workers. When more jobs may start than there
    are workers, MySQL's coordinator searches for a free worker in a loop that does not sleep (``get_least_occupied_worker`` in its
    ``sql/rpl_mts_submode.cc``), which took up to a quarter of the server's CPU; for a number it sleeps. Commits are in order, so a
    worker is free when the job of that number is committed, and nothing starts later than it would.

    >>> from types import SimpleNamespace
    >>> job = SimpleNamespace(number=1000, needs=20, blocks=(7, 31))
    >>> last_committed_of(job, workers=16), last_committed_of(job, workers=980)
    (984, 31)
    """
    return max(job.needs, *job.blocks, job.number - workers)


def _packets(dump: Dump, jobs: list[Job], workers: int) -> Iterator[bytes]:
    """Yield the packets for these jobs in pieces of bounded size; a heartbeat for no jobs."""
    if not jobs:
        yield dump.heartbeat()
    waiting: list[bytes] = []
    size = 0
    for job in jobs:
        last_committed = last_committed_of(job, workers)
        sent: int | None = 0
        while sent is not None:
            packets, sent = dump.transactions(job.block, last_committed, job.number, sent)
            waiting.append(packets)
            size += len(packets)
            if size >= _SENT_AT_ONCE:
                yield b"".join(waiting)
                waiting, size = [], 0
    yield b"".join(waiting)
