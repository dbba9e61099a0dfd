"""The receiver: a thread that fills the relay log, and reconnects when the source is available again."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from paraply.errors import ConnectionFailed, ParaplyError, ReceiveFailed, ServerError
from paraply.replication.source import HEARTBEAT_SECONDS, replica_server_id
from paraply.runtime import runtime

if TYPE_CHECKING:
    from paraply._native import GtidSet, RelayLog
    from paraply.replication.protocol import LogSource

__all__ = ["Receiver"]

_log = logging.getLogger("paraply.replication")

_FIRST_WAIT = 0.25
_LONGEST_WAIT = 5.0
_FATAL = 1236
"""Error by which the source refuses the requested log."""
_DENIED = (1045, 1142, 1227)
_PURGED = (
    "; if an archive of the source has the missing transactions, run paraply apply ARCHIVE with the same --to, --channel and filters"
    " (into MySQL and MariaDB with the channel's GTID mode, as --gtid preserve), and start again; otherwise restore a newer backup into the"
    " target, and name what it holds with --start-after"
)


class Receiver:
    """Receiver of a source's log into a relay log, until it is stopped.

    A broken connection is made again, first after a quarter of a second, later after five seconds at most. A permanent refusal ends the
    relay log, so that its readers end after the received transactions. A source that is silent for too long, without even a heartbeat,
    is connected to again.

    Args:
        source: The source.
        relay: The relay log.
        server_id: Server id of this replica; None derives one from the relay log's folder.
        place: Start in the source's log, file and offset, for an empty relay log; None for GTIDs, or the source's first file.
        by_gtid: True to request the log by GTIDs.
        semi_sync: True to allow a source to wait for this replica: transactions that it waits for are synced to disk and acknowledged. From
            a source that does not wait, the log is received as usual, with a warning.
        report: Host and port of this replica in the source's list of replicas; none by default, as with servers.
    """

    def __init__(
        self,
        source: LogSource,
        relay: RelayLog,
        *,
        server_id: int | None = None,
        place: tuple[str, int] | None = None,
        by_gtid: bool = True,
        semi_sync: bool = False,
        report: tuple[str, int] = ("", 0),
    ) -> None:
        self._source = source
        self._relay = relay
        self._server_id = server_id if server_id is not None else replica_server_id(relay.folder)
        self._place = place
        self._by_gtid = by_gtid
        self.wants_semi_sync = semi_sync
        """True if a source may wait for this replica."""
        self._report = report
        self._connected_at = 0.0
        self._lost_at: float | None = None
        self._ended = runtime.event()
        self._thread = runtime.thread(self._run, name="paraply-receiver")
        self.connected = False
        """True while a connection receives."""
        self.disconnected_at = runtime.now()
        """Time of the last connection's end, or of the start, seconds since 1970."""
        self.heard_to_the_stop = False
        """True if a connection received until ``stop`` was called."""
        self.connections = 0
        """Number of connections made."""
        self.last_error = ""
        """Reason of the last connection's end, or of its failure."""
        self.semi_sync = False
        """True if the source may wait for this replica on the present connection."""
        self.semi_sync_refusal = ""
        """Reason why the source does not wait, although it was asked to."""
        self.failure: ParaplyError | None = None
        """Permanent error that ended the receiver."""

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End within a heartbeat, and wait for the end; do not wait for a silent source."""
        self.heard_to_the_stop = self.connected
        self._ended.set()
        self._relay.stop_receiving()
        if self._thread.is_alive():
            self._thread.join(timeout=3.0)

    def _run(self) -> None:
        wait = _FIRST_WAIT
        while not self._ended.is_set():
            before = self._relay.status().transactions
            try:
                self._receive()
            except ParaplyError as error:
                self.last_error = self._why(error)
                if (failure := permanent(error)) is not None:
                    self._give_up(failure)
                    return
                _log.warning("the source was lost: %s", self.last_error, extra={"event": "source-lost"})
            except BaseException as error:  # readers of the relay log must get the error
                self._give_up(ReceiveFailed(f"the receiver ended unexpectedly: {error}"))
                raise
            finally:
                if self.connected:
                    self._lost_at, self.disconnected_at = runtime.monotonic(), runtime.now()
                self.connected = False
            wait = _FIRST_WAIT if self._relay.status().transactions > before else min(_LONGEST_WAIT, wait * 2)
            self._ended.wait(wait)

    def _give_up(self, failure: ParaplyError) -> None:
        self.failure = failure
        self._relay.close()

    def _why(self, error: ParaplyError) -> str:
        """Return the reason of a connection's end; names a source silent if not even a heartbeat arrived."""
        if self.connected and isinstance(error, ConnectionFailed):
            quiet = runtime.now() - max(self._connected_at, (self._relay.heard_at or 0) / 1e6)
            if quiet >= self._source.timeout - HEARTBEAT_SECONDS:
                return f"it sent nothing for {quiet:.0f} s, not even a heartbeat, which it should send every {HEARTBEAT_SECONDS:g} s"
        return str(error)

    def _agree_on_semi_sync(self) -> bool:
        """Return True if acknowledgements are wanted and the source accepts them; a refusal is reported once."""
        if not self.wants_semi_sync:
            return False
        refusal = self._source.semi_sync_refusal() or ""
        if refusal and refusal != self.semi_sync_refusal:
            _log.warning("replication is asynchronous, the source does not wait for this replica: %s", refusal)
        self.semi_sync_refusal = refusal
        return not refusal

    def _receive(self) -> None:
        """Receive over one connection until it ends."""
        self.semi_sync = semi_sync = self._agree_on_semi_sync()
        connection = self._source.connect()
        try:
            status = self._relay.status()
            received: GtidSet | None = status.received if self._by_gtid else None
            self._source.prepare(connection, self._relay.folder, received, semi_sync=semi_sync)
            self.connected = True
            self.connections += 1
            self._connected_at = runtime.now()
            if self._lost_at is not None:
                seconds = runtime.monotonic() - self._lost_at
                _log.warning("the source is available again, after %.1f s", seconds, extra={"event": "connected"})
                self._lost_at = None
            elif self.connections == 1:
                _log.info("connected to the source", extra={"event": "connected"})
            host, port = self._report
            if received is None:
                file, position = (status.source_file, status.source_position) if status.source_file else self._place or ("", 4)
                connection.receive(
                    self._relay, self._server_id, file=file, position=position, semi_sync=semi_sync, report_host=host, report_port=port
                )
            else:
                behind = None if self._source.mariadb else received
                connection.receive(self._relay, self._server_id, behind=behind, semi_sync=semi_sync, report_host=host, report_port=port)
        finally:
            connection.close()


def permanent(error: ParaplyError) -> ParaplyError | None:
    """Return the error that ends a receiver; None for an error that may pass, such as a restart of the source.

    >>> permanent(ServerError("Cannot replicate because the source purged required binary logs.", 1236)).exit_code
    1
    """
    if isinstance(error, ServerError):
        if error.code == _FATAL:
            return ReceiveFailed(_advice(error.message))
        if error.code in _DENIED:
            return ReceiveFailed(f"{error.message} (error {error.code}): GRANT REPLICATION SLAVE ON *.* to the user on the source")
        return None
    return None if isinstance(error, ConnectionFailed) else error


def _advice(message: str) -> str:
    text = f"the source does not send its log: {message.rstrip('.')} (error {_FATAL})"
    lowered = message.lower()
    if "purged" in lowered or "could not find gtid state" in lowered:
        return text + _PURGED
    if "more gtids than" in lowered:
        return text + "; the source was reset, or lost what the target has: copy its data into an empty target, and replicate into that"
    if "more transactions than" in lowered or "not in the" in lowered:
        return text + "; the target holds transactions that this source never had: replicate from the right one"
    if "same server" in lowered:
        return text + "; another replica uses the same server id: give this one another with --server-id"
    return text
