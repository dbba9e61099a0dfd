"""Values that rows get for a new column: its default as the server stores it."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import TYPE_CHECKING

from paraply._native import NO_TEXT
from paraply.analysis.carried.conversion import FRACTIONS, INTEGERS, NotKnown, Value, is_text
from paraply.analysis.dates import is_in_calendar
from paraply.schema.types import BINARY

if TYPE_CHECKING:
    from paraply.schema.model import Column

__all__ = ["stored_default"]

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_TIME = re.compile(r"-?\d{2,3}:\d\d:\d\d")
_PLAIN = re.compile(r"0|-?[1-9]\d*(\.\d+)?|-?0\.0*[1-9]\d*")
_YEAR = re.compile(r"190[1-9]|19[1-9]\d|20\d\d|21[0-4]\d|215[0-5]")
_DIGITS = Context(prec=100)


def stored_default(column: Column) -> Value | None:
    """Return the value of a column in rows that do not set it, in the text of row images; None for NULL.

    A date that only the server can hold, such as the zero date, is NULL, as in the images.

    Raises:
        NotKnown: The default is an expression, a number of its own for each row, or of a form whose stored value is not known.

    >>> from paraply.schema.model import Column, Default
    >>> stored_default(Column("n", "decimal", 10, 2, default=Default("literal", "1.5", "number")))
    '1.50'
    >>> stored_default(Column("n", "int", nullable=False, default=Default("none")))
    '0'
    """
    default = column.default
    if column.generated is not None or default is None or default.kind in ("automatic", "expression"):
        raise NotKnown
    if default.kind == "none" or default.text is None:
        return None if column.nullable else _implicit(column)
    if default.introduced:
        raise NotKnown
    return _stored(column, default.text, default.form)


def _implicit(column: Column) -> Value | None:
    """Return the value of a column that is NOT NULL and has no default."""
    if column.type in {"date", "datetime"}:  # the zero date
        return None
    if column.type in INTEGERS or column.type in {"float", "double", "bit", "year"}:
        return "0"
    if column.type == "decimal":
        return _decimal("0", column.scale or 0)
    if column.type in BINARY:
        return b"\0" * (column.length or 1) if column.type == "binary" else b""
    if column.type == "enum" and column.labels and not column.labels[0].startswith(NO_TEXT):
        return column.labels[0]
    if is_text(column) or column.type == "set":
        return ""
    raise NotKnown


def _stored(column: Column, text: str, form: str) -> Value | None:
    """Return the stored value of a literal."""
    if column.type in INTEGERS and form in ("number", "string"):
        return _decimal(text, 0)
    if column.type == "decimal" and form in ("number", "string"):
        return _decimal(text, column.scale or 0)
    if column.type in {"float", "double"} and form in ("number", "string") and column.scale is None:
        return _float(text)
    if column.type == "year" and (_YEAR.fullmatch(text) or (form, text) == ("number", "0")):  # two digits, and '0', mean other years
        return text
    if column.type in BINARY and column.type != "binary" and form in ("string", "bytes", "bits"):
        return _ascii(text) if form == "string" else bytes.fromhex(text)
    if is_text(column) and (form == "string" or (form == "number" and _PLAIN.fullmatch(text))):
        return text.rstrip(" ") if column.type == "char" else text
    if form == "string" and column.type in ("enum", "set"):
        return _labels(column, text)
    if form in ("string", "temporal", "utc"):
        return _moment(column, text, form)
    raise NotKnown


def _decimal(text: str, scale: int) -> str:
    try:
        value = Decimal(text).quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _DIGITS)
    except InvalidOperation:
        raise NotKnown from None
    return format(value or value.copy_abs(), "f")


def _ascii(text: str) -> bytes:
    """Return the bytes of a text that are the same in the character sets of all clients."""
    if not text.isascii():
        raise NotKnown
    return text.encode()


def _float(text: str) -> str:
    try:
        return repr(float(text))
    except ValueError:
        raise NotKnown from None


def _labels(column: Column, text: str) -> str:
    """Return the labels of an ENUM or SET as they are declared; a SET has them in the order of its definition."""
    if column.type == "enum":
        if text in column.labels:
            return text
        raise NotKnown
    chosen = text.split(",") if text else []
    if set(chosen) <= set(column.labels):
        return ",".join(label for label in column.labels if label in chosen)
    raise NotKnown


def _moment(column: Column, text: str, form: str) -> str | None:
    """Return a date or time in the server's own form; other spellings are not read here."""
    scale = column.scale or 0
    if column.type == "date" and _DATE.fullmatch(text):
        return text if is_in_calendar(text) else None
    if column.type not in FRACTIONS or (column.type == "timestamp") != (form == "utc"):
        raise NotKnown
    if column.type != "time" and _DATE.fullmatch(text):
        text += " 00:00:00"
    whole, _, fraction = text.partition(".")
    day, space, time = whole.rpartition(" ")
    fits = _TIME.fullmatch(time) and (not space if column.type == "time" else _DATE.fullmatch(day))
    if not fits or len(fraction.rstrip("0")) > scale or (fraction and not fraction.isdigit()):
        raise NotKnown
    if column.type != "time" and not is_in_calendar(day):
        return None
    digits = f".{fraction[:scale].ljust(scale, '0')}" if scale else ""
    return whole + digits + ("Z" if column.type == "timestamp" else "")
