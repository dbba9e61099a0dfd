"""The interface of a target's writer, and what both writers share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from paraply.errors import RowNotFound

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from paraply._native import PostgresRenderer
    from paraply.schema.model import Table
    from paraply.undo.spool import Change

__all__ = ["UndoWriter", "batches", "changed_row", "script"]

_BATCH_BYTES = 256 * 1024
_BATCH_STATEMENTS = 2000


class UndoWriter(Protocol):
    """A target in which changes are taken back."""

    @property
    def renderer(self) -> PostgresRenderer | None:
        """Renderer of a PostgreSQL; None for MySQL and MariaDB."""

    @property
    def settings(self) -> Sequence[str]:
        """Statements before a script."""

    def definitions(self) -> list[Table]:
        """Return the source's tables as the target knows them."""

    def check(self, tables: Iterable[tuple[str, str]]) -> None:
        """Check that nothing in the target reacts to changes of these tables.

        Raises:
            UndoRefused: A trigger, an engine or a table's kind does not allow an undo.
        """

    def begin(self, note: str) -> None:
        """Begin the transaction, and record the undo in it."""

    def write(self, changes: Sequence[Change]) -> None:
        """Change rows back, in one round trip.

        Raises:
            RowNotFound: A row is not as the undone transactions left it.
            ApplyFailed: The target refuses a statement.
        """

    def commit(self) -> None:
        """Commit."""

    def close(self) -> None:
        """Roll back what is not committed, and disconnect."""


def batches(changes: Iterable[Change]) -> Iterator[list[Change]]:
    """Yield statements in batches, each for one round trip."""
    batch: list[Change] = []
    size = 0
    for change in changes:
        batch.append(change)
        size += len(change.sql)
        if size >= _BATCH_BYTES or len(batch) >= _BATCH_STATEMENTS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def changed_row(change: Change, key: str) -> RowNotFound:
    """Return the error about a row that is not as the undone transactions left it."""
    return RowNotFound(
        "the row is not as the log's transactions left it: someone changed it whose change the logs do not hold; nothing was changed."
        " Name all logs up to now, or change the row by hand",
        table=change.table,
        key=key or None,
        gtid=change.gtid or None,
    )


def script(settings: Sequence[str], changes: Iterable[Change]) -> Iterable[bytes]:
    """Yield an undo as SQL text for review.

    >>> print(b"".join(script(["SET NAMES utf8mb4"], [])).decode())
    SET NAMES utf8mb4;
    BEGIN;
    COMMIT;
    <BLANKLINE>
    """
    yield from (f"{setting};\n".encode() for setting in settings)
    yield b"BEGIN;\n"
    last = None
    for change in changes:
        if change.gtid != last:
            yield f"\n-- undo of {change.gtid or 'a transaction without GTID'}\n".encode()
            last = change.gtid
        rows = len(change.keys)
        yield f"{change.sql}; -- must affect {rows} row{'s' if rows > 1 else ''}\n".encode()
    yield b"COMMIT;\n"
