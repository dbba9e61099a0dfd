"""Checks of the log's statements against a target, before anything is opened for writing."""

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
    """A check of statements against a server; version and collations of the server are read once.

    Args:
        connect: Opens a connection to the target.
    """

    def __init__(self, connect: Callable[[], Connection]) -> None:
        self._connect = connect
        self._server: tuple[ServerKind, CollationNumbers] | None = None
        self._names = NameCase()
        self._tables: TableChecker | None = None

    def check(self, transaction: Transaction, source_names: int | None = None) -> None:
        """Raise the error with which the target would refuse a statement of the transaction.

        Args:
            transaction: The transaction.
            source_names: The source's ``lower_case_table_names``, if known.

        Raises:
            LogNotUnderstood: The target cannot run a statement with the same effect as on the source.
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
