"""The value of a new column in existing rows of a table."""

from __future__ import annotations

import ipaddress
import json
import re
import struct
import uuid
from datetime import date, datetime
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import TYPE_CHECKING

from paraply._native import NO_TEXT, decode_text
from paraply.logs.client_charset import client_charset
from paraply.schema.ddl.literals import CODECS
from paraply.targets.postgres.types import CHARSETS, ColumnMapping, quote_literal

if TYPE_CHECKING:
    from collections.abc import Callable

    from paraply.schema.model import Column, Default
    from paraply.targets.postgres.ddl.statement_time import StatementTime

__all__ = ["fill_of"]

_IMPLICIT = dict.fromkeys(("integer", "unsigned", "decimal", "real", "double", "year"), "0") | {
    "text": "",
    "set": "",
    "interval": "00:00:00",
    "json": "null",
    "uuid": "00000000-0000-0000-0000-000000000000",
    "inet4": "0.0.0.0",  # noqa: S104 - a value, nothing listens there
    "inet6": "::",
}
"""Values of a NOT NULL column without a DEFAULT clause (reference manual, Data Type Default Values)."""

#: Character sets of columns that no client may use.
_WIDE_CODECS = {"ucs2": "utf-16-be", "utf16": "utf-16-be", "utf16le": "utf-16-le", "utf32": "utf-32-be"}

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_DATETIME = re.compile(r"(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d:\d\d)(?:\.(\d*))?)?")
_TIME = re.compile(r"(-?)(\d{2,3}):(\d\d):(\d\d)(?:\.(\d*))?")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_BITS = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}
_DOUBLE_DIGITS = 15
"""Number of digits that every double keeps."""


def fill_of(column: Column, mapping: ColumnMapping, time: StatementTime | None = None) -> str | None:
    """Return the value of existing rows in a new column, as a literal; None if only the source knows it.

    Other forms of a default have different meanings in each family and version, and give None.

    Args:
        column: The new column in the source.
        mapping: Counterpart of the column in the target.
        time: Time of the statement; None if not known.

    >>> from paraply.schema.model import Column
    >>> from paraply.targets.postgres.types import ColumnMapping
    >>> fill_of(Column("n", "int"), ColumnMapping("n", "integer", "integer")) is None
    True
    """
    fill = _fill(column, mapping, time)
    return None if fill is None or NO_TEXT in fill else fill


def _fill(column: Column, mapping: ColumnMapping, time: StatementTime | None) -> str | None:
    default = column.default
    if default is not None and default.form == "now" and column.generated is None:
        return None if time is None else _now(default, column, mapping, time)
    if default is None or default.kind in {"automatic", "expression"} or column.generated is not None:
        return None
    if default.kind == "literal" and default.text is not None:
        if column.nullable and default.form in {"string", "bytes", "bits"} and not default.text and column.type.endswith(("text", "blob")):
            return None  # MySQL without a strict sql_mode drops this default, with a warning: existing rows get NULL
        convert = _CONVERSIONS.get(mapping.kind)
        text = None if convert is None else convert(default, column, mapping)
        return None if text is None else _literal(text, mapping)
    return "NULL" if column.nullable else _implicit(mapping)


def _literal(text: str, mapping: ColumnMapping) -> str:
    return f"B'{text}'" if mapping.kind == "bit" else quote_literal(text)


def _implicit(mapping: ColumnMapping) -> str | None:
    match mapping.kind:
        case "enum":
            return quote_literal(mapping.labels[0])
        case "varbinary":
            return r"'\x'"
        case "binary":
            return "'\\x" + "00" * _bytes_of(mapping) + "'"
        case "bit":
            return f"B'{'0' * (mapping.length or 1)}'"
    text = _IMPLICIT.get(mapping.kind)
    return quote_literal(text) if text is not None else None


def _number(default: Default) -> Decimal | None:
    """Return the literal as an exact number, or None if it is no number or its value depends on the server's own arithmetic."""
    text = default.text or ""
    if default.form == "bits":
        return Decimal(int(text or "0", 16)) if len(text) <= 16 else None
    if default.form not in {"number", "string"} or _NUMBER.fullmatch(text) is None:
        return None
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    exact = "e" not in text.lower() or len(value.normalize().as_tuple().digits) <= _DOUBLE_DIGITS
    return value if exact and abs(value.adjusted()) <= 308 else None


def _integer(default: Default, column: Column, mapping: ColumnMapping) -> str | None:  # noqa: ARG001 - one signature for all
    value = _number(default)
    if value is None or (value != value.to_integral_value() and (default.form == "string" or "e" in (default.text or "").lower())):
        return None
    whole = int(value.to_integral_value(ROUND_HALF_UP))
    bits = _BITS[column.type]
    low, high = (0, 2**bits - 1) if column.unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return str(whole) if low <= whole <= high else None


def _decimal(default: Default, column: Column, mapping: ColumnMapping) -> str | None:  # noqa: ARG001
    value = _number(default)
    if value is None:
        return None
    length, scale = column.length or 10, column.scale or 0
    if value.adjusted() >= length - scale + 1 and value:
        return None
    rounded = value.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP) if value.adjusted() + scale <= 27 else None
    if rounded is None or (column.unsigned and value < 0) or (rounded and rounded.adjusted() >= length - scale):
        return None
    return format(rounded or abs(rounded), "f")


def _real(default: Default, column: Column, mapping: ColumnMapping) -> str | None:
    value = _number(default)
    if value is None or column.scale is not None or (column.unsigned and value < 0):
        return None
    number = float(value)
    if mapping.kind == "real":
        try:
            (number,) = struct.unpack("f", struct.pack("f", number))
        except OverflowError:
            return None
    return repr(number)


def _text(default: Default, column: Column, mapping: ColumnMapping) -> str | None:
    found = _characters(default, mapping.charset)
    if found is None or "\0" in found:
        return None
    if column.type == "char":
        found = found.rstrip(" ")
    return found if column.length is None or len(found) <= column.length else None


def _characters(default: Default, charset: str | None) -> str | None:
    """Return the literal as text in a column of this character set."""
    text = default.text or ""
    if default.form == "string":
        return text if charset in {"utf8mb4", None} or text.isascii() or _fits(text, charset or "") else None
    if default.form == "number":
        return str(int(text)) if re.fullmatch(r"[+-]?(?:0|[1-9]\d*)", text) and text != "-0" else None
    if default.form in {"bytes", "bits"}:
        try:
            return decode_text(charset, bytes.fromhex(text)) if charset in CHARSETS else None
        except ValueError:
            return None
    return None


def _fits(text: str, charset: str) -> bool:
    """Return True if the server stores a text in a character set without a change, as far as both conversions are known."""
    codec = CODECS.get(charset)
    if codec is None:
        return _survives(text, charset)
    try:
        text.encode(codec)
    except UnicodeEncodeError:
        return False
    return charset != "utf8mb3" or all(ord(character) < 0x10000 for character in text)


def _survives(text: str, charset: str) -> bool:
    """Return True if the bytes of a text are read as the same text by the server's own table of the character set."""
    if charset not in CHARSETS:
        return False
    codec = _WIDE_CODECS.get(charset)
    client = client_charset(charset) if codec is None else None
    try:
        data = text.encode(codec) if codec is not None else client.encode(text) if client is not None else None
        return data is not None and decode_text(charset, data) == text
    except ValueError:
        return False


def _bytes(default: Default, column: Column, mapping: ColumnMapping) -> str | None:
    text = default.text or ""
    if default.form in {"bytes", "bits"}:
        digits = text
    elif default.form == "string" and text.isascii():
        digits = text.encode().hex()
    else:
        return None
    if column.length is not None and len(digits) > 2 * column.length:
        return None
    return "\\x" + (digits.ljust(2 * _bytes_of(mapping), "0") if mapping.kind == "binary" else digits)


def _label(text: str, mapping: ColumnMapping) -> str | None:
    """Return the label for a text: the text itself, or the only label that differs from it in the case of ASCII letters."""
    if text in mapping.labels:
        return text
    if not text.isascii():
        return None
    same = [label for label in mapping.labels if label.isascii() and label.lower() == text.lower()]
    return same[0] if len(same) == 1 and all(label.isascii() for label in mapping.labels) else None


def _enum(default: Default, column: Column, mapping: ColumnMapping) -> str | None:
    text = _characters(default, column.charset) if default.form != "number" else None
    return None if text is None else _label(text.rstrip(" "), mapping)


def _set(default: Default, column: Column, mapping: ColumnMapping) -> str | None:
    text = _characters(default, column.charset) if default.form != "number" else None
    if text is None:
        return None
    found = [_label(part, mapping) for part in text.split(",")] if text else []
    return None if None in found else ",".join(label for label in mapping.labels if label in found)


def _date(default: Default, column: Column, mapping: ColumnMapping) -> str | None:  # noqa: ARG001
    text = default.text or ""
    if default.form not in {"string", "temporal"} or _DATE.fullmatch(text) is None:
        return None
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        return None


def _fraction(digits: str | None, scale: int) -> str | None:
    """Return the fractional digits of a second, or None if they do not fit the column and a server would round or truncate them."""
    digits = (digits or "").rstrip("0")
    return digits if len(digits) <= scale else None


def _timestamp(default: Default, column: Column, mapping: ColumnMapping) -> str | None:
    match = _DATETIME.fullmatch(default.text or "")
    wanted = {"utc"} if mapping.kind == "timestamptz" else {"string", "temporal"}
    if match is None or default.form not in wanted:
        return None
    day, clock, digits = match.groups()
    fraction = _fraction(digits, column.scale or 0)
    if fraction is None:
        return None
    try:
        found = datetime.fromisoformat(f"{day} {clock or '00:00:00'}")
    except ValueError:
        return None
    if mapping.kind == "timestamptz" and not 1970 <= found.year < 2038:
        return None
    zone = "+00" if mapping.kind == "timestamptz" else ""
    return f"{found.isoformat(' ')}{'.' + fraction if fraction else ''}{zone}"


def _now(default: Default, column: Column, mapping: ColumnMapping, time: StatementTime) -> str | None:
    """Return the time of the statement; None if the column has other digits than the expression, which a server would round or extend."""
    digits = int(default.text or 0)
    if digits != (column.scale or 0) or mapping.kind not in {"timestamp", "timestamptz"}:
        return None
    utc = mapping.kind == "timestamptz"
    text = time.utc(digits) if utc else time.local(digits)
    return None if text is None else quote_literal(f"{text}+00" if utc else text)


def _interval(default: Default, column: Column, mapping: ColumnMapping) -> str | None:  # noqa: ARG001
    match = _TIME.fullmatch(default.text or "")
    if match is None or default.form not in {"string", "temporal"}:
        return None
    sign, hours, minutes, seconds, digits = match.groups()
    fraction = _fraction(digits, column.scale or 0)
    if fraction is None or int(hours) > 838 or int(minutes) > 59 or int(seconds) > 59:
        return None
    return f"{sign}{hours}:{minutes}:{seconds}{'.' + fraction if fraction else ''}"


def _year(default: Default, column: Column, mapping: ColumnMapping) -> str | None:  # noqa: ARG001
    text = default.text or ""
    fits = default.form in {"string", "number"} and re.fullmatch(r"\d{4}", text) is not None and 1901 <= int(text) <= 2155
    return text if fits else "0" if (default.form, text) == ("number", "0") else None


def _bit(default: Default, column: Column, mapping: ColumnMapping) -> str | None:  # noqa: ARG001
    length = column.length or 1
    if default.form == "string" or default.form == "bytes":
        digits = (default.text or "").encode().hex() if default.form == "string" else default.text or ""
        value = int(digits or "0", 16) if (default.text or "").isascii() else None
    else:
        number = _number(default)
        value = int(number) if number is not None and number == number.to_integral_value() and number >= 0 else None
    return format(value, f"0{length}b") if value is not None and value < 1 << length else None


def _json(default: Default, column: Column, mapping: ColumnMapping) -> str | None:  # noqa: ARG001
    """Return a JSON text, or None if it has numbers that the servers could write differently."""

    def refuse(number: str) -> None:
        raise ValueError(number)

    text = default.text or ""
    try:
        json.loads(text, parse_float=refuse, parse_constant=refuse)
    except (ValueError, RecursionError):
        return None
    return text if default.form == "string" and "\\u0000" not in text else None


def _address(default: Default, column: Column, mapping: ColumnMapping) -> str | None:  # noqa: ARG001
    """Return a UUID or an address, or None if its text may have another meaning in the target.

    MariaDB accepts hyphens anywhere in a UUID, and leading zeros in a part of an INET4, which it reads as decimal.
    """
    return _address_text(mapping.kind, default.text or "") if default.form == "string" else None


def _address_text(kind: str, text: str) -> str | None:
    """Return the target's text of a UUID or an address.

    >>> _address_text("uuid", "6CCD780CBABA1026-95645B8C656024DB"), _address_text("inet4", "010.1.2.3"), _address_text("inet6", "1.2.3.4")
    ('6ccd780c-baba-1026-9564-5b8c656024db', '10.1.2.3', '::ffff:1.2.3.4')
    """
    try:
        if kind == "uuid":
            return str(uuid.UUID(hex=text.replace("-", "")))
        if kind == "inet4" or ":" not in text:
            address = ipaddress.IPv4Address(".".join(str(int(part)) for part in text.split(".")))
            return f"{'' if kind == 'inet4' else '::ffff:'}{address}"
        return str(ipaddress.IPv6Address(text))
    except ValueError:
        return None


def _bytes_of(mapping: ColumnMapping) -> int:
    """Return the length of a BINARY column in bytes."""
    return 1 if mapping.length is None else mapping.length


_CONVERSIONS: dict[str, Callable[[Default, Column, ColumnMapping], str | None]] = {
    "integer": _integer,
    "unsigned": _integer,
    "decimal": _decimal,
    "real": _real,
    "double": _real,
    "text": _text,
    "varbinary": _bytes,
    "binary": _bytes,
    "enum": _enum,
    "set": _set,
    "date": _date,
    "timestamp": _timestamp,
    "timestamptz": _timestamp,
    "interval": _interval,
    "year": _year,
    "bit": _bit,
    "json": _json,
    "uuid": _address,
    "inet4": _address,
    "inet6": _address,
}
