"""Statements of an undo on disk: written in the log's order, read from the newest transaction to the oldest."""

from __future__ import annotations

import json
import tempfile
from array import array
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Change", "Spool", "open_spool"]


class Change(NamedTuple):
    """One statement.

    Attributes:
        gtid: GTID of its transaction, or an empty text.
        kind: ``insert``, ``update`` or ``delete``.
        table: The table.
        sql: The text.
        keys: The key of each row; as many rows must be affected.
        parts: Conditions of the rows, if it deletes several.
    """

    gtid: str
    kind: str
    table: str
    sql: str
    keys: list[str]
    parts: list[str]


@contextmanager
def open_spool() -> Iterator[Spool]:
    """Make a spool for a ``with`` block; its file has no name in the file system."""
    with tempfile.TemporaryFile(prefix="paraply-undo-") as file:
        yield Spool(file)


class Spool:
    """File of statements. A transaction's statements are in the order in which they are run.

    Args:
        file: The empty file.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._starts = array("Q")
        self._end = 0

    @property
    def transactions(self) -> int:
        """Number of transactions with statements."""
        return len(self._starts)

    def begin(self, gtid: str | None) -> None:
        """Begin the next transaction."""
        self._starts.append(self._end)
        self._write(gtid or "")

    def add(self, statements: Sequence[tuple[str, str, bytes, list[str], list[bytes]]]) -> None:
        """Append statements of the transaction."""
        texts = [(kind, table, sql.decode(), keys, [part.decode() for part in parts]) for kind, table, sql, keys, parts in statements]
        self._write(texts)

    def backwards(self) -> Iterator[Change]:
        """Yield the statements, newest transaction first."""
        end = self._end
        for start in reversed(self._starts):
            self._file.seek(start)
            gtid = self._read()
            while self._file.tell() < end:
                statements = self._read()
                place = self._file.tell()
                for statement in statements:
                    yield Change(gtid, *statement)
                self._file.seek(place)
            end = start

    def _write(self, value: Any) -> None:
        data = json.dumps(value, ensure_ascii=False).encode()
        self._file.write(len(data).to_bytes(4, "big"))
        self._file.write(data)
        self._end += 4 + len(data)

    def _read(self) -> Any:
        size = int.from_bytes(self._file.read(4), "big")
        return json.loads(self._file.read(size))
