"""Receiving a source's log without applying it: the first half of a relay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from paraply._native import RelayLog
from paraply.applier.execute.supervisor import stopped_error
from paraply.applier.preflight.inspect import parse_gtids
from paraply.errors import ConnectionFailed, UsageError
from paraply.replication.receiver import Receiver
from paraply.replication.relay_folder import RotationNote, locked_relay_log, receiver_status, words_of_cut
from paraply.replication.remarks import Remarks
from paraply.replication.source import SILENCE_SECONDS, look
from paraply.runtime import runtime

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from paraply.targets.url import DatabaseUrl

__all__ = ["Reception", "ReceptionOptions"]

_T = TypeVar("_T")

_LOOK_SECONDS = 0.1
_FIRST_WAIT = 0.5
_LONGEST_WAIT = 5.0


@dataclass(frozen=True, slots=True)
class ReceptionOptions:
    """Options of a reception.

    Attributes:
        relay_folder: Folder of the relay log.
        start_after: GTIDs that are not received: a new relay log begins after them.
        start_at: Start in the source's log, file and offset, for a source without GTIDs.
        server_id: Server id of this replica; None derives one.
        relay_file_bytes: Size at which the relay log begins a new file.
        semi_sync: True to allow the source to wait until its transactions are in the relay log, on disk.
        source_timeout: Seconds of silence after which the source is connected to again.
        report: Host and port of this replica in the source's list of replicas.
    """

    relay_folder: Path
    start_after: str | None = None
    start_at: tuple[str, int] | None = None
    server_id: int | None = None
    relay_file_bytes: int = 256 << 20
    semi_sync: bool = False
    source_timeout: float = SILENCE_SECONDS
    report: tuple[str, int] = ("", 0)


class Reception:
    """Receiver of a live source's log, which only fills the relay log.

    It survives restarts of the source, and may itself be killed at any moment: the relay log holds what was received, and the same command
    continues after it.

    Args:
        source: The source's URL.
        options: Options of the reception.
        on_event: Called with one line about each event, such as a missing source; None to write them to the log.
    """

    def __init__(self, source: DatabaseUrl, options: ReceptionOptions, on_event: Callable[[str], None] | None = None) -> None:
        self._url = source
        self._options = options
        self._remarks = Remarks(on_event)
        self._relay: RelayLog | None = None
        self._receiver: Receiver | None = None
        self._wake = runtime.event()

    def stop(self) -> None:
        """End after the present transaction. May be called from any thread or signal handler."""
        self._wake.set()

    def run(self) -> None:
        """Receive until it is stopped.

        Raises:
            Stopped: On request.
            ReceiveFailed: The source does not send its log.
            AlreadyRunning: Another process receives into the relay log.
        """
        options = self._options
        goes_on = any(index.stat().st_size for index in options.relay_folder.glob("*.index"))
        source = self._reached(lambda: look(self._url, options.source_timeout), waits=goes_on)
        by_gtid = source.gtids and options.start_at is None
        if not by_gtid and options.start_after:
            raise UsageError("--start-after names GTIDs, but the source has none; use --start-at FILE:POSITION")
        with locked_relay_log(options.relay_folder):
            relay = self._relay = RelayLog(options.relay_folder, max_bytes=options.relay_file_bytes)
            if (cut := relay.cut) is not None:
                self._remarks.warn(words_of_cut(cut.file, cut.position, cut.bytes))
            if by_gtid and options.start_after:
                relay.hold(parse_gtids(options.start_after))
            receiver = self._receiver = Receiver(
                source,
                relay,
                server_id=options.server_id,
                place=options.start_at,
                by_gtid=by_gtid,
                semi_sync=options.semi_sync,
                report=options.report,
            )
            receiver.start()
            rotation = RotationNote(relay)
            try:
                while not self._wake.wait(_LOOK_SECONDS) and receiver.failure is None:
                    rotation.look()
            finally:
                receiver.stop()
                relay.close()
        if receiver.failure is not None:
            raise receiver.failure
        raise stopped_error()

    def received(self) -> Mapping[str, Any] | None:
        """Return the state of the receiver; None before it has begun."""
        if self._relay is None or self._receiver is None:
            return None
        return receiver_status(self._url, self._relay, self._receiver)

    def _reached(self, ask: Callable[[], _T], *, waits: bool) -> _T:
        """Return the source's answer; wait for a source that is down if the relay log was begun before."""
        wait = _FIRST_WAIT
        while True:
            try:
                answer = ask()
                self._remarks.found("source")
                return answer
            except ConnectionFailed as error:
                if not waits:
                    raise
                self._remarks.missing("source", error)
            if self._wake.wait(wait):
                raise stopped_error()
            wait = min(_LONGEST_WAIT, wait * 2)
