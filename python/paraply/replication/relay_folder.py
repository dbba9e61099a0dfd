"""The folder of a relay log: its lock, and the state of the receiver that fills it."""

from __future__ import annotations

import fcntl
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from paraply.errors import AlreadyRunning
from paraply.logs.stop_point import moment_text
from paraply.runtime import runtime

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from paraply._native import RelayLog
    from paraply.replication.receiver import Receiver
    from paraply.targets.url import DatabaseUrl

__all__ = ["locked_relay_log", "receiver_status"]


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
