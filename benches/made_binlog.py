"""Binlogs of MySQL, made without a server: statements and rows with GTIDs, positions and checksums."""

from __future__ import annotations

import struct
import uuid
import zlib
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from paraply._native import Catalog, encode_rows, encode_statement, encode_transaction, relay_format
from paraply.schema.advance import advance
from paraply.schema.catalog import SchemaCatalog
from paraply.schema.ddl.change import AlterTable, CreateTable

__all__ = ["Change", "MadeBinlog"]

VERSION = (9, 7, 0)
START = 1_750_000_000_000_000
COLLATIONS = {"utf8mb4_0900_ai_ci": 255}
SIZE_AT, END_AT, HEADER, CHECKSUM = 9, 13, 19, 4
ROTATE = 4

Change = tuple[str, dict[str, Any] | None, dict[str, Any] | None]
"""Table, row before and row after."""


class MadeBinlog:
    """Binlog in the making, of one server and with one database, which its first transaction creates.

    Args:
        folder: Folder of the files.
        database: The database.
    """

    def __init__(self, folder: Path, database: str) -> None:
        self._folder = folder
        self._database = database
        self._source = str(uuid.uuid4())
        self._schema = SchemaCatalog()
        self._catalog = Catalog()
        self._number = 0
        self._files = 0
        self._file = self._begin()
        self.statement(f"CREATE DATABASE {database} CHARACTER SET utf8mb4", default="")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._file.close()

    def statement(self, sql: str, default: str | None = None) -> None:
        """Append DDL as a transaction."""
        database = self._database if default is None else default
        for change in advance(self._schema, sql, database, {}, mariadb=False, version=VERSION):
            if isinstance(change, CreateTable):
                self._catalog.put(change.table)
            elif isinstance(change, AlterTable):
                self._catalog.put(change.new)
        self._append(encode_statement(self._front(), database, sql))

    def rows(self, changes: list[Change]) -> None:
        """Append a transaction with these changes."""
        self.portions([changes])

    def portions(self, portions: Iterable[list[Change]]) -> None:
        """Append one transaction with the changes of all portions."""
        encoded = [
            encode_rows(self._catalog, COLLATIONS, 1, START, [(self._database, *change) for change in changes]) for changes in portions
        ]
        self._append(encode_transaction(self._front(), b"".join(encoded)))

    def rotate(self) -> None:
        """End the file with a rotation, and begin the next one."""
        name = f"binlog.{self._files + 1:06}".encode()
        body = struct.pack("<Q", 4) + name
        self._append(struct.pack("<IBIIIH", START // 1_000_000, ROTATE, 1, HEADER + len(body), 0, 0) + body)
        self._file.close()
        self._file = self._begin()

    def _begin(self) -> BinaryIO:
        self._files += 1
        file = (self._folder / f"binlog.{self._files:06}").open("wb")
        file.write(b"\xfebin" + relay_format("9.7.0", server_id=1, created=START // 1_000_000))
        return file

    def _front(self) -> tuple[str, int, int, int, int, int]:
        self._number += 1
        return f"{self._source}:{self._number}", self._number - 1, self._number, 1, 7, START + self._number

    def _append(self, events: bytes) -> None:
        """Append events with their positions and checksums."""
        at, end, view = 0, self._file.tell(), memoryview(events)
        while at < len(view):
            (size,) = struct.unpack_from("<I", view, at + SIZE_AT)
            event = bytearray(view[at : at + size])
            end += size + CHECKSUM
            struct.pack_into("<II", event, SIZE_AT, size + CHECKSUM, end & 0xFFFFFFFF)
            self._file.write(event)
            self._file.write(struct.pack("<I", zlib.crc32(event)))
            at += size
