"""The text of a statement in the log, decoded by the client's character set."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from paraply.errors import LogNotUnderstood
from paraply.schema.collations import collations

if TYPE_CHECKING:
    from paraply._native import Statement

__all__ = ["decode_statement", "hide_passwords"]

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

_CODECS = {
    "ascii": "ascii",
    "big5": "big5",
    "binary": "utf-8",
    "cp1250": "cp1250",
    "cp1251": "cp1251",
    "cp1256": "cp1256",
    "cp1257": "cp1257",
    "cp850": "cp850",
    "cp852": "cp852",
    "cp866": "cp866",
    "cp932": "cp932",
    "eucjpms": "euc_jp",
    "euckr": "euc_kr",
    "gb18030": "gb18030",
    "gb2312": "gb2312",
    "gbk": "gbk",
    "greek": "iso8859_7",
    "hebrew": "iso8859_8",
    "koi8r": "koi8_r",
    "koi8u": "koi8_u",
    "latin1": "cp1252",
    "latin2": "iso8859_2",
    "latin5": "iso8859_9",
    "latin7": "iso8859_13",
    "macroman": "mac_roman",
    "sjis": "shift_jis",
    "tis620": "tis_620",
    "ujis": "euc_jp",
    "utf8mb3": "utf-8",
    "utf8mb4": "utf-8",
}


def decode_statement(statement: Statement, *, mariadb: bool, file: str | None = None) -> str:
    """Return the text of a statement.

    Plain ASCII text needs no character set, because every client character set contains ASCII.

    Args:
        statement: A statement of the log.
        mariadb: Whether a MariaDB server wrote the statement, because collation numbers differ.
        file: The log file, for the error.

    Raises:
        LogNotUnderstood: The character set is not known, or the bytes are not text in it.
    """
    try:
        return statement.sql.decode("ascii")
    except UnicodeDecodeError:
        pass
    numbers = statement.context.get("charset")
    if numbers is None:
        charset: str | None = "utf8mb4"
    else:
        known = collations("mariadb" if mariadb else "mysql")
        name = known.name(numbers[0])
        charset = None if name is None else known.charset_of.get(name)
    codec = None if charset is None else _CODECS.get(charset)
    if codec is None:
        number = numbers[0] if numbers else "none"
        raise LogNotUnderstood(f"a statement's character set is not known (collation {number})", file=file, position=statement.offset)
    try:
        return statement.sql.decode(codec)
    except UnicodeDecodeError as error:
        raise LogNotUnderstood(f"a statement is not valid {charset} text: {error.reason}", file=file, position=statement.offset) from error


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
