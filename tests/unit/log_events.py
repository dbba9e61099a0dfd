"""Events in the bytes of a log."""

from __future__ import annotations

__all__ = ["MAGIC", "events_of"]

MAGIC = 4
"""Number of bytes before the first event."""


def events_of(content: bytes) -> list[bytes]:
    """Return the events of a log."""
    events, offset = [], MAGIC
    while offset < len(content):
        size = int.from_bytes(content[offset + 9 : offset + 13], "little")
        events.append(content[offset : offset + size])
        offset += size
    return events
