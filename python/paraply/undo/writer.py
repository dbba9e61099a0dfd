"""The interface of a target's writer, and what both writers share."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from paraply.errors import RowNotFound, UndoRefused
from paraply.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from paraply._native import PostgresRenderer
    from paraply.schema.model import Table
    from paraply.undo.history import HistoryRow
    from paraply.undo.spool import Change, Check

__all__ = ["Frame", "QuotedTables", "UndoWriter", "batches", "broken_key", "changed_row", "places", "script", "texts"]

_BATCH_BYTES = 256 * 1024
_BATCH_STATEMENTS = 2000


class Frame(NamedTuple):
    """Statements around the changes of a script.

    Attributes:
        settings: Settings of the session.
        begin: Statements that begin the transaction.
    """

    settings: tuple[str, ...]
    begin: tuple[str, ...] = ("BEGIN",)


class UndoWriter(Protocol):
    """A target in which changes are taken back."""

    @property
    def renderer(self) -> PostgresRenderer | None:
        """Renderer of a PostgreSQL; None for MySQL and MariaDB."""

    def frame(self, *, checks: bool) -> Frame:
        """Return the statements around a script.

        Args:
            checks: True if foreign keys are checked after all changes.
        """

    def definitions(self) -> list[Table]:
        """Return the source's tables as the target knows them."""

    def check(self, tables: Iterable[tuple[str, str]]) -> None:
        """Check that nothing in the target reacts to changes of these tables.

        Raises:
            UndoRefused: A trigger, an engine or a table's kind does not allow an undo.
        """

    def stage(self, tables: Sequence[Table]) -> Mapping[tuple[str, str], str]:
        """Make tables of the session through which many rows are changed at once.

        Returns:
            Their names as SQL, by database and name of the table. A table is left out if the target does not allow it.
        """

    def history(self) -> list[HistoryRow]:
        """Return the newest undos that the target holds, newest first; empty without the table, or the right to read it."""

    def begin(self, note: str | None, *, checks: bool) -> None:
        """Begin the transaction, and record the undo in it.

        Args:
            note: The undone transactions; None for a trial that is rolled back, which leaves nothing in the target.
            checks: True if foreign keys are checked after all changes.
        """

    def write(self, changes: Sequence[Change]) -> None:
        """Change rows back, in one round trip.

        Raises:
            RowNotFound: A row is not as the undone transactions left it.
            ApplyFailed: The target refuses a statement.
        """

    def check_keys(self, checks: Iterable[Check]) -> None:
        """Check foreign keys after all changes.

        Raises:
            UndoRefused: A row refers to a row that does not exist.
        """

    def commit(self) -> None:
        """Commit."""

    def roll_back(self) -> None:
        """Take all changes back."""

    def close(self) -> None:
        """Roll back what is not committed, and disconnect."""


class QuotedTables:
    """Names of the undone tables as the target quotes them.

    A name may hold any text, so that a statement's table is never read from the statement.
    """

    def __init__(self) -> None:
        self._quoted: dict[str, list[str]] = {}

    def add(self, database: str, name: str, quoted: str) -> None:
        """Add a table.

        Args:
            database: Its database on the source.
            name: Its name on the source.
            quoted: The table in the target, as an identifier in SQL.
        """
        names = self._quoted.setdefault(f"{database}.{name}", [])
        if quoted not in names:
            names.append(quoted)

    def of(self, change: Change) -> str | None:
        """Return the table of a change as an identifier in SQL, or None if it is not known.

        Two tables may have the same text where names hold dots; the beginning of the statement tells them apart.

        >>> from paraply.undo.spool import Change
        >>> tables = QuotedTables()
        >>> for database, name in (("a", "b.c WHERE d"), ("a.b", "c WHERE d")):
        ...     tables.add(database, name, f"`{database}`.`{name}`")
        >>> sql = "DELETE FROM `a.b`.`c WHERE d` WHERE (`id`=1) OR (`id`=2)"
        >>> tables.of(Change("0-1-2", "delete", "a.b.c WHERE d", sql, ["id=1", "id=2"], ["(`id`=1)", "(`id`=2)"]))
        '`a.b`.`c WHERE d`'
        """
        names = self._quoted.get(change.table, [])
        if len(names) > 1:
            names = [name for name in names if change.sql.startswith((f"DELETE FROM {name} WHERE ", f"UPDATE {name} SET "))]
        return names[0] if names else None


def batches(changes: Iterable[Change]) -> Iterator[list[Change]]:
    """Yield statements in batches, each for one round trip."""
    batch: list[Change] = []
    size = 0
    for change in changes:
        batch.append(change)
        size += len(change.sql) + len(change.fill or "")
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


def broken_key(check: Check, values: str) -> UndoRefused:
    """Return the error about a foreign key that the undo would break."""
    return UndoRefused(
        f"after the undo, a row of {check.child} would refer to a row of {check.parent} that does not exist; nothing was changed. A change"
        " that the logs do not hold, or one without foreign_key_checks, made one of the two: name all logs up to now, or change the rows of"
        f" {check.child} first",
        table=check.child,
        key=values or None,
    )


def texts(changes: Iterable[Change]) -> list[str]:
    """Return the statements of changes in order."""
    return [text for change in changes for text in change.texts]


def places(changes: Iterable[Change]) -> Iterator[int]:
    """Yield for each change the index of its statement among ``texts``."""
    begun = 0
    for change in changes:
        yield begun + change.place
        begun += len(change.texts)


def script(frame: Frame, changes: Iterable[Change], checks: Iterable[Check] = ()) -> Iterable[bytes]:
    """Yield an undo as SQL text for review.

    >>> print(b"".join(script(Frame(("SET NAMES utf8mb4",)), [])).decode())
    SET NAMES utf8mb4;
    BEGIN;
    COMMIT;
    <BLANKLINE>
    """
    yield from (f"{statement};\n".encode() for statement in (*frame.settings, *frame.begin))
    last = None
    for change in changes:
        if change.gtid != last:
            yield f"\n-- undo of {change.gtid or 'a transaction without GTID'}\n".encode()
            last = change.gtid
        rows = len(change.keys)
        yield f"{change.sql}; -- must affect {counted(rows, 'row')}\n".encode()
    for check in checks:
        yield f"\n-- fails if a row of {check.child} refers to a row of {check.parent} that does not exist\n".encode()
        # A scalar subquery of two rows is an error: of each broken value, there are two.
        yield f"SELECT (SELECT 1 FROM ({check.sql}) a UNION ALL SELECT 1 FROM ({check.sql}) b);\n".encode()
    yield b"COMMIT;\n"
