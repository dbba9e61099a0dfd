"""The statements of a log that concern a lake, and the names of filters that a log does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply._native import look_ahead
from paraply.applier.selection.filters import unmatched_notes
from paraply.errors import LogNotUnderstood
from paraply.logs.statement_text import decode_logged
from paraply.schema.ddl.lexer import DdlSyntaxError
from paraply.schema.ddl.parse import parse
from paraply.schema.ddl.rules import Rules
from paraply.schema.ddl.statements import DropDatabaseStatement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paraply._native import Statement, Transaction
    from paraply.applier.selection.filters import Filters

__all__ = ["unused_names", "wants"]

_ADVICE = (
    "widen the filters of a new lake so that they hold all or none of its tables,"
    " or start a new lake after the statement with --start-after"
)


def wants(filters: Filters, transaction: Transaction) -> bool:
    """Return True if a transaction's statements concern tables of the lake.

    DROP DATABASE does if the database may have some: the lake has none of the tables that the filters leave out, so it drops the others.

    Raises:
        LogNotUnderstood: They concern tables of the lake and others, or that cannot be decided.
    """
    try:
        return filters.wants(transaction, _ADVICE, decode_logged)
    except LogNotUnderstood:
        if all(_drops_database(statement, transaction, filters) for statement in transaction.statements):
            return True
        raise


def unused_names(paths: Sequence[str], filters: Filters) -> list[str]:
    """Return notes about names of the filters that nothing in the logs has."""
    if not filters:
        return []
    ahead = look_ahead(paths, filters.native())
    return unmatched_notes(filters, ahead.unmatched_databases, ahead.unmatched_tables)


def _drops_database(statement: Statement, transaction: Transaction, filters: Filters) -> bool:
    """Return True for the DROP DATABASE of a database of which the lake may have tables."""
    log = transaction.format
    try:
        parsed = parse(decode_logged(statement, transaction), Rules.of(statement.context, mariadb=log.mariadb, version=log.version))
    except (DdlSyntaxError, RecursionError):
        return False
    return isinstance(parsed, DropDatabaseStatement) and filters.chooses_some(parsed.name)
