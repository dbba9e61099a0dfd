"""Logs of MySQL made for tests: each transaction with its session, its commit time and its numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from paraply._native import Catalog, RelayLog, encode_rows, encode_statement, encode_transaction, relay_format
from paraply.schema.advance import advance
from paraply.schema.catalog import SchemaCatalog

SOURCE = "00000000-0000-0000-0000-00000000000a"
VERSION = (9, 7, 0)
START = 1_700_000_000_000_000
STEP = 1000
COLLATIONS = {"utf8mb4_bin": 46}

Change = tuple[str, dict[str, Any] | None, dict[str, Any] | None]


class MadeLog:
    """Log in the making.

    Args:
        folder: Folder of the log.
        schema: Statements that make the tables.
    """

    def __init__(self, folder: Path, *schema: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._log = RelayLog(str(folder), name="made", server_id=1)
        self._log.append(relay_format("9.7.0", server_id=1))
        self._catalog = Catalog()
        self._schema = SchemaCatalog()
        self.number = 0
        """Number of the last transaction."""
        for statement in schema:
            self.statement(statement)

    @property
    def files(self) -> list[str]:
        """Files of the log."""
        return list(self._log.files)

    def statement(self, sql: str) -> int:
        """Append DDL; return its number."""
        for _ in advance(self._schema, sql, "d", {}, mariadb=False, version=VERSION):
            pass
        for table in self._schema:
            self._catalog.put(table)
        self._log.append(encode_statement(self._front(self.number, 1), "d", sql))
        return self.number

    def write(self, *changes: Change, need: int, session: int = 1) -> int:
        """Append a transaction; return its number.

        Args:
            changes: Table, row before and row after of each change.
            need: Its ``last_committed``.
            session: Session that wrote it.
        """
        rows = encode_rows(self._catalog, COLLATIONS, 1, START, [("d", table, before, after) for table, before, after in changes])
        self._log.append(encode_transaction(self._front(need, session), rows))
        return self.number

    def rotate(self) -> None:
        """Begin a new file."""
        self._log.flush()

    def close(self) -> list[str]:
        """End the log; return its files."""
        self._log.close()
        return self.files

    def _front(self, need: int, session: int) -> tuple[str, int, int, int, int, int]:
        self.number += 1
        return (f"{SOURCE}:{self.number}", need, self.number, 1, session, START + STEP * self.number)
