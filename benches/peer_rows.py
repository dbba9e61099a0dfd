"""Rows of a binlog as decoded by python-mysql-replication, without a server."""

from __future__ import annotations

import struct
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pymysql.protocol import MysqlPacket
from pymysqlreplication.event import NotImplementedEvent
from pymysqlreplication.packet import BinLogPacketWrapper
from pymysqlreplication.row_event import DeleteRowsEvent, RowsEvent, TableMapEvent, UpdateRowsEvent, WriteRowsEvent

__all__ = ["count_rows"]

HEADER = 19
TABLE_MAP, ROWS = 19, (23, 24, 25, 30, 31, 32)
ALLOWED = (TableMapEvent, WriteRowsEvent, UpdateRowsEvent, DeleteRowsEvent, NotImplementedEvent)


def count_rows(log: Path) -> int:
    """Decode every row of a log of MySQL with full row metadata, and return the number of rows."""
    content = log.read_bytes()
    tables: dict[int, Any] = {}
    offset, rows = 4, 0
    while offset + HEADER <= len(content):
        (size,) = struct.unpack_from("<I", content, offset + 9)
        if content[offset + 4] == TABLE_MAP or content[offset + 4] in ROWS:
            rows += decode(content[offset : offset + size], tables)
        offset += size
    return rows


def decode(event: bytes, tables: dict[int, Any]) -> int:
    """Decode one event as that library's stream reader does, and return its number of rows."""
    wrapped = BinLogPacketWrapper(
        MysqlPacket(b"\0" + event, "utf8mb4"),
        tables,
        SimpleNamespace(charset="utf8mb4", _get_dbms=lambda: "mysql", _get_table_information=lambda *_: []),
        mysql_version=(8, 0, 36),
        use_checksum=True,
        allowed_events=ALLOWED,
        only_tables=None,
        ignored_tables=None,
        only_schemas=None,
        ignored_schemas=None,
        freeze_schema=False,
        ignore_decode_errors=False,
        verify_checksum=False,
        optional_meta_data=True,
        enable_logging=False,
    )
    found = wrapped.event
    if isinstance(found, TableMapEvent):
        tables[found.table_id] = found.get_table()
        return 0
    return len(found.rows) if isinstance(found, RowsEvent) else 0
