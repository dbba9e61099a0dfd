"""Parser for literals: numbers, strings with and without an introducer, and bytes in hexadecimal and binary."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from paraply.schema.collations import canonical_charset
from paraply.schema.model import Default

if TYPE_CHECKING:
    from paraply.schema.ddl.cursor import Cursor

__all__ = ["CODECS", "read_bytes", "read_literal", "read_now", "read_string", "time_zone", "to_charset", "to_utc"]

CODECS = {"utf8mb4": "utf-8", "utf8mb3": "utf-8", "ascii": "ascii", "latin1": "cp1252"}
"""Python's codecs for these character sets. Text with bytes that the codec does not know is not decoded."""
_TEMPORAL = ("DATE", "TIME", "TIMESTAMP")
_NOW = ("CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP", "NOW")


def read_literal(cursor: Cursor) -> Default | None:
    """Read a literal, possibly in parentheses; return None and read nothing if there is none or its value is not known.

    >>> from paraply.schema.ddl.cursor import Cursor
    >>> from paraply.schema.ddl.rules import MODE_EMPTY_STRING_IS_NULL, Rules
    >>> read_literal(Cursor("((-5))", Rules()))
    Default(kind='literal', text='-5', form='number', introduced=False)
    >>> read_literal(Cursor("_utf8mb4''", Rules(mariadb=True, sql_mode=MODE_EMPTY_STRING_IS_NULL))).text is None
    True
    """
    start = cursor.index
    found = _in_parentheses(cursor) if cursor.at("(") else _literal(cursor)
    if found is None:
        cursor.index = start
    elif cursor.rules.empty_is_null and found.kind == "literal" and found.form == "string" and not found.text:
        return Default("literal")
    return found


def _in_parentheses(cursor: Cursor) -> Default | None:
    cursor.expect("(")
    found = _in_parentheses(cursor) if cursor.at("(") else _literal(cursor)
    return found if found is not None and cursor.accept(")") else None


def _literal(cursor: Cursor) -> Default | None:
    if cursor.accept("NULL"):
        return Default("literal")
    if cursor.accept("TRUE"):
        return Default("literal", "1", "number")
    if cursor.accept("FALSE"):
        return Default("literal", "0", "number")
    if cursor.token.kind == "string":
        return Default("literal", read_string(cursor))
    if (digits := read_bytes(cursor)) is not None:
        return digits
    sign = "-" if cursor.at("-") else ""
    if (sign or cursor.at("+")) and cursor.ahead(1).kind == "number":
        cursor.next()
    if cursor.token.kind == "number":
        text = cursor.next().text
        return Default("literal", sign + text, "number") if text[:2] not in {"0x", "0b"} else None
    if cursor.token.upper in _TEMPORAL and cursor.ahead(1).kind == "string":
        cursor.next()
        return Default("literal", cursor.string(), "temporal")
    return _introduced(cursor)


def read_string(cursor: Cursor) -> str:
    """Read a string without an introducer; return it as the server has converted it from the client's to the connection's character set.

    >>> from paraply.schema.ddl.cursor import Cursor
    >>> from paraply.schema.ddl.rules import Rules
    >>> read_string(Cursor("'漢é'", Rules(client_charset="utf8mb4", connection_charset="latin1")))
    '?é'
    """
    text, charset = cursor.string(), cursor.rules.connection_charset
    if text.isascii() or charset is None:
        return text
    from paraply.schema.ddl.conversion import converted_literal

    return converted_literal(text, charset, cursor.sql)


def to_charset(text: str, charset: str | None) -> str:
    """Return a text as it is after the server's conversion to a character set (``conversion.converted``)."""
    if text.isascii() or charset is None:
        return text
    from paraply.schema.ddl.conversion import converted

    return converted(text, charset)


def read_now(cursor: Cursor) -> Default | None:
    """Read CURRENT_TIMESTAMP or a synonym, possibly in parentheses; return None and read nothing if there is none.

    >>> from paraply.schema.ddl.cursor import Cursor
    >>> from paraply.schema.ddl.rules import Rules
    >>> [read_now(Cursor(text, Rules())) for text in ("(now(3))", "SYSDATE()")]
    [Default(kind='expression', text='3', form='now', introduced=False), None]
    """
    start = cursor.index
    found = _now_in_parentheses(cursor) if cursor.at("(") else _now(cursor)
    if found is None:
        cursor.index = start
    return found


def _now_in_parentheses(cursor: Cursor) -> Default | None:
    cursor.expect("(")
    found = _now_in_parentheses(cursor) if cursor.at("(") else _now(cursor)
    return found if found is not None and cursor.accept(")") else None


def _now(cursor: Cursor) -> Default | None:
    name = cursor.accept_any(_NOW)
    if name is None or (name == "NOW" and not cursor.at("(")):
        return None
    digits = "0"
    if cursor.accept("("):
        if cursor.token.kind == "number":
            digits = cursor.next().text
        if not cursor.accept(")"):
            return None
    return Default("expression", digits, "now") if digits in set("0123456") else None


def read_bytes(cursor: Cursor) -> Default | None:
    """Read ``x'..'``, ``0x..``, ``b'..'`` or ``0b..``; return its bytes in hexadecimal.

    Without such a literal, return None and read nothing.

    In MariaDB, ``x'..'`` is a string even in a numeric context; all others are numbers there.
    """
    token, inside = cursor.token, cursor.ahead(1)
    if token.kind == "number" and token.text[:2] in {"0x", "0b"}:
        cursor.next()
        return Default("literal", _hexadecimal(token.text[2:], token.text[1] == "b"), "bits")
    if token.upper not in {"X", "B"} or inside.kind != "string" or inside.start != token.end:
        return None
    cursor.next()
    text = cursor.next().text
    try:
        digits = _hexadecimal(text, token.upper == "B")
    except ValueError:
        cursor.fail("digits")
    return Default("literal", digits, "bytes" if token.upper == "X" and cursor.rules.mariadb else "bits")


def _hexadecimal(digits: str, binary: bool) -> str:
    """Return the digits of whole bytes.

    >>> _hexadecimal("100000001", True), _hexadecimal("f", False)
    ('0101', '0f')
    """
    if binary:
        digits = f"{int(digits, 2):0{-(-len(digits) // 8) * 2}x}" if digits else ""
    elif len(digits) % 2:
        digits = "0" + digits
    return bytes.fromhex(digits).hex()


def _introduced(cursor: Cursor) -> Default | None:
    """Read ``N'..'`` or a literal after a character set; the literal is the bytes that the client sent, in that character set."""
    token, inside = cursor.token, cursor.ahead(1)
    if token.upper == "N" and inside.kind == "string" and inside.start == token.end:
        cursor.next()
        return Default("literal", to_charset(cursor.string(), "utf8mb3"))
    if token.kind != "word" or not token.text.startswith("_"):
        return None
    charset = canonical_charset(token.text[1:])
    cursor.next()
    if (digits := read_bytes(cursor)) is not None:
        value = bytes.fromhex(digits.text or "")
    elif cursor.token.kind == "string":
        text = cursor.string()
        sent = CODECS.get(cursor.rules.client_charset or "")
        if not text.isascii() and sent is None:
            return None
        try:
            value = text.encode(sent or "ascii", "surrogateescape")
        except UnicodeEncodeError:
            return None
    else:
        return None
    introduced = digits is not None or not value.isascii()
    if charset == "binary":
        return Default("literal", value.hex(), "bytes", introduced)
    try:
        return Default("literal", value.decode(CODECS[charset]), introduced=introduced)
    except (KeyError, UnicodeDecodeError):
        return None


def to_utc(text: str, zone: str | None) -> str | None:
    """Return a TIMESTAMP literal in UTC, or None if this is not certain. The server reads it in the session's time zone.

    >>> to_utc("2024-01-01 05:00:00.5", "+05:30"), to_utc("2024-03-31 02:30:00", "Europe/Berlin"), to_utc("2024-01-01", "SYSTEM")
    ('2023-12-31 23:30:00.500000', None, None)
    """
    found = None if zone is None else time_zone(zone)
    if found is None:
        return None
    try:
        local = datetime.fromisoformat(text)
    except ValueError:
        return None
    if local.tzinfo is not None or len(text.partition(".")[2]) > 6:  # fromisoformat truncates further digits
        return None
    try:
        first, second = (local.replace(tzinfo=found, fold=fold).astimezone(UTC) for fold in (0, 1))
    except OverflowError:
        return None
    if first != second:  # when clocks change, a local time exists twice or not at all
        return None
    return first.replace(tzinfo=None).isoformat(" ")


def time_zone(name: str) -> tzinfo | None:
    """Return a session's time zone; None for ``SYSTEM``, which only the server knows, and for a name that is not known here."""
    if name[:1] in {"+", "-"}:
        hours, _, minutes = name[1:].partition(":")
        if not (hours.isdecimal() and minutes.isdecimal()):
            return None
        offset = timedelta(hours=int(hours), minutes=int(minutes))
        return timezone(-offset if name[0] == "-" else offset)
    if name in {"SYSTEM", ""}:
        return None
    try:
        return ZoneInfo(name)
    except (OSError, ValueError):
        return None
