"""Checks of the log's statements against a target, before anything is opened for writing."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paraply.errors import ConnectionFailed, ConnectionLost, ParaplyError, ServerError
from paraply.schema.ddl.lexer import DdlSyntaxError
from paraply.schema.ddl.parse import parse
from paraply.targets.mysql.ddl.collation_numbers import CollationNumbers
from paraply.targets.mysql.ddl.context import checks_foreign_keys, refused_setting, reset_statement, statement_rules, use_statement
from paraply.targets.mysql.ddl.name_case import NameCase
from paraply.targets.mysql.errors import explain
from paraply.targets.mysql.preflight.definition_check import DefinitionChecker
from paraply.targets.mysql.preflight.standing_objects import StandingObjects
from paraply.targets.mysql.preflight.table_check import TableChecker
from paraply.targets.mysql.server_version import ServerKind
from paraply.targets.mysql.sql import query_all

if TYPE_CHECKING:
    from collections.abc import Callable

    from paraply._native import Statement
    from paraply.targets.mysql.ddl.logged_statement import ReadStatement
    from paraply.targets.mysql.sql import Connection
    from paraply.targets.protocol import Forecast, RowForecast

__all__ = ["StatementForecast"]

#: Errors about a statement's text or its own contents, which no earlier statement can take away: bad syntax or default, a long column,
#: an unknown character set, collation, storage engine or data type, and a collation of another character set.
_OF_THE_TEXT = frozenset({1064, 1067, 1074, 1115, 1253, 1273, 1286, 4161})
_NO_DATABASE = 1049
#: Databases that may stand in for a default database which the log has yet to make.
_STAND_INS = ("mysql", "sys", "test")


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """Facts about the target, read once.

    Attributes:
        kind: Family and version.
        collations: Its collations.
        names: Comparison of table names between source and target.
        definitions: Check of tables that the log makes.
        objects: The databases and tables, followed through the log.
    """

    kind: ServerKind
    collations: CollationNumbers
    names: NameCase
    definitions: DefinitionChecker
    objects: StandingObjects

    @classmethod
    def read(cls, connection: Connection, source_names: int | None) -> ServerFacts:
        """Read the facts."""
        kind = ServerKind.parse(connection.server_version)
        names = NameCase.read(connection, source_names)
        collations = CollationNumbers.read(connection)
        return cls(kind, collations, names, DefinitionChecker.read(connection), StandingObjects.read(connection))


class StatementForecast:
    """A check of statements against a server, which parses them but does not run them.

    Args:
        connect: Opens a connection to the target.
    """

    def __init__(self, connect: Callable[[], Connection]) -> None:
        self._connect = connect
        self._connection: Connection | None = None
        self._facts: ServerFacts | None = None
        self._tables: TableChecker | None = None

    def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(ParaplyError):
                connection.close()

    def check(self, forecast: Forecast) -> None:
        """Raise the error with which the target would refuse a statement of the transaction.

        Args:
            forecast: The transaction, and its effect on the tables.

        Raises:
            LogNotUnderstood: The target cannot run a statement with the same effect as on the source.
            ApplyFailed: The server would refuse a statement.
            SchemaMismatch: A statement is about a table that the target does not have.
        """
        facts = self._read_facts(forecast.lower_case_table_names)
        try:
            for statement in forecast.transaction.statements:
                self._check_statement(facts, forecast, statement)
        finally:
            facts.objects.follow(forecast.changes)

    def _check_statement(self, facts: ServerFacts, forecast: Forecast, statement: Statement) -> None:
        from paraply.targets.mysql.ddl.logged_statement import check_names, read_statement

        transaction = forecast.transaction
        read = read_statement(statement, transaction.format, facts.kind, facts.collations, has_rows=transaction.rows > 0)
        if facts.names.differs:
            check_names(facts.names, self._connected(), read.text, statement, transaction.format)
        try:
            self._parse_there(facts, statement, read)
        except (ConnectionLost, ConnectionFailed):  # the connection was idle since the last statement
            self.close()
            self._parse_there(facts, statement, read)
        if facts.names.differs:
            return
        try:
            parsed = parse(read.text, statement_rules(statement, ServerKind(transaction.format.mariadb, transaction.format.version)))
        except (DdlSyntaxError, RecursionError):
            return
        facts.objects.check(parsed, statement.database)
        if checks_foreign_keys(statement):
            facts.objects.check_parents(forecast.changes)

    def _parse_there(self, facts: ServerFacts, statement: Statement, read: ReadStatement) -> None:
        """Let the server parse a statement under its settings, as a prepared statement that is never executed.

        Raises:
            LogNotUnderstood: The server does not take a setting.
            ApplyFailed: The server does not understand the statement.
        """
        connection = self._connected()
        self._use(facts, connection, statement, read)
        try:
            query_all(connection, read.settings)
        except ServerError as error:
            query_all(connection, [reset_statement(facts.kind)])
            raise refused_setting(error, statement.offset) or explain(error) from None
        try:
            if read.prepare(connection, statement.offset) == read.data:
                text = read.data.hex()
                query_all(connection, [f"SET @paraply=CONVERT(x'{text}' USING utf8mb4)", "PREPARE paraply FROM @paraply"])
            query_all(connection, ["DEALLOCATE PREPARE paraply"])
        except ServerError as error:
            if error.code in _OF_THE_TEXT:
                raise explain(error) from None
        finally:
            query_all(connection, [reset_statement(facts.kind)])

    def _use(self, facts: ServerFacts, connection: Connection, statement: Statement, read: ReadStatement) -> None:
        """Enter the statement's default database, or another one in its place if the log has yet to make it.

        Raises:
            SchemaMismatch: Neither the target nor the log has the database.
        """
        use = use_statement(statement)
        if use is None:
            return
        try:
            query_all(connection, [use])
        except ServerError as error:
            about_database = read.kind is not None and read.kind.is_about_database
            if error.code == _NO_DATABASE and not about_database and not facts.objects.has_database(statement.database):
                raise explain(error) from None
            for name in _STAND_INS:
                with contextlib.suppress(ServerError):
                    query_all(connection, [f"USE {name}"])
                    return

    def check_table(self, forecast: RowForecast) -> None:
        """Raise what the target would refuse of rows because of the table's definition.

        Args:
            forecast: The first rows of the table.

        Raises:
            SchemaMismatch: The table is missing, differs, or has an engine without transactions.
            UsageError: The table is paraply's own.
        """
        from paraply.targets.mysql.ddl.own_database import check_own_rows

        check_own_rows(forecast.table_map.database, forecast.table_map.table)
        facts = self._read_facts(forecast.plan.lower_case_table_names)
        if forecast.changed:  # the log itself makes or changes the table before these rows
            facts.definitions.check(forecast, facts.collations)
            return
        connection = self._connected()
        if self._tables is None:
            self._tables = TableChecker.of(connection, facts.kind, forecast.plan)
        try:
            self._tables.check(lambda: connection, [forecast.table_map], forecast.log.version)
        except (ConnectionLost, ConnectionFailed):
            self.close()
            self._tables.check(self._connected, [forecast.table_map], forecast.log.version)

    def _read_facts(self, source_names: int | None) -> ServerFacts:
        """Return the facts about the target, which are read once."""
        if self._facts is None:
            self._facts = ServerFacts.read(self._connected(), source_names)
        return self._facts

    def _connected(self) -> Connection:
        """Return the connection; open it again if it broke."""
        if self._connection is None:
            self._connection = self._connect()
        return self._connection
