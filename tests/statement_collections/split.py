"""Cut SQL scripts into statements."""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["split_lines", "split_script"]

_TOKEN = re.compile(
    r"""(?P<quoted>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|`(?:[^`]|``)*`)
      | (?P<comment>\#[^\n]*|--(?=[\s])[^\n]*|--$|/\*(?!!|M!).*?\*/)
      | (?P<line>\n)
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_DELIMITER = re.compile(r"[ \t]*(?:--\s*)?delimiter[ \t]+(\S+)[^\n]*", re.IGNORECASE)


def split_script(text: str) -> list[str]:
    """Return the statements of a script as a client would send them: without comments, ``DELIMITER`` obeyed.

    >>> split_script("create table t (a int); -- one\\ninsert into t values (';');")
    ['create table t (a int)', "insert into t values (';')"]
    >>> split_script("delimiter //\\ncreate procedure p() begin select 1; end//\\ndelimiter ;\\nselect 2")
    ['create procedure p() begin select 1; end', 'select 2']
    """
    return [statement for piece in _pieces(text) if (statement := piece.strip())]


def split_lines(text: str) -> list[str]:
    """Return the statements of a file that has one a line; lines that begin with ``->`` or ``#`` are no statements.

    >>> split_lines("insert into t values (1);\\n  -> {\\"a\\": 1}\\n\\nuse d")
    ['insert into t values (1)', 'use d']
    """
    lines = (line.strip() for line in text.splitlines())
    return [line.rstrip(";").strip() for line in lines if line and not line.startswith(("->", "#", "--", "{", "}", '"'))]


def _pieces(text: str) -> Iterator[str]:
    delimiter, position, statement = ";", 0, ""
    line_start = True
    while position < len(text):
        if line_start and not statement.strip() and (named := _DELIMITER.match(text, position)):
            delimiter, position = named[1], named.end()
            continue
        if text.startswith(delimiter, position):
            yield statement
            statement, position = "", position + len(delimiter)
            continue
        token = _TOKEN.match(text, position)
        assert token is not None
        position = token.end()
        line_start = token.lastgroup == "line" or (line_start and token[0].isspace())
        statement += " " if token.lastgroup == "comment" else token[0]
    yield statement
