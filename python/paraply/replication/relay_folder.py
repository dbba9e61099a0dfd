"""The folder of a relay log: its lock, and the state of the receiver that fills it."""

from __future__ import annotations

import fcntl
import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from paraply.errors import AlreadyRunning
from paraply.logs.stop_point import moment_text
from paraply.runtime import runtime
from paraply.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from paraply._native import RelayLog
    from paraply.replication.receiver import Receiver
    from paraply.targets.url import DatabaseUrl

__all__ = ["RotationNote", "locked_relay_log", "receiver_status", "words_of_cut"]

_LOOK_SECONDS = 5.0
_log = logging.getLogger("paraply.replication")


@contextmanager
def locked_relay_log(folder: Path) -> Iterator[None]:
    """Lock the relay log for one replication.

    Raises:
        AlreadyRunning: Another process receives into it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "relay.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise AlreadyRunning(f"another process uses the relay log in {folder}: end it, or name another --relay-log") from None
        yield


def words_of_cut(file: str, position: int, size: int) -> str:
    """Return a sentence about an unfinished transaction that was cut off.

    >>> words_of_cut("relay.000003", 197, 1)
    'the relay log ended inside a transaction: 1 byte was cut after relay.000003:197'
    """
    return f"the relay log ended inside a transaction: {counted(size, 'byte was', 'bytes were')} cut after {file}:{position}"


class RotationNote:
    """Notes in the log of paraply's messages when the relay log begins a new file; for one relay log."""

    def __init__(self, relay: RelayLog) -> None:
        self._relay = relay
        self._file = relay.status().relay_file
        self._next = runtime.monotonic() + _LOOK_SECONDS

    def look(self) -> None:
        """Look for a new file every few seconds; returns at once in between."""
        if runtime.monotonic() < self._next:
            return
        self._next = runtime.monotonic() + _LOOK_SECONDS
        file = self._relay.status().relay_file
        if file != self._file and self._file:
            _log.info("the relay log continues in %s", file, extra={"event": "rotated"})
        self._file = file


def receiver_status(url: DatabaseUrl, relay: RelayLog, receiver: Receiver) -> Mapping[str, Any]:
    """Return a receiver's part of the status.

    Args:
        url: The source.
        relay: The relay log.
        receiver: The receiver that fills it.
    """
    status = relay.status()
    refused = receiver.wants_semi_sync and receiver.semi_sync_refusal
    return {
        "source": str(url),
        "connected": receiver.connected,
        "connections": receiver.connections,
        "disconnected_since": None if receiver.connected else moment_text(int(receiver.disconnected_at * 1e6)),
        "last_error": receiver.last_error,
        "semi_sync": "on" if receiver.semi_sync else "refused" if refused else "off",
        "semi_sync_refusal": receiver.semi_sync_refusal,
        "heartbeats": relay.heartbeats,
        "acknowledgements": relay.acknowledgements,
        "received": str(status.received),
        "received_transactions": status.transactions,
        "received_bytes": status.bytes,
        "last_received": status.last_gtid,
        "source_file": status.source_file,
        "source_position": status.source_position,
        "relay_file": status.relay_file,
        "relay_position": status.relay_position,
        "heard_seconds_ago": None if relay.heard_at is None else round(max(0.0, runtime.now() - relay.heard_at / 1e6), 3),
    }
