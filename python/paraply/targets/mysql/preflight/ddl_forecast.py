"""What a target would refuse of the log's statements, asked before anything is opened for writing."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from paraply.targets.mysql.ddl.collation_numbers import CollationNumbers
from paraply.targets.mysql.ddl.name_case import NameCase
from paraply.targets.mysql.preflight.table_check import TableChecker
from paraply.targets.mysql.server_version import ServerKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from paraply._native import Transaction
    from paraply.targets.mysql.sql import Connection
    from paraply.targets.protocol import RowForecast

__all__ = ["StatementForecast"]


class StatementForecast:
    """Checks statements against a server, which is asked for its version and collations once.

    Args:
        connect: Gives a connection to the target.
    """

    def __init__(self, connect: Callable[[], Connection]) -> None:
        self._connect = connect
        self._server: tuple[ServerKind, CollationNumbers] | None = None
        self._names = NameCase()
        self._tables: TableChecker | None = None

    def check(self, transaction: Transaction, source_names: int | None = None) -> None:
        """Raise what the target would refuse of a transaction's statements before it runs them.

        Args:
            transaction: The transaction.
            source_names: The source's ``lower_case_table_names``, where it is known.

        Raises:
            LogNotUnderstood: The target cannot run one as the source did.
        """
        from paraply.targets.mysql.ddl.statement import check_names, read_statement

        if self._server is None:
            with contextlib.closing(self._connect()) as connection:
                self._server = ServerKind.parse(connection.server_version), CollationNumbers.read(connection)
                self._names = NameCase.read(connection, source_names)
        for statement in transaction.statements:
            read = read_statement(statement, transaction.format, *self._server, has_rows=transaction.rows > 0)
            if self._names.differs:
                with contextlib.closing(self._connect()) as connection:
                    check_names(self._names, connection, read.text, statement, transaction.format)

    def check_table(self, forecast: RowForecast) -> None:
        """Raise what the target would refuse of rows because of the table's definition.

        Args:
            forecast: The first rows of the table.

        Raises:
            SchemaMismatch: The table is missing, differs, or has an engine without transactions.
        """
        if forecast.changed:  # the log itself makes or changes the table before these rows
            return
        with contextlib.closing(self._connect()) as connection:
            if self._tables is None:
                self._tables = TableChecker.of(connection, ServerKind.parse(connection.server_version), forecast.plan)
            self._tables.check(lambda: connection, [forecast.table_map], forecast.log.version)
