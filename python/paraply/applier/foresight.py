"""What of a log's DDL a target could not take, known before anything is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.errors import LogNotUnderstood, ParaplyError
from paraply.schema.catalog import SchemaCatalog
from paraply.schema.change import Unknown
from paraply.source.statement_text import decode_statement

if TYPE_CHECKING:
    from paraply._native import Transaction
    from paraply.target.base import Target

__all__ = ["Foresight"]


class Foresight:
    """Follows a log's DDL from its beginning.

    Definitions from before the log are not known here, so changes of such tables are not judged: what is said is true, and not all.

    Args:
        target: Where the log would go.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._schema = SchemaCatalog()

    def problem(self, transaction: Transaction, *, runs: bool = True) -> str:
        """Follows a transaction's statements.

        Args:
            transaction: The next one with statements.
            runs: Whether it would be run; else it is only followed.

        Returns:
            Why the apply would stop there; empty if that is not known.
        """
        log, changes = transaction.format, []
        try:
            for statement in transaction.statements:
                sql = decode_statement(statement, mariadb=log.mariadb, file=transaction.file)
                changes += self._schema.advance(sql, statement.database, statement.context, mariadb=log.mariadb, version=log.version)
        except LogNotUnderstood as error:
            return error.message
        known = [change for change in changes if not isinstance(change, Unknown)]
        if not runs or not known:
            return ""
        try:
            self._target.foresee(known)
        except ParaplyError as error:
            return error.message
        return ""
