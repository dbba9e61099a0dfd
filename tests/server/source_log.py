"""Copies the binlogs of a running MySQL, as a replica would: over the protocol, so that it may be any server."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from servers import sql_connect

COM_BINLOG_DUMP = 0x12
NON_BLOCK = 1
ROTATE, ARTIFICIAL = 4, 0x20
MAGIC = b"\xfebin"


def copy_binlogs(url: str, folder: Path) -> list[Path]:
    """Copies every binlog that the server has into a folder; the files in order."""
    parts = urlsplit(url)
    connection: Any = sql_connect(
        host=parts.hostname, port=parts.port or 3306, user=parts.username, password=parts.password or "", autocommit=True
    )
    with connection:
        with connection.cursor() as cursor:
            cursor.execute("SHOW BINARY LOGS")
            first = str(cursor.fetchone()[0])
            cursor.execute("SET @source_binlog_checksum='CRC32'")
        connection._execute_command(COM_BINLOG_DUMP, struct.pack("<IHI", 4, NON_BLOCK, 990_001) + first.encode())
        return _receive(connection, folder)


def _receive(connection: Any, folder: Path) -> list[Path]:
    files: list[Path] = []
    while True:
        packet = connection._read_packet()
        data = packet.get_all_data()
        if data[0] == 0xFE and len(data) < 9:
            return files
        event = data[1:]
        flags = struct.unpack_from("<H", event, 17)[0]
        if event[4] == ROTATE and flags & ARTIFICIAL:
            name = event[19 + 8 : -4].decode()
            if not files or files[-1].name != name:
                files.append(folder / name)
                files[-1].write_bytes(MAGIC)
        elif not flags & ARTIFICIAL:
            with files[-1].open("ab") as file:
                file.write(event)
