"""Logs of any size: the transactions of a real log, repeated with new GTIDs, positions and checksums."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import paraply

__all__ = ["repeat"]

HEADER, CHECKSUM = 19, 4
GTID_EVENTS = (33, 34)
NUMBER_AT = HEADER + 17


def repeat(log: Path, out: Path, size: int) -> None:
    """Write a binlog of MySQL with CRC32 checksums until it has ``size`` bytes.

    Args:
        log: The log to repeat; everything before its first transaction, and its statements, are written once.
        out: The file to write.
        size: Size in bytes.
    """
    content = log.read_bytes()
    transactions = [(t.offset, t.end_offset, bool(t.statements)) for t in paraply.open_log(log)]
    rows = [events_of(content, start, end) for start, end, statement in transactions if not statement]
    with out.open("wb") as file:
        end = transactions[-1][1]
        file.write(content[:end])
        round_number = 0
        while end < size:
            round_number += 1
            for events in rows:
                for event in events:
                    end += len(event)
                    struct.pack_into("<I", event, 13, end)
                    if event[4] in GTID_EVENTS:
                        (number,) = struct.unpack_from("<Q", event, NUMBER_AT)
                        struct.pack_into("<Q", event, NUMBER_AT, number + len(transactions))
                    struct.pack_into("<I", event, len(event) - CHECKSUM, zlib.crc32(memoryview(event)[:-CHECKSUM]))
                    file.write(event)


def events_of(content: bytes, start: int, end: int) -> list[bytearray]:
    """Return the events of a transaction."""
    events = []
    while start < end:
        (length,) = struct.unpack_from("<I", content, start + 9)
        events.append(bytearray(content[start : start + length]))
        start += length
    return events
