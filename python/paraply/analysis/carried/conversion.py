"""Conversion of a column's values by ALTER TABLE, where it is known that the server does the same."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal, InvalidOperation
from typing import TYPE_CHECKING

from paraply.schema.types import BINARY, CHARACTER

if TYPE_CHECKING:
    from collections.abc import Callable

    from paraply.schema.model import Column

__all__ = ["Conversion", "NotKnown", "Statement", "conversion"]

Value = str | bytes

INTEGERS = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}
FRACTIONS = frozenset({"time", "datetime", "timestamp"})
UNICODE = frozenset({"utf8mb4", "utf8mb3", "utf8", "utf16", "utf32", "ucs2"})
ENUM_OR_SET = frozenset({"enum", "set"})
_MYSQL_TRUNCATES = 1 << 32
_MARIADB_ROUNDS = 1 << 34
_NUMBER = re.compile(r"[+-]?\d+")
_MOMENT = re.compile(r"(?P<whole>.*:\d\d)(?:\.(?P<fraction>\d+))?(?P<zone>Z?)")


class NotKnown(Exception):
    """The server's value cannot be told from the old one."""


@dataclass(frozen=True, slots=True)
class Statement:
    """Properties of the statement that changed a column.

    Attributes:
        mariadb: True if a MariaDB server ran it.
        sql_mode: Its ``sql_mode``.
        strict: True if a value that did not fit was an error.
        pads_char: True if a CHAR was read with the spaces up to its length.
    """

    mariadb: bool = False
    sql_mode: int = 0
    strict: bool = True
    pads_char: bool = False

    @property
    def truncates_seconds(self) -> bool:
        """True if lost digits of a second are cut off, and not rounded."""
        return not self.sql_mode & _MARIADB_ROUNDS if self.mariadb else bool(self.sql_mode & _MYSQL_TRUNCATES)


@dataclass(frozen=True, slots=True)
class Conversion:
    """Conversion of a value.

    Attributes:
        kind: Name of the function.
        number: Scale, length or digits.
        flag: True if digits of a second are cut off.
        labels: Labels of an ENUM.
    """

    kind: str
    number: int = 0
    flag: bool = False
    labels: tuple[str, ...] = ()

    def apply(self, value: Value) -> Value:
        """Return the converted value.

        Raises:
            NotKnown: The server's value is not known.

        >>> Conversion("decimal", 1).apply("2.25"), Conversion("seconds", 1).apply("2024-01-31 23:59:59.96")
        ('2.3', '2024-02-01 00:00:00.0')
        """
        return _FUNCTIONS[self.kind](self, value)


def conversion(old: Column, new: Column, statement: Statement) -> tuple[Conversion, ...] | None:
    """Return the conversions from one definition of a column to the next; none at all if values stay; None if they are not known.

    Under a strict sql_mode, a value that does not fit is an error on the source, so that only rows that were deleted before can have it.

    Args:
        old: The column before the statement.
        new: The column after the statement.
        statement: Properties of the statement.

    >>> from paraply.schema.model import Column
    >>> conversion(Column("n", "int"), Column("n", "bigint"), Statement())
    ()
    >>> conversion(Column("n", "double"), Column("n", "decimal", 10, 2), Statement()) is None
    True
    """
    if new.generated is not None:
        same = old.generated is not None and old.expression is not None and old.expression == new.expression and _same_type(old, new)
        return () if same else None
    if old.nullable and not new.nullable and not statement.strict:
        return None
    if _same_type(old, new):
        return ()
    if not statement.strict and not _fits(old, new):
        return None
    for rule in (_text, _number, _moment, _bytes):
        found = rule(old, new, statement)
        if found is not None:
            return found
    return None


def _same_type(old: Column, new: Column) -> bool:
    shape = [(c.type, c.length, c.scale, c.unsigned, c.labels, c.charset) for c in (old, new)]
    return shape[0] == shape[1]


def _fits(old: Column, new: Column) -> bool:
    """Return True if every value of the old type fits into the new one."""
    if old.type in INTEGERS and new.type in INTEGERS:
        more = INTEGERS[new.type] - INTEGERS[old.type]
        return more >= 0 if old.unsigned == new.unsigned else more > 0 and old.unsigned
    if old.type == new.type == "decimal" and old.unsigned == new.unsigned:
        more, digits = (new.scale or 0) - (old.scale or 0), (new.length or 10) - (old.length or 10)
        return digits >= more >= 0
    if old.type == new.type and old.type in {"char", "varchar", "binary", "varbinary"}:
        return (new.length or 1) >= (old.length or 1) and (new.charset in {old.charset, "utf8mb4"})
    return old.type == new.type and old.type in FRACTIONS


def is_text(column: Column) -> bool:
    """Return True for text, without ENUM and SET."""
    return column.type in CHARACTER and column.type not in ENUM_OR_SET and column.collation != "binary"


def _text(old: Column, new: Column, statement: Statement) -> tuple[Conversion, ...] | None:
    """Return the conversion to text or labels."""
    if new.type == "enum" and (old.type == "enum" or is_text(old)):
        return (Conversion("label", labels=new.labels),)
    if new.type == old.type == "set":
        return () if new.labels[: len(old.labels)] == old.labels else None
    if not is_text(new):
        return None
    trimmed = (Conversion("trim"),) if new.type == "char" and old.type != "char" else ()
    if is_text(old):
        padded = old.type == "char" and new.type != "char" and statement.pads_char
        return None if padded else trimmed
    if old.type in {*INTEGERS, "decimal"}:
        return None if old.zerofill else ()
    return trimmed if old.type in {"date", "datetime", "time", "year", "enum", "set", "uuid"} else None


def _number(old: Column, new: Column, _: Statement) -> tuple[Conversion, ...] | None:
    """Return the conversion to a number."""
    exact = old.type in {*INTEGERS, "decimal"}
    if new.type in INTEGERS:
        if old.type in {*INTEGERS, "year", "bit"}:
            return ()
        return (Conversion("decimal"),) if exact else (Conversion("integer"),) if is_text(old) else None
    if new.type == "decimal":
        return (Conversion("decimal", new.scale or 0),) if exact or old.type == "year" else None
    if new.type == "double":
        return (Conversion("widen"),) if old.type == "float" else () if exact else None
    if new.type == "float":
        return (Conversion("narrow"),) if exact or old.type == "double" else None
    return () if new.type == old.type == "bit" else None


def _moment(old: Column, new: Column, statement: Statement) -> tuple[Conversion, ...] | None:
    """Return the conversion to a date or a time; none between TIMESTAMP and others, which depends on the session's time zone."""
    if new.type in FRACTIONS and new.type == old.type:
        return (Conversion("seconds", new.scale or 0, statement.truncates_seconds),)
    if (old.type, new.type) == ("date", "datetime"):
        return (Conversion("midnight", new.scale or 0),)
    return (Conversion("day"),) if (old.type, new.type) == ("datetime", "date") else None


def _bytes(old: Column, new: Column, _: Statement) -> tuple[Conversion, ...] | None:
    """Return the conversion to binary strings."""
    if old.type not in BINARY or new.type not in BINARY:
        return None
    return (Conversion("pad", new.length or 1),) if new.type == "binary" else ()


def _decimal(conversion: Conversion, value: Value) -> Value:
    try:
        rounded = Decimal(str(value)).quantize(Decimal(1).scaleb(-conversion.number), ROUND_HALF_UP)
    except InvalidOperation:
        raise NotKnown from None
    return format(abs(rounded) if rounded == 0 else rounded, "f")


def _integer(_: Conversion, value: Value) -> Value:
    text = str(value)
    if not _NUMBER.fullmatch(text):
        raise NotKnown
    return str(int(text))


def _label(conversion: Conversion, value: Value) -> Value:
    if value not in conversion.labels:
        raise NotKnown
    return value


def _trim(_: Conversion, value: Value) -> Value:
    return str(value).rstrip(" ")


def _widen(_: Conversion, value: Value) -> Value:
    return repr(struct.unpack("f", struct.pack("f", float(value)))[0])


def _narrow(_: Conversion, value: Value) -> Value:
    try:
        return repr(struct.unpack("f", struct.pack("f", float(value)))[0])
    except OverflowError:
        raise NotKnown from None


def _pad(conversion: Conversion, value: Value) -> Value:
    if not isinstance(value, bytes) or len(value) > conversion.number:
        raise NotKnown
    return value.ljust(conversion.number, b"\0")


def _midnight(conversion: Conversion, value: Value) -> Value:
    return f"{value!s} 00:00:00" + (f".{'0' * conversion.number}" if conversion.number else "")


def _day(_: Conversion, value: Value) -> Value:
    """Return the date; a server may round digits of a second up to the next day."""
    day, time = [*str(value).split(" ", 1), ""][:2]
    if time.partition(".")[2].strip("0"):
        raise NotKnown
    return day


def _seconds(conversion: Conversion, value: Value) -> Value:
    """Return a moment or a time with other digits of a second."""
    match = _MOMENT.fullmatch(str(value))
    if match is None:
        raise NotKnown
    whole, fraction, digits = match["whole"], match["fraction"] or "", conversion.number
    rounding = ROUND_DOWN if conversion.flag else ROUND_HALF_UP
    rounded = Decimal(f"0.{fraction or 0}").quantize(Decimal(1).scaleb(-digits), rounding)
    if rounded >= 1:
        whole, rounded = _next_second(whole), Decimal(0)
    text = format(rounded, f".{digits}f").partition(".")[2]
    return whole + (f".{text}" if digits else "") + match["zone"]


def _next_second(whole: str) -> str:
    """Return the moment one second later, or the time one second further from zero."""
    from datetime import datetime, timedelta

    if " " in whole:
        try:
            return str(datetime.fromisoformat(whole) + timedelta(seconds=1))
        except (ValueError, OverflowError):
            raise NotKnown from None
    sign, parts = ("-", whole[1:]) if whole.startswith("-") else ("", whole)
    hours, minutes, seconds = (int(part) for part in parts.split(":"))
    total = (hours * 60 + minutes) * 60 + seconds + 1
    return f"{sign}{total // 3600:02d}:{total // 60 % 60:02d}:{total % 60:02d}"


_FUNCTIONS: dict[str, Callable[[Conversion, Value], Value]] = {
    "decimal": _decimal, "integer": _integer, "label": _label, "trim": _trim, "widen": _widen, "narrow": _narrow, "pad": _pad,
    "midnight": _midnight, "day": _day, "seconds": _seconds,
}  # fmt: skip
