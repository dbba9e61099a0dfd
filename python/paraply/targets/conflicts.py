"""Row changes that do not fit the target, and their resolution (``--on-conflict``).

A change does not fit if the target lacks the row to change, or has a row with one of its keys already. The transaction is then applied in
parts: each row event, and each row of an event that does not fit, by itself. Everything that fits is applied as in any other transaction.
"""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from paraply._native import Catalog, row_events, single_rows
from paraply.errors import ApplyFailed, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from paraply._native import Block, SingleRow
    from paraply.schema.model import Key, Table

__all__ = [
    "CONFLICT_TABLE",
    "DUPLICATE",
    "MISSING",
    "Conflict",
    "ConflictSession",
    "Misfit",
    "OnConflict",
    "PartWriter",
    "Resolver",
    "insert_statements",
    "parse_on_conflict",
    "row_key",
]

CONFLICT_TABLE = "paraply.conflict"
"""Table of the conflicts, in the target."""

_INSERT = (
    f"INSERT INTO {CONFLICT_TABLE} (channel_name, gtid, log_file, log_position, committed_at, found_at, table_database, table_name,"
    " operation, cause, outcome, detail, row_key, row_before, row_after) VALUES "
)
_INSERT_BYTES = 256 * 1024
"""Bytes of values after which another INSERT begins."""

_MINIMAL = "binlog_row_image=FULL"
_PARTIAL = f"binlog_row_value_options='' and {_MINIMAL}"

MISSING: Literal["missing row"] = "missing row"
DUPLICATE: Literal["duplicate key"] = "duplicate key"


class OnConflict(enum.Enum):
    """Treatment of row changes that do not fit; the values are those of ``--on-conflict``."""

    STOP = "stop"
    """The apply ends before the transaction."""
    LOG = "log"
    """The change is left out, and written to the table of conflicts."""
    OVERWRITE = "overwrite"
    """The row becomes what it is on the source, and the change is written to the table of conflicts."""


def parse_on_conflict(text: str | OnConflict) -> OnConflict:
    """Return the treatment that ``--on-conflict`` names.

    Raises:
        UsageError: No treatment has this name.

    >>> parse_on_conflict("log")
    <OnConflict.LOG: 'log'>
    """
    try:
        return OnConflict(text)
    except ValueError:
        raise UsageError(f"--on-conflict {text}: give one of {', '.join(mode.value for mode in OnConflict)}") from None


@dataclass(frozen=True, slots=True)
class Misfit:
    """Reason why rows were not applied.

    Attributes:
        cause: ``MISSING`` or ``DUPLICATE``.
        detail: The server's words.
    """

    cause: Literal["missing row", "duplicate key"]
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Conflict:
    """A row change that did not fit.

    Attributes:
        database: The table's database on the target.
        table: The table.
        operation: ``insert``, ``update`` or ``delete``.
        cause: ``MISSING`` or ``DUPLICATE``.
        outcome: ``left`` if the change is not applied, ``replaced`` or ``inserted`` for what was done to the row, ``none`` if a row to
            delete is gone already.
        detail: The server's words.
        key: The row's key as a JSON object, whose values are text or null.
        before: The row before the change; None for an insert.
        after: The row after the change; None for a deletion.
    """

    database: str
    table: str
    operation: str
    cause: str
    outcome: str
    detail: str
    key: str
    before: str | None
    after: str | None


def insert_statements(
    channel: str, block: Block, conflicts: Iterable[Conflict], *, committed: str, found: str, literal: Callable[[str], str]
) -> Iterator[str]:
    """Yield statements that write conflicts of a block into the table of conflicts.

    Args:
        channel: The channel.
        block: The block.
        conflicts: Its conflicts.
        committed: SQL of the time of the block's commit on the source.
        found: SQL of the present time.
        literal: Returns a text as SQL.
    """

    def text(value: str | None) -> str:
        return "NULL" if value is None else literal(value)

    head = ", ".join((literal(channel), text(block.first_gtid), literal(block.file), str(block.offset), committed, found))
    values: list[str] = []
    size = 0
    for one in conflicts:
        texts = (one.database, one.table, one.operation, one.cause, one.outcome, one.detail, one.key, one.before, one.after)
        values.append(f"({head}, {', '.join(map(text, texts))})")
        size += len(values[-1])
        if size > _INSERT_BYTES:
            yield _INSERT + ", ".join(values)
            values, size = [], 0
    if values:
        yield _INSERT + ", ".join(values)


class ConflictSession(Protocol):
    """A session that can apply what fits."""

    def apply_resolving(self, block: Block) -> Sequence[Conflict]:
        """Apply a block of one transaction like ``Session.apply``, with its rows one by one; record the conflicts in the same transaction.

        Called after every older transaction is committed.

        Raises:
            ParaplyError: As ``Session.apply``; or a row that does not fit, and that the mode cannot treat.
        """


class PartWriter(Protocol):
    """The open transaction of a session."""

    def write(self, part: Block) -> Misfit | None:
        """Apply rows. If one of them does not fit, apply none of them and return the reason.

        Raises:
            ParaplyError: Any other error.
        """


def row_key(table: Table) -> Key | None:
    """Return the key by which rows of a table are found: the primary key, or the first unique key of whole NOT NULL columns.

    >>> from paraply.schema.model import Column, Key, KeyPart, Table
    >>> row_key(Table("d", "t", (Column("a", "int"),), (Key("a", (KeyPart("a"),), unique=True),))) is None
    True
    """
    nullable = {column.name.lower() for column in table.columns if column.nullable}
    for key in sorted((key for key in table.keys if key.unique), key=lambda key: (not key.primary, key.position)):
        whole = all(part.column is not None and part.prefix is None for part in key.parts)
        if whole and (key.primary or not any((part.column or "").lower() in nullable for part in key.parts)):
            return key
    return None


class Resolver:
    """Application of one transaction of which some rows do not fit.

    Args:
        mode: ``LOG`` or ``OVERWRITE``.
        writer: The open transaction.
        table: Returns the definition of a table; None if it is not known.
    """

    def __init__(self, mode: OnConflict, writer: PartWriter, table: Callable[[str, str], Table | None]) -> None:
        self._mode = mode
        self._writer = writer
        self._table = table

    def resolve(self, block: Block) -> list[Conflict]:
        """Apply the rows of a block, and return the changes that did not fit.

        Raises:
            ApplyFailed: A row does not fit, and its table has no key, or the log lacks columns of it.
            ParaplyError: The errors of the writer.
        """
        tables = {(found.database, found.table): self._table(found.database, found.table) for found in block.table_maps()}
        catalog = Catalog()
        for table in tables.values():
            if table is not None:
                catalog.put(table)
        conflicts = []
        for event in row_events(block):
            if self._writer.write(event) is None:
                continue
            for row in single_rows(event, catalog):
                misfit = self._writer.write(row.block)
                if misfit is not None:
                    conflicts.append(self._treat(row, misfit, tables.get((row.database, row.table)), catalog))
        return conflicts

    def _treat(self, row: SingleRow, misfit: Misfit, table: Table | None, catalog: Catalog) -> Conflict:
        if table is None:
            raise self._refused(row, misfit, "the definition of its table is not known")
        key = row_key(table)
        if key is None:
            raise self._refused(row, misfit, "its table has no primary key and no unique key of NOT NULL columns, which would tell the row")
        text = _key_text(row, key)
        outcome = "left"
        if self._mode is OnConflict.OVERWRITE:
            outcome, misfit = self._overwrite(row, misfit, table, catalog, text)
        images = (_json(image) if image is not None else None for image in (row.before, row.after))
        return Conflict(row.database, row.table, row.operation, misfit.cause, outcome, misfit.detail, text, *images)

    def _overwrite(self, row: SingleRow, misfit: Misfit, table: Table, catalog: Catalog, key: str) -> tuple[str, Misfit]:
        """Make the row what it is after the change, unless that would take another row away; return the outcome and the reason."""
        if row.operation == "delete":
            return "none", misfit
        if row.operation == "update" and misfit.cause == DUPLICATE:
            return "left", misfit
        generated = {column.name for column in table.columns if column.generated}
        missing = [name for name in row.missing if name not in generated]
        change = row.overwriting
        if missing or change is None:
            partial = row.overwriting is None  # the log has the differences of a document
            reason = f"the log does not hold the whole row (columns {', '.join(missing)})"
            raise self._refused(row, misfit, reason, key, setting=_PARTIAL if partial else _MINIMAL)
        again = self._writer.write(change)
        if again is None:
            return ("replaced" if row.operation == "insert" else "inserted"), misfit
        if row.operation == "update":
            # The row after the change may stand under a key of its own.
            for inserted in single_rows(change, catalog):
                if inserted.overwriting is not None and self._writer.write(inserted.overwriting) is None:
                    return "replaced", misfit
        return "left", Misfit(misfit.cause, again.detail if again.cause == DUPLICATE else misfit.detail)

    def _refused(self, row: SingleRow, misfit: Misfit, reason: str, key: str | None = None, *, setting: str | None = None) -> ApplyFailed:
        what = "is not in the target" if misfit.cause == MISSING else "has a key that is in the target already"
        advice = (
            "correct the row in the target, or leave the table out with --exclude-table"
            if setting is None
            else f"set {setting} on the source for later rows; correct this row in the target, or use --on-conflict log"
        )
        return ApplyFailed(
            f"a row to {row.operation} {what}, and --on-conflict {self._mode.value} cannot treat it, because {reason}: {advice}",
            table=f"{row.database}.{row.table}",
            key=key or _json(row.before or row.after or []),
        )


def _key_text(row: SingleRow, key: Key) -> str:
    """Return the row's key as a JSON object."""
    names = {(part.column or "").lower() for part in key.parts}
    image = row.before if row.before is not None else row.after or []
    return _json([(name, value) for name, value in image if name.lower() in names])


def _json(image: Iterable[tuple[str, str | None]]) -> str:
    return json.dumps(dict(image), ensure_ascii=False)
