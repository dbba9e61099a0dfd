"""Statements that a lake cannot follow, found before anything is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply._native import scan_log
from paraply.errors import LogNotUnderstood, ParaplyError
from paraply.lake.columns import lake_columns
from paraply.lake.selection import wants
from paraply.logs.statement_text import decode_logged
from paraply.schema.advance import advance
from paraply.schema.catalog import SchemaCatalog
from paraply.schema.ddl.change import AlterTable, CreateTable, RenameTable, Unknown
from paraply.wording import table_option

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paraply._native import GtidSet, Transaction
    from paraply.applier.selection.filters import Filters
    from paraply.schema.ddl.change import SchemaChange
    from paraply.schema.model import Table

__all__ = ["check_change", "check_statements", "placed"]

_WHOLE = 1 << 62


def check_change(change: SchemaChange, filters: Filters) -> None:
    """Check that a lake can follow a change of the schema, as far as that does not depend on rows.

    Raises:
        LogNotUnderstood: The change is not known, or changes rows that the log does not have.
        SchemaMismatch: A table would have no key.
    """
    match change:
        case Unknown():
            _check_unknown(change, filters)
        case CreateTable(table=table) | RenameTable(table=table) if filters.chooses(table.database, table.name):
            lake_columns(table)
        case AlterTable(new=new) if filters.chooses(new.database, new.name) and not change.consequence:
            lake_columns(new)
            reason = change.unlogged or ("IGNORE" if change.ignores else "") or ("of partitions" if change.with_tables else "")
            if reason:
                raise LogNotUnderstood(
                    f"ALTER TABLE {new.full_name} ({reason}) changes rows without logging them; leave the table out with"
                    f" {table_option('--exclude-table', (new.database, new.name))}, or start a new lake after the statement",
                    table=new.full_name,
                )


def _check_unknown(change: Unknown, filters: Filters) -> None:
    """Refuse a statement whose effect on a table of the lake is not known."""
    tables = [f"{database}.{name}" for database, name in change.tables if filters.chooses(database, name)]
    databases = [name for name in change.databases if filters.chooses_some(name)]
    if tables or databases or change.everything:
        places = ", ".join([*tables, *databases]) or "any table"
        raise LogNotUnderstood(
            f"a statement whose effect on {places} is not known: {change.reason}; give the definitions with --schema or --schema-from,"
            " leave the tables out with --exclude-table, or start a new lake after the statement"
        )


def placed(error: ParaplyError, transaction: Transaction) -> ParaplyError:
    """Return an error with the place of a transaction."""
    error.file, error.position, error.gtid = error.file or transaction.file, error.position or transaction.offset, transaction.gtid
    return error


def check_statements(
    paths: Sequence[str],
    filters: Filters,
    start: Sequence[Table],
    executed: GtidSet,
    kept: Sequence[Table] | None,
    end: tuple[int, int] | None = None,
) -> None:
    """Check all statements of the logs that are not executed yet, without decoding rows.

    Args:
        paths: The logs.
        filters: Filters of the lake.
        start: Definitions at the start of the logs.
        executed: Transactions that the lake holds.
        kept: Definitions after these; None for a new lake.
        end: Number of the file and offset at which reading ends; None for the end of the logs.

    Raises:
        ParaplyError: A statement that the lake cannot follow, with its place.
    """
    catalog = SchemaCatalog()
    catalog.seed(start)
    pending: Callable[[], None] | None = None if kept is None else lambda: catalog.seed(kept)
    for number, path in enumerate(paths):
        for _, transaction in scan_log(path, _WHOLE, start=None, cuts=[], events=False).statements:
            if end is not None and (number, transaction.offset) >= end:
                return
            known = transaction.gtid is not None and transaction.gtid in executed
            if not known and pending is not None:
                pending()
                pending = None
            _follow(catalog, transaction, filters, checks=not known)


def _follow(catalog: SchemaCatalog, transaction: Transaction, filters: Filters, *, checks: bool) -> None:
    """Execute the statements of a transaction on a catalog, and check them if asked for."""
    log = transaction.format
    if checks:
        try:
            if not wants(filters, transaction):
                return
        except ParaplyError as error:
            raise placed(error, transaction) from None
    for statement in transaction.statements:
        sql = decode_logged(statement, transaction)
        for change in advance(catalog, sql, statement.database, statement.context, mariadb=log.mariadb, version=log.version):
            if not checks:
                continue
            try:
                check_change(change, filters)
            except ParaplyError as error:
                raise placed(error, transaction) from None
