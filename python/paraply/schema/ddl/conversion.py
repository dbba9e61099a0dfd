"""Text that the server converts to another character set: literals of a statement, and labels of ENUM and SET."""

from __future__ import annotations

import re
from functools import cache

from paraply._native import decode_text
from paraply.errors import UsageError
from paraply.schema.collations import CLIENT_CODECS
from paraply.schema.ddl.lexer import TABLE_OF_SERVER, DdlSyntaxError

__all__ = ["converted", "converted_literal"]

_SERVER_LAYOUT = re.compile(TABLE_OF_SERVER)
_UNICODE = frozenset({"utf8mb4", "utf16", "utf16le", "utf32", "gb18030"})
_OF_THE_BASIC_PLANE = frozenset({"utf8mb3", "ucs2"})
#: Character sets of several bytes, in which Python's codecs may differ from the servers' tables.
_SEVERAL_BYTES = frozenset({"big5", "cp932", "eucjpms", "euckr", "gb2312", "gbk", "sjis", "ujis"})


def converted(text: str, charset: str | None) -> str:
    """Return a text as it is after the server's conversion to a character set: what the set does not have becomes a question mark.

    Seen on MariaDB 10.5, 10.11 and 11.8 and on MySQL 9.7.

    Args:
        text: The text.
        charset: The character set; None if it is not known.

    Raises:
        DdlSyntaxError: It is not known which characters the character set has.

    >>> converted("€漢", "latin1"), converted("😀漢", "utf8mb3"), converted("жé", "koi8r"), converted("漢", "gbk")
    ('€?', '?漢', 'ж?', '漢')
    """
    if text.isascii() or charset in _UNICODE or charset in {None, "binary"}:
        return text
    if charset in _OF_THE_BASIC_PLANE:
        return "".join(character if ord(character) < 0x10000 else "?" for character in text)
    if charset in _SEVERAL_BYTES:
        try:
            text.encode(CLIENT_CODECS[charset])
        except UnicodeEncodeError as error:
            raise DdlSyntaxError(f"text that {charset} may not have: {text[error.start : error.end]!r}") from None
        return text
    known = _characters(charset or "")
    return "".join(character if character in known else "?" for character in text)


def converted_literal(text: str, charset: str | None, sql: str) -> str:
    """Return a literal of a statement as it is after the conversion to the connection's character set.

    Args:
        text: The literal.
        charset: The connection's character set; None if the server does not convert.
        sql: The statement.

    Raises:
        DdlSyntaxError: The conversion is not known, or the server may have written the statement, with literals that are not converted.
    """
    found = converted(text, charset)
    if found != text and _SERVER_LAYOUT.match(sql) is not None:
        raise DdlSyntaxError(f"a literal that the server may have written, with characters that {charset} does not have: {text!r}")
    return found


@cache
def _characters(charset: str) -> frozenset[str]:
    """Return the characters of a character set of single bytes.

    Raises:
        DdlSyntaxError: The character set is not known.
    """
    try:
        found = [decode_text(charset, bytes([byte])) for byte in range(256)]
    except UsageError:
        raise DdlSyntaxError(f"text in the character set {charset}") from None
    return frozenset(character for character in found if character)
