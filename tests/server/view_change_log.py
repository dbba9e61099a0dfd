"""A binary log file with a group's view change, byte by byte as MySQL 8.0 wrote it; newer servers log none.

Nothing here is taken from the product's own writer of such events.
"""

from __future__ import annotations

import struct
import uuid
import zlib
from pathlib import Path

from own_mysql import OwnMySql

MAGIC = b"\xfebin"
HEADER = struct.Struct("<IBIIIH")
"""Time, type, server id, size, position behind the event, flags."""
QUERY, STOP, FORMAT_DESCRIPTION, GTID, PREVIOUS_GTIDS, VIEW_CHANGE = 2, 3, 15, 33, 35, 37
CHECKSUM = 4
TIME = 1_767_225_600
SERVER_ID = 1


class LogFile:
    """A log file that grows event by event; every event gets its position and its checksum."""

    def __init__(self, format_description: bytes) -> None:
        body = format_description[HEADER.size : -CHECKSUM]
        self.bytes = MAGIC
        self.add(FORMAT_DESCRIPTION, body)

    def add(self, kind: int, body: bytes, flags: int = 0) -> None:
        size = HEADER.size + len(body) + CHECKSUM
        event = HEADER.pack(TIME, kind, SERVER_ID, size, len(self.bytes) + size, flags) + body
        self.bytes += event + zlib.crc32(event).to_bytes(4, "little")


def previous_gtids(gtids: str) -> bytes:
    """The body of the event that says what the files before hold."""
    body = b""
    sources = [part.split(":") for part in gtids.replace("\n", "").split(",") if part]
    for source, *intervals in sources:
        body += uuid.UUID(source).bytes + struct.pack("<Q", len(intervals))
        for interval in intervals:
            first, _, last = interval.partition("-")
            body += struct.pack("<QQ", int(first), int(last or first) + 1)
    return struct.pack("<Q", len(sources)) + body


def query(text: str) -> bytes:
    """A statement of a session without a database: its thread, its sql_mode, its character sets."""
    status = (
        b"\x00" + struct.pack("<I", 0) + b"\x01" + struct.pack("<Q", 0x45A00020) + b"\x06\x03std\x04" + struct.pack("<HHH", 255, 255, 255)
    )
    return struct.pack("<IIBHH", 7, 0, 0, 0, len(status)) + status + b"\x00" + text.encode()


def view_change(view_id: str, number: int, certification_info: dict[str, bytes]) -> bytes:
    """A view's id, the number that its certification begins with, and what the joining member certifies by."""
    body = view_id.encode().ljust(40, b"\x00") + struct.pack("<QI", number, len(certification_info))
    for key, value in certification_info.items():
        body += struct.pack("<H", len(key)) + key.encode() + struct.pack("<I", len(value)) + value
    return body


def gtid(identifier: str, behind: list[bytes], last_committed: int, sequence_number: int) -> bytes:
    """In front of a transaction, with the length of the whole."""
    source, _, number = identifier.partition(":")
    body = b"\x00" + uuid.UUID(source).bytes + struct.pack("<QBQQ", int(number), 2, last_committed, sequence_number)
    body += (TIME * 1_000_000).to_bytes(7, "little")
    rest = sum(HEADER.size + len(event) + CHECKSUM for event in behind)
    length = HEADER.size + len(body) + 3 + 4 + CHECKSUM + rest  # the length itself takes three bytes, the server's version four
    return body + b"\xfc" + struct.pack("<H", length) + struct.pack("<I", 80_036)


def log_a_view_change(server: OwnMySql, identifier: str, view_id: str) -> Path:
    """Puts a file with a view change behind the logs of a server that is down.

    Args:
        server: The server; it was shut down in order.
        identifier: The GTID of the view change.
        view_id: The view.
    """
    index = server.data / "binlog.index"
    last = server.data / Path(index.read_text().split()[-1]).name
    content = last.read_bytes()
    size = HEADER.unpack_from(content, len(MAGIC))[3]
    file = LogFile(content[len(MAGIC) : len(MAGIC) + size])
    file.add(PREVIOUS_GTIDS, previous_gtids(_executed(last)), flags=0x80)
    info = {"AAAAAAAAAAAAAAAAAAAAAA==": previous_gtids(_executed(last)), "a joining member's other item": b"\x01\x02\x03" * 40}
    events = [(QUERY, query("BEGIN")), (VIEW_CHANGE, view_change(view_id, 42, info)), (QUERY, query("COMMIT"))]
    file.add(GTID, gtid(identifier, [body for _, body in events], 0, 0))
    for kind, body in events:
        file.add(kind, body)
    file.add(STOP, b"")
    path = last.with_name(f"binlog.{int(last.suffix[1:]) + 1:06}")
    path.write_bytes(file.bytes)
    with index.open("a") as lines:
        lines.write(f"./{path.name}\n")
    return path


def _executed(last: Path) -> str:
    """Everything up to the end of a log file."""
    from paraply._native import GtidSet, log_gtids, log_head

    return str(log_gtids(str(last)) | (log_head(str(last)).previous_gtids or GtidSet()))
