"""Check before the first write that policy ``unordered`` can find the last writer of every row (R21)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.errors import UsageError
from paraply.logs.statement_text import decode_logged
from paraply.schema.advance import advance
from paraply.schema.catalog import SchemaCatalog
from paraply.wording import table_option

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from paraply._native import Transaction
    from paraply.applier.options import ReaderOptions
    from paraply.schema.model import Table

__all__ = ["check_tables", "check_timestamp_column", "problem_of"]

_TIMES = frozenset({"timestamp", "datetime", "date", "bigint", "int", "decimal", "double"})
_NO_LITERAL = frozenset({"json", "vector"})


def check_timestamp_column(policy: str, column: str | None) -> None:
    """Check that policy and timestamp column fit each other.

    Raises:
        UsageError: One is given without the other.
    """
    if policy == "unordered" and not column:
        raise UsageError(
            "policy 'unordered' needs --timestamp-column: the column, in every table of the log, that says when a row was last written"
        )
    if policy != "unordered" and column:
        raise UsageError(f"--timestamp-column goes only with policy 'unordered', not with {policy!r}, which keeps the source's order")


def problem_of(table: Table, column: str) -> str | None:
    """Return the reason why the last writer of a table's rows cannot be found; None if it can.

    >>> from paraply.schema.model import Column, Table
    >>> problem_of(Table("shop", "note", (Column("id", "int"),)), "changed_at")
    'has no column changed_at'
    """
    names = {each.name.lower(): each for each in table.columns}
    found = names.get(column.lower())
    if found is None:
        return f"has no column {column}"
    if found.type not in _TIMES:
        return f"has a column {found.name} of type {found.type.upper()}, which is no time and no number"
    key = table.primary_key
    if key is None or any(part.column is None or part.prefix is not None for part in key.parts):
        return "has no primary key of whole columns"
    if any(part.column is not None and part.column.lower() == column.lower() for part in key.parts):
        return f"has {found.name} in its primary key, so that no two versions of a row have the same key"
    odd = next((each for each in table.columns if each.type in _NO_LITERAL), None)
    return f"has the {odd.type.upper()} column {odd.name}, which this policy cannot write" if odd is not None else None


def check_tables(
    paths: Sequence[str],
    options: ReaderOptions,
    column: str,
    tables: Iterable[Table],
    passed: Callable[[Transaction], bool],
    *,
    complete: bool,
) -> None:
    """Read the logs once, and refuse them if policy ``unordered`` cannot apply one of their tables.

    Args:
        paths: The logs.
        options: The native reader's arguments for stop and filters.
        column: The timestamp column.
        tables: The definitions at the log's start.
        passed: Returns True for a transaction that is already applied.
        complete: True if ``tables`` are all tables of the source.

    Raises:
        UsageError: A table does not fit; the message names it with the reason.
        LogError: The log is damaged or not understood.
    """
    from paraply._native import LogReader

    schema = SchemaCatalog(complete=complete)
    for table in tables:
        schema.put(table)
    reader = LogReader(paths, **options)
    seen: set[tuple[str, str, int]] = set()
    while (batch := reader.next_batch()) is not None:
        if not len(batch):
            continue
        last = batch[len(batch) - 1]
        if not passed(last):  # in a batch that is partly applied, the applied part is checked needlessly
            for table_map in batch.table_maps():
                place = (table_map.database, table_map.table, table_map.fingerprint)
                if place not in seen:
                    seen.add(place)
                    _check_table(schema.table(table_map.database, table_map.table), column, last)
        if last.statements and not passed(last):
            seen.clear()
            _follow(schema, last)


def _check_table(table: Table | None, column: str, transaction: Transaction) -> None:
    problem = problem_of(table, column) if table is not None else None
    if table is not None and problem is not None:
        raise UsageError(
            f"policy 'unordered' cannot apply this log: the table {table.full_name} {problem}; nothing was applied: leave the table out"
            f" with {table_option('--exclude-table', (table.database, table.name))}, or use --policy dependency",
            file=transaction.file,
            position=transaction.offset,
            table=table.full_name,
        )


def _follow(schema: SchemaCatalog, transaction: Transaction) -> None:
    log = transaction.format
    for statement in transaction.statements:
        sql = decode_logged(statement, transaction)
        advance(schema, sql, statement.database, statement.context, mariadb=log.mariadb, version=log.version)
