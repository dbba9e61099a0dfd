"""The text of a statement in the log, decoded by the client's character set."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from paraply.errors import LogNotUnderstood
from paraply.logs.client_charset import ClientCharset, client_charset
from paraply.logs.server_text import Writer, table_by_server, written_parts
from paraply.schema.collations import collations
from paraply.schema.ddl.lexer import DdlSyntaxError, tokenize
from paraply.schema.ddl.literals import to_charset
from paraply.schema.ddl.rules import Rules

if TYPE_CHECKING:
    from paraply._native import Statement, Transaction

__all__ = [
    "StatementText",
    "decode_logged",
    "decode_or_advise",
    "decode_statement",
    "hide_passwords",
    "name_skip",
    "read_statement_text",
    "statement_start",
]

_WITHOUT_GTID = "run it by hand, and begin with a later log on a new --channel, because without GTIDs no transaction can be left out"

NEWEST = (9, 7, 0)
_LONGEST = 120

#: Start of a statement that may hold a password: of an account, a role, a server or a source; comments may stand before and inside.
_SPACE = r"(?:\s|/\*.*?\*/)"
_WITH_PASSWORD = re.compile(
    rf"{_SPACE}*(?:(?:CREATE{_SPACE}+OR{_SPACE}+REPLACE|CREATE|ALTER){_SPACE}+(?:USER|SERVER)|GRANT|SET{_SPACE}+PASSWORD|CHANGE)\b",
    re.IGNORECASE | re.DOTALL,
)
_LITERAL = r"""'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|0x[0-9a-f]+|x'[0-9a-f]*'"""
#: A literal after a word or a sign that a password follows, or any other literal.
_SECRET = re.compile(
    rf"(\b(?:BY|AS|USING|PASSWORD|REPLACE)\b[\s=(]*|\w*PASSWORD\s*=\s*|=\s*)((?:_\w+\s*)?(?:{_LITERAL}))|{_LITERAL}|`[^`]*`",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class StatementText:
    """A logged statement as text, and as bytes that a server reads as this text.

    Attributes:
        text: The text.
        charset: Character set of the client; None if the text is ASCII.
        sent: The bytes for a session with the statement's ``character_set_client``; None if it cannot express the text.
        in_utf8: True if the server wrote all of the statement, in UTF-8.
        converted: True if a session with the statement's settings would change its literals, by the connection's character set. They are
            the client's then, unless ``in_utf8``.
    """

    text: str
    charset: ClientCharset | None
    sent: bytes | None
    in_utf8: bool = False
    converted: bool = False

    def edited(self, text: str) -> bytes | None:
        """Return the bytes of an edited text for a session with the statement's ``character_set_client``; None if there are none."""
        if text == self.text:
            return self.sent
        if self.charset is None:
            return text.encode("ascii") if text.isascii() else None
        return self.charset.encode(text)


def read_statement_text(
    statement: Statement, *, mariadb: bool, version: tuple[int, int, int] = NEWEST, file: str | None = None, has_rows: bool = False
) -> StatementText:
    """Return the text of a statement; see ``decode_statement``."""
    sql = bytes(statement.sql)
    if sql.isascii():
        return StatementText(sql.decode("ascii"), None, sql)
    name = _charset_name(statement, mariadb=mariadb)
    charset = client_charset(name)
    if charset is None:
        numbers = statement.context.get("charset")
        number = numbers[0] if numbers else "none"
        raise LogNotUnderstood(f"a statement's character set is not known (collation {number})", file=file, position=statement.offset)
    parts = written_parts(sql, charset, Writer(mariadb, version, has_rows))
    if parts is None:
        raise LogNotUnderstood(
            f"the statement's text can be read in two ways: names that the server wrote in UTF-8, or the client's {charset.name} text",
            file=file, position=statement.offset,
        )  # fmt: skip
    try:
        texts = [part.data.decode("utf-8") if part.server else charset.decode(part.data) for part in parts]
    except UnicodeDecodeError as error:
        raise LogNotUnderstood(
            f"a statement is not valid {charset.name} text: {error.reason}", file=file, position=statement.offset
        ) from error
    pieces = [charset.encode(text) if part.server else part.data for part, text in zip(parts, texts, strict=True)]
    sent = None if None in pieces else b"".join(piece for piece in pieces if piece is not None)
    text = "".join(texts)
    by_server = table_by_server(sql, Writer(mariadb, version, has_rows))
    changes = _changes_literals(text, Rules.of(statement.context, mariadb=mariadb, version=version), statement, mariadb=mariadb)
    if changes and by_server is False and charset.is_utf8:
        raise LogNotUnderstood(
            "the statement's literals can be read in two ways: as the server wrote them, or as the client did, whose connection's character"
            " set does not have all of their characters",
            file=file, position=statement.offset,
        )  # fmt: skip
    in_utf8 = all(part.server for part in parts) or (by_server is True and charset.is_utf8)
    return StatementText(text, charset, sent, in_utf8, changes)


def _changes_literals(text: str, rules: Rules, statement: Statement, *, mariadb: bool) -> bool:
    """Return True if the conversion of UTF-8 to the connection's character set would change a string of the statement, or may do so.

    Comments are converted to UTF-8, whatever the connection's character set.
    """
    numbers = statement.context.get("charset")
    known = collations("mariadb" if mariadb else "mysql")
    connection = None if numbers is None else known.charset_of.get(known.name(numbers[1]) or "")
    try:
        tokens = [token for token in tokenize(text, rules) if token.text != "="]
        literals = [token.text for before, token in pairwise(tokens) if token.kind == "string" and before.upper != "COMMENT"]
        return any(to_charset(literal, connection) != literal for literal in literals)
    except DdlSyntaxError:
        return True


def decode_statement(
    statement: Statement, *, mariadb: bool, version: tuple[int, int, int] = NEWEST, file: str | None = None, has_rows: bool = False
) -> str:
    """Return the text of a statement.

    Plain ASCII text needs no character set, because every client character set contains ASCII.

    Args:
        statement: A statement of the log.
        mariadb: True if a MariaDB server wrote the statement, because collation numbers differ.
        version: Version of that server.
        file: The log file, for the error.
        has_rows: True if rows belong to the statement, as to CREATE TABLE ... SELECT.

    Raises:
        LogNotUnderstood: The character set is not known, or the bytes are not text in it, or can be read in two ways.
    """
    return read_statement_text(statement, mariadb=mariadb, version=version, file=file, has_rows=has_rows).text


def decode_logged(statement: Statement, transaction: Transaction) -> str:
    """Return the text of a statement of a transaction; see ``decode_statement``."""
    if statement.sql.isascii():
        return statement.sql.decode("ascii")
    log = transaction.format
    return decode_statement(statement, mariadb=log.mariadb, version=log.version, file=transaction.file, has_rows=transaction.rows > 0)


def _charset_name(statement: Statement, *, mariadb: bool) -> str | None:
    numbers = statement.context.get("charset")
    if numbers is None:
        return "utf8mb4"
    known = collations("mariadb" if mariadb else "mysql")
    name = known.name(numbers[0])
    return None if name is None else known.charset_of.get(name)


def statement_start(sql: str) -> str:
    """Return the start of a statement in one line, for the end of a message; without passwords.

    >>> statement_start("DROP  TABLE   item"), statement_start(f"SELECT {'x' * 200}")[-9:]
    ('DROP TABLE item', 'xxxxx ...')
    """
    text = hide_passwords(" ".join(sql.split()))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."


def hide_passwords(sql: str) -> str:
    r"""Return a statement with ``'***'`` in place of the passwords of accounts and servers, and of their hashes.

    >>> hide_passwords("CREATE USER 'by'@'%' IDENTIFIED WITH 'caching_sha2_password' AS '$A$005$x' REQUIRE NONE COMMENT 'as'")
    "CREATE USER 'by'@'%' IDENTIFIED WITH 'caching_sha2_password' AS '***' REQUIRE NONE COMMENT 'as'"
    >>> hide_passwords("SET PASSWORD FOR 'a'@'%'='*94BDCEBE'"), hide_passwords("CREATE VIEW v AS SELECT 'a'")
    ("SET PASSWORD FOR 'a'@'%'='***'", "CREATE VIEW v AS SELECT 'a'")
    """
    if _WITH_PASSWORD.match(sql) is None:
        return sql
    return _SECRET.sub(lambda match: match[0] if match[1] is None else f"{match[1]}'***'", sql)


def name_skip(error: LogNotUnderstood, transaction: Transaction) -> None:
    """Add the way on to the error of a statement whose text cannot be read.

    It is ``--skip`` and not ``--ddl-done``, which compares the target with what the text says.

    Args:
        error: The error.
        transaction: The statement's transaction.
    """
    error.gtid = transaction.gtid
    way_on = f"run it by hand, and start again with --skip {transaction.gtid}" if transaction.gtid else _WITHOUT_GTID
    error.message += f"; {way_on}"


def decode_or_advise(statement: Statement, transaction: Transaction) -> str:
    """Return the text of a statement of a transaction that is to be applied.

    Raises:
        LogNotUnderstood: It cannot be read; the message has the way on.
    """
    try:
        return decode_logged(statement, transaction)
    except LogNotUnderstood as error:
        name_skip(error, transaction)
        raise
