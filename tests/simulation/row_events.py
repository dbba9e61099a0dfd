"""Row changes of a block as a server would read them: from its ``BINLOG`` statements, by a decoder of its own."""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING

from simulation.history import Change, Row

from paraply._native import binlog_statements

if TYPE_CHECKING:
    from paraply._native import Block

__all__ = ["sent_changes"]

HEADER = 19
TABLE_MAP, WRITE, UPDATE, DELETE = 19, 30, 31, 32


def sent_changes(block: Block) -> list[Change]:
    """Return the changes that the statements of a block, or of a part of one, hold."""
    found: list[Change] = []
    tables: dict[bytes, str] = {}
    for statement in binlog_statements(block):
        for kind, body in _events(base64.b64decode(statement.partition(b"'")[2].rpartition(b"'")[0])):
            if kind == TABLE_MAP:
                tables[body[:6]] = _table(body)
            elif kind in (WRITE, UPDATE, DELETE):
                found += _changes(kind, tables[body[:6]], body)
    return found


def _events(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(data):
        (size,) = struct.unpack_from("<I", data, at + 9)
        yield data[at + 4], data[at + HEADER : at + size]
        at += size


def _table(body: bytes) -> str:
    """Return the name of a table map's table, without its database."""
    name = 8 + 1 + body[8] + 1
    return body[name + 1 : name + 1 + body[name]].decode()


def _changes(kind: int, table: str, body: bytes) -> Iterator[Change]:
    at = 8 + struct.unpack_from("<H", body, 8)[0]
    at += 1 + (2 if kind == UPDATE else 1)  # two columns, and which of them each image has
    while at < len(body):
        image, at = _image(table, body, at)
        if kind == UPDATE:
            after, at = _image(table, body, at)
            yield Change(table, image, after)
        else:
            yield Change(table, image, None) if kind == DELETE else Change(table, None, image)


def _image(table: str, body: bytes, at: int) -> tuple[Row, int]:
    (identity,) = struct.unpack_from("<i", body, at + 1)
    at += 5
    if table == "word":
        end = at + 1 + body[at]
        return (identity, body[at + 1 : end].decode()), end
    return (identity, struct.unpack_from("<i", body, at)[0]), at + 4
