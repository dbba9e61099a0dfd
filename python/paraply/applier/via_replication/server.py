"""Source of a replica whose transactions the coordinator hands out, over the protocol of ``serve``."""

from __future__ import annotations

import secrets
import uuid
from typing import TYPE_CHECKING

from paraply._native import Dump, TransactionServer
from paraply.targets.mysql.replication.common import SOURCE_USER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from paraply._native import GtidSet
    from paraply.applier.schedule.job_list import Job
    from paraply.applier.via_replication.outbox import Outbox

__all__ = ["SourceServer", "last_committed_of"]

_HEARTBEAT_SECONDS = 2.0
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
        on_approval: True if the transactions are sent only once after each call of ``approve``.

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
        *,
        on_approval: bool = False,
    ) -> None:
        self._outbox = outbox
        self._on_approval = on_approval
        self._approved = not on_approval
        self._workers = workers
        self._replica_id = replica_id
        own = 1 + secrets.randbelow(_LARGEST_SERVER_ID)
        self._server_id = own if own != replica_id else own ^ 1
        self.user = SOURCE_USER
        self.password = secrets.token_urlsafe(24)[:_LONGEST_PASSWORD]
        self._server = TransactionServer(
            *address,
            self._send,
            on_error,
            version=version,
            user=self.user,
            password=self.password,
            server_id=self._server_id,
            server_uuid=str(uuid.uuid4()),
        )

    @property
    def port(self) -> int:
        """Port on which it listens."""
        return self._server.port

    @property
    def dumps(self) -> int:
        """Number of times that a replica began to read."""
        return self._server.dumps

    def approve(self) -> None:
        """Let one replica read, from now on."""
        self._approved = True

    def close(self) -> None:
        """End every connection and stop listening. The outbox must be closed, or its connection would wait for it."""
        self._server.stop()

    def _send(self, received: GtidSet, packet: int) -> Iterator[bytes]:
        """Yield packets of the outbox, until the replica or the run ends.

        Args:
            received: Transactions that the replica has.
            packet: Number of the first packet.
        """
        dump = Dump(self._server_id, self._replica_id, packet)
        if not self._approved:
            yield dump.refusal("This source sends its transactions once: paraply makes the replication connection again")
            return
        self._approved = not self._on_approval
        sending = self._outbox.begin(received)
        while (jobs := self._outbox.take(sending, _HEARTBEAT_SECONDS)) is not None:
            yield from _packets(dump, jobs, self._workers)


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
