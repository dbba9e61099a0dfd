"""A logged statement in the form that a MySQL or MariaDB can run with the same effect as on the source (R33)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paraply.errors import LogNotUnderstood, ServerError
from paraply.logs.server_text import is_utf8
from paraply.logs.statement_text import StatementText, read_statement_text
from paraply.schema.ddl.statement_kind import StatementKind, check_version_comments
from paraply.targets.ddl_answer import BY_HAND
from paraply.targets.mysql.ddl.context import context_statements, statement_rules
from paraply.targets.mysql.server_version import ServerKind
from paraply.targets.mysql.sql import query_all

if TYPE_CHECKING:
    from paraply._native import Format, Statement
    from paraply.targets.mysql.ddl.collation_numbers import CollationNumbers
    from paraply.targets.mysql.ddl.name_case import NameCase
    from paraply.targets.mysql.sql import Connection

__all__ = ["ReadStatement", "check_names", "read_statement"]

#: First version whose CREATE TABLE ... SELECT puts row_start and row_end last, like the logged text (observed: 10.11, but not 10.5).
_ROW_TIMES_LAST = (10, 11)
#: ER_UNSUPPORTED_PS: the server has no prepared statement of this kind.
_NOT_PREPARED = 1295
#: A literal whose bytes are taken as they are sent.
_INTRODUCER = re.compile(r"""\b_\w+\s*(?:'[^']*[^\x00-\x7f]|"[^"]*[^\x00-\x7f])""")


@dataclass(frozen=True, slots=True)
class ReadStatement:
    """A logged statement in the form that the target can run.

    Attributes:
        text: The statement.
        kind: Kind of the statement; None if unknown.
        run: The statement with what it leaves to the session that runs it.
        data: Its bytes for a session with the settings.
        settings: SET statements for its session settings.
    """

    text: str
    kind: StatementKind | None
    run: str
    data: bytes
    settings: list[str]

    def prepare(self, connection: Connection, offset: int) -> bytes:
        """Return the bytes that run the statement in a session that has the settings.

        Bytes that are not UTF-8 reach the server as a prepared statement, which it parses in the session's ``character_set_client``.

        Raises:
            LogNotUnderstood: The server cannot prepare the statement, and the object would keep another character set of the client.
        """
        if is_utf8(self.data):
            return self.data
        try:
            query_all(connection, [f"SET @paraply=x'{self.data.hex()}'", "PREPARE paraply FROM @paraply"])
        except ServerError as error:
            if error.code != _NOT_PREPARED:
                raise
        else:
            return b"EXECUTE paraply"
        if self.kind is None or self.kind.keeps_client_charset:
            raise LogNotUnderstood(
                "the object keeps the character set of the client that made it, which was not UTF-8, and the target does not prepare such a"
                " statement with text outside of ASCII; run it by hand under the same character_set_client, and start"
                " again with --ddl-done",
                position=offset,
            )
        if _INTRODUCER.search(self.run) is not None:
            raise LogNotUnderstood(
                f"the statement has a literal after a character set, and its client's character set was another one; {BY_HAND}",
                position=offset,
            )
        query_all(connection, ["SET character_set_client=utf8mb4"])
        return self.run.encode()


def read_statement(
    statement: Statement, log: Format, server: ServerKind, collations: CollationNumbers, *, has_rows: bool = False
) -> ReadStatement:
    """Return a logged statement in the form that the target can run; used by the dry run and the apply.

    Args:
        statement: The logged statement.
        log: The format of the log.
        server: The target.
        collations: The target's collations.
        has_rows: True if its transaction has rows, as that of a CREATE TABLE ... SELECT.

    Raises:
        LogNotUnderstood: The target cannot run the statement with the same effect as on the source.
        UsageError: The statement would change paraply's own tables.
    """
    from paraply.targets.mysql.ddl.own_database import check_own_statement

    read = read_statement_text(statement, mariadb=log.mariadb, version=log.version, has_rows=has_rows)
    text = read.text
    rules = statement_rules(statement, server)
    kind = StatementKind.read(text, rules)
    source = ServerKind(log.mariadb, log.version)
    check_own_statement(text, statement.database, statement_rules(statement, source), statement.offset)
    check_version_comments(text, statement_rules(statement, source), rules, statement.offset)
    if has_rows and kind is not None and kind.makes_row_times and source.version < _ROW_TIMES_LAST:
        raise LogNotUnderstood(
            "this CREATE TABLE ... SELECT made a system-versioned table with row_start and row_end before the selected columns,"
            f" as MariaDB before {'.'.join(map(str, _ROW_TIMES_LAST))} does, and the logged text makes a table with another order of"
            " columns; make the table by hand, copy its rows, and leave it out with --exclude-table, on a new"
            " --channel with --start-after if transactions are applied already",
            position=statement.offset,
        )
    settings = list(context_statements(statement, log, server, collations, kind))
    run = _edited(statement, text, kind, server)
    data = None if read.in_utf8 else _client_bytes(statement, read, run, kind)
    if data is None:
        settings.append("SET character_set_client=utf8mb4")
    if read.in_utf8 and read.converted:  # the literals are those of the table on the source
        settings.append("SET collation_connection=utf8mb4_general_ci")
    return ReadStatement(text, kind, run, run.encode() if data is None else data, settings)


def _client_bytes(statement: Statement, read: StatementText, run: str, kind: StatementKind | None) -> bytes | None:
    """Return the bytes of a statement in its ``character_set_client``; None if there are none and UTF-8 has the same effect.

    Views, routines, triggers and events keep the client's character set, and their bodies are read in it. So they need the client's bytes.
    """
    data = read.edited(run)
    if data is None and kind is not None and kind.keeps_client_charset:
        name = read.charset.name if read.charset is not None else "ascii"
        raise LogNotUnderstood(
            f"the statement has names that its character_set_client {name} cannot express, and the object would keep another one;"
            f" {BY_HAND}",
            position=statement.offset,
        )
    return data


def _edited(statement: Statement, text: str, kind: StatementKind | None, server: ServerKind) -> str:
    """Return the statement with what it leaves to the session that runs it."""
    invoker = statement.context.get("invoker")
    if kind is not None and invoker is not None:
        text = kind.with_invoker(*invoker, mariadb=server.mariadb)
    if kind is not None and kind.verb == "DROP" and server.mariadb:
        text = kind.with_absent_allowed()
    return text


def check_names(names: NameCase, connection: Connection, text: str, statement: Statement, log: Format) -> None:
    """Check that the names in a logged statement refer to the same objects on the target as on the source.

    Raises:
        LogNotUnderstood: A name refers to another object.
    """
    rules = statement_rules(statement, ServerKind(log.mariadb, log.version))
    names.check_statement(connection, text, statement.database or "", rules, statement.offset)
