"""Row events of a transaction one by one, and logs that are made of some of them.

The native core hashes and renders whole transactions. So that it can do the same with a part of one, the part is written as a
small log of its own: the format description, and for each transaction its table maps and row events, unchanged.
"""

from __future__ import annotations

import base64
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paraply import _native
from paraply.errors import ApplyFailed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import IO

    from paraply._native import Block

__all__ = ["RowEvents", "Unit", "row_events", "write_log"]

_MAGIC = b"\xfebin"
_HEADER = struct.Struct("<IBIIIH")
_QUERY, _XID, _TABLE_MAP = 2, 16, 19
_STATEMENT_END = 1
_QUOTED = slice(len(b"BINLOG '"), -1)
#: Behind the common header and the table's id of six bytes, which servers have written since 5.1.4.
_FLAGS_AT = _HEADER.size + 6
_FIRST_VERSION = (5, 1, 4)
_SHORT = (24 * 1024, 1024 * 1024)


@dataclass(frozen=True, slots=True)
class Unit:
    """A row event with the table map that it needs; the smallest part of a transaction.

    Attributes:
        table_map: The table map event.
        rows: The row event, marked as the end of its statement.
    """

    table_map: bytes
    rows: bytes

    @property
    def size(self) -> int:
        """Bytes of the row event."""
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class RowEvents:
    """A transaction in units.

    Attributes:
        format: The format description event.
        units: In the transaction's order.
    """

    format: bytes
    units: list[Unit]


def row_events(block: Block) -> RowEvents | None:
    """A block's row events; None for a log of a server that is too old."""
    if not block.format.mariadb and block.format.version < _FIRST_VERSION:
        return None
    units = [unit for statement in _small_statements(block) for unit in _units(statement)]
    return RowEvents(_decoded(_native.format_statement(block)), units)


def write_log(file: IO[bytes], format_event: bytes, transactions: Iterable[Sequence[Unit]]) -> None:
    """Writes a log that the native reader understands.

    Args:
        file: Where to; its beginning.
        format_event: The format description, without checksums.
        transactions: The units of each transaction.
    """
    file.write(_MAGIC)
    file.write(_at_start(format_event))
    begin = _event(_QUERY, struct.pack("<IIBHH", 0, 0, 0, 0, 0) + b"\0BEGIN")
    commit = _event(_XID, bytes(8))
    for units in transactions:
        file.write(begin)
        for unit in units:
            file.write(unit.table_map)
            file.write(unit.rows)
        file.write(commit)


def _small_statements(block: Block) -> list[bytes]:
    """Statements so short that neighbouring row events are not joined much; a source's row event has eight kilobytes or one row."""
    for most in _SHORT:
        try:
            return _native.binlog_statements(block, most)
        except ApplyFailed:  # one row is longer than that
            continue
    return _native.binlog_statements(block)


def _decoded(statement: bytes) -> bytes:
    return base64.b64decode(statement[_QUOTED])


def _units(statement: bytes) -> Iterator[Unit]:
    """The row events of one ``BINLOG`` statement."""
    events = _decoded(statement)
    maps: dict[bytes, bytes] = {}
    at = 0
    while at < len(events):
        _, kind, _, size, _, _ = _HEADER.unpack_from(events, at)
        event = bytearray(events[at : at + size])
        at += size
        event[13:17] = bytes(4)  # its place in the log means nothing any more
        table = bytes(event[_HEADER.size : _FLAGS_AT])
        if kind == _TABLE_MAP:
            maps[table] = bytes(event)
        elif table in maps:
            event[_FLAGS_AT] |= _STATEMENT_END
            yield Unit(maps[table], bytes(event))


def _at_start(format_event: bytes) -> bytes:
    """The format description as the first event of a file; one with another place is taken for a copy without a place."""
    when, kind, server, size, place, flags = _HEADER.unpack_from(format_event)
    if place == len(_MAGIC) + size:
        return format_event
    return _HEADER.pack(when, kind, server, size, 0, flags) + format_event[_HEADER.size :]


def _event(kind: int, body: bytes) -> bytes:
    return _HEADER.pack(0, kind, 0, _HEADER.size + len(body), 0, 0) + body
