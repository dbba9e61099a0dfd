"""Lexer for DDL statements. It treats quotes, comments and version comments like the server's own lexer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from paraply.schema.ddl.rules import MODE_ANSI_QUOTES, MODE_NO_BACKSLASH_ESCAPES, Rules

__all__ = ["NAME_OF_SERVER", "PLACE_OF_SERVER", "TABLE_OF_SERVER", "DdlSyntaxError", "Token", "tokenize", "unescape"]

Kind = Literal["word", "name", "string", "number", "symbol"]


class DdlSyntaxError(Exception):
    """A statement that is not understood. Callers must make the tables that it may touch unknown (R13)."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token of a statement.

    Attributes:
        kind: ``word`` (keyword or bare identifier), ``name`` (quoted identifier), ``string``, ``number`` or ``symbol``.
        text: Value without quotes and escapes; an identifier as the server stores it.
        start: Offset of the first character in the statement.
        end: Offset after the last character.
    """

    kind: Kind
    text: str
    start: int
    end: int

    @property
    def upper(self) -> str:
        """The text in capitals if the token can be a keyword, else an empty text."""
        return self.text.upper() if self.kind == "word" else ""


SPACE = re.compile(r"[\s\0]+")
WORD = re.compile(r"[0-9A-Za-z_$\u0080-\U0010ffff]+")
NUMBER = re.compile(r"(?:0x[0-9a-fA-F]+|0b[01]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?![0-9A-Za-z_$\u0080-\U0010ffff])")
LINE_COMMENT = re.compile(r"(?:#|--(?=[\s\0]|$))[^\n]*")
VERSION_COMMENT = re.compile(r"/\*(M?)!(\d{5,6}(?!\d))?")
BEYOND_UTF8MB3 = re.compile(r"[\U00010000-\U0010ffff]")
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b", "Z": "\x1a", "%": "\\%", "_": "\\_"}

# The layout of a statement shows who wrote it, and with that in which character set its bytes are. So it is found in the bytes, before
# there is a text to split into tokens. StatementKind cannot find it: tokens have no layout.
NAME_OF_SERVER = r"`(?:[^`]|``)*`"
"""Pattern of a name."""
PLACE_OF_SERVER = rf"{NAME_OF_SERVER}(?:\.{NAME_OF_SERVER})?"
"""Pattern of a name with or without its database."""
TABLE_OF_SERVER = rf"CREATE (?:OR REPLACE )?TABLE (?:IF NOT EXISTS )?{PLACE_OF_SERVER} \(\n  `"
"""Pattern of the start of a CREATE TABLE, for CREATE TABLE ... SELECT and in dumps."""


def tokenize(sql: str, rules: Rules) -> list[Token]:
    """Return the statement's tokens, without comments, and with the contents of version comments that apply.

    Raises:
        DdlSyntaxError: A quote or comment does not end.

    >>> [t.text for t in tokenize("CREATE TABLE `a``b` /*!40101 (c */ CHAR) /* x */", Rules())]
    ['CREATE', 'TABLE', 'a`b', '(', 'c', 'CHAR', ')']
    """
    tokens: list[Token] = []
    position, opened = 0, 0
    while position < len(sql):
        if match := SPACE.match(sql, position) or LINE_COMMENT.match(sql, position):
            position = match.end()
        elif match := VERSION_COMMENT.match(sql, position):
            applies = _applies(match, rules)
            opened += applies
            position = match.end() if applies else _comment_end(sql, position, nested=True)
        elif sql.startswith("/*", position):
            position = _comment_end(sql, position)
        elif opened and sql.startswith("*/", position):
            opened -= 1
            position += 2
        else:
            token = _token(sql, position, rules, tokens)
            tokens.append(token)
            position = token.end
    if opened:
        raise DdlSyntaxError("a version comment does not end")
    return tokens


def _applies(match: re.Match[str], rules: Rules) -> bool:
    """Return True if the server runs the text of a version comment. MariaDB ignores MySQL's from 5.7 to 9.99."""
    only_mariadb, digits = match.group(1), match.group(2)
    if only_mariadb and not rules.mariadb:
        return False
    if digits is None:
        return True
    number = int(digits)
    if rules.mariadb and not only_mariadb and 50700 <= number <= 99999:
        return False
    major, minor, patch = rules.version
    return number <= major * 10000 + minor * 100 + patch


def _comment_end(sql: str, position: int, *, nested: bool = False) -> int:
    end = sql.find("*/", position + 2)
    if end < 0:
        raise DdlSyntaxError("a comment does not end")
    if nested and "/*" in sql[position + 2 : end]:
        raise DdlSyntaxError("a comment inside a version comment that does not apply")
    return end + 2


def _token(sql: str, position: int, rules: Rules, before: list[Token]) -> Token:
    char = sql[position]
    if char == "`" or (char == '"' and rules.has(MODE_ANSI_QUOTES)) or (char == "[" and rules.quotes_in_brackets):
        return _quoted_name(sql, position, rules)
    if char in "'\"":
        return _string(sql, position, rules)
    after_dot = bool(before) and before[-1].text == "." and before[-1].kind == "symbol" and before[-1].end == position
    if char == "." and before and before[-1].kind in ("word", "name") and before[-1].end == position:
        return Token("symbol", ".", position, position + 1)
    if not after_dot and (match := NUMBER.match(sql, position)):
        return Token("number", match.group(), position, match.end())
    if match := WORD.match(sql, position):
        return Token("word", _stored_name(match.group(), rules), position, match.end())
    return Token("symbol", char, position, position + 1)


def _stored_name(name: str, rules: Rules) -> str:
    """Return an identifier as the server stores it.

    Identifiers are utf8mb3. MySQL stores each character that utf8mb3 lacks as a question mark, and logs the client's text
    (``test_mysql_stores_a_question_mark_for_a_character_that_names_lack``). MariaDB refuses such a name (error 1300).

    >>> _stored_name("a😀", Rules()), _stored_name("a😀", Rules(mariadb=True))
    ('a?', 'a😀')
    """
    return name if rules.mariadb or name.isascii() else BEYOND_UTF8MB3.sub("?", name)


def _quoted_name(sql: str, position: int, rules: Rules) -> Token:
    quote, end = "]" if sql[position] == "[" else sql[position], position + 1
    while (end := sql.find(quote, end)) >= 0:
        if sql[end + 1 : end + 2] != quote:
            name = sql[position + 1 : end].replace(quote * 2, quote)
            return Token("name", _stored_name(name, rules), position, end + 1)
        end += 2
    raise DdlSyntaxError("a quoted name does not end")


def _string(sql: str, position: int, rules: Rules) -> Token:
    quote, backslash = sql[position], not rules.has(MODE_NO_BACKSLASH_ESCAPES)
    end = position + 1
    while end < len(sql):
        if backslash and sql[end] == "\\":
            end += 2
        elif sql[end] != quote:
            end += 1
        elif sql[end + 1 : end + 2] == quote:
            end += 2
        else:
            return Token("string", unescape(sql[position + 1 : end], quote, backslash=backslash), position, end + 1)
    raise DdlSyntaxError("a string does not end")


def unescape(body: str, quote: str, *, backslash: bool) -> str:
    r"""Return the value of a string literal's contents.

    >>> unescape(r"a''b\n", "'", backslash=True)
    "a'b\n"
    """
    pattern = re.compile((r"\\(.)|" if backslash else "()(?!)|") + re.escape(quote * 2), re.DOTALL)

    def value(match: re.Match[str]) -> str:
        escaped = match.group(1)
        return ESCAPES.get(escaped, escaped) if escaped is not None else quote

    return pattern.sub(value, body)
