"""Comparison of one value as ``paraply rows`` writes it with the same value as a server's tool prints it."""

from __future__ import annotations

import contextlib
import functools
import ipaddress
import json
import re
import struct
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation

__all__ = ["Labels", "is_partial", "kind_of", "same"]

CHARSETS = ("utf-8", "cp1252", "latin-1", "gbk", "gb18030", "big5", "cp932", "euc_jp", "shift_jis", "utf-16-be", "utf-32-be", "koi8-r",
            "cp1251", "cp1250", "cp1256", "cp1257", "latin2", "iso8859_7", "iso8859_8", "iso8859_9", "iso8859_13",
            "cp850", "cp852", "cp866", "euc_kr",
            "gb2312", "tis-620", "mac_roman", "mac_latin2", "utf-16-le", "koi8-u")  # fmt: skip
"""Python's names of the servers' character sets: the tools print the bytes, and do not tell which it is."""
NUMBERS = ("TINYINT", "SHORTINT", "MEDIUMINT", "INT", "LONGINT", "YEAR")
COMPRESSED = 8
"""In the first half of a compressed value's first byte: by zlib."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Labels:
    """Labels of ENUM columns, learnt from the values: the tools print numbers. Each label must always have the same number."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], tuple[dict[str, str], dict[str, str]]] = {}

    def fit(self, place: tuple[str, int], number: str, label: str) -> bool:
        """Return True if the number and the label have always stood for each other."""
        labels, numbers = self._known.setdefault(place, ({}, {}))
        return labels.setdefault(number, label) == label and numbers.setdefault(label, number) == number


def is_partial(value: bytes) -> bool:
    """Return True if the tool prints a change of a JSON document instead of the document."""
    return value.startswith(b"JSON_")


def kind_of(printed: str) -> str:
    """Return the name of a type, without its length."""
    return re.split(r"[( ]", printed, maxsplit=1)[0]


def same(text: str | None, value: bytes, printed: str, labels: Labels, place: tuple[str, int]) -> bool | None:
    """Return True if both are the same value; None if the tool does not tell it.

    Args:
        text: The value as ``paraply rows`` writes it.
        value: The value as the tool prints it.
        printed: Its type as the tool prints it.
        labels: The labels known so far.
        place: Table and column.
    """
    if value == b"NULL" or text is None:
        return value == b"NULL" and text is None
    kind = kind_of(printed)
    if kind in NUMBERS:
        if kind == "YEAR" and text == "0000":
            return value == b"1900"  # so the tool prints the year zero
        return text in re.findall(r"-?\d+", value.decode())
    if kind == "DECIMAL":
        return _decimal(text) == _decimal(value.decode())
    if kind in ("FLOAT", "DOUBLE"):
        return _floats(text, value.decode().strip(), single=kind == "FLOAT")
    if kind == "BIT":
        return _bits(text, value)
    if kind == "ENUM":
        return labels.fit(place, value.decode(), text)
    if kind == "SET":
        return labels.fit(place, value.decode(), text)
    if kind == "DATE":
        return text.replace("-", ":") == _quoted(value).decode()
    if kind == "TIMESTAMP":
        return _timestamp(text, value.decode().strip("'"))
    if kind in ("TIME", "DATETIME"):
        return _padded(text) == _padded(_quoted(value).decode())
    if kind == "JSON":
        return _json(text, value)
    return _bytes(text, _quoted(value))


def _quoted(value: bytes) -> bytes:
    return value[1:-1] if value[:1] == b"'" and value[-1:] == b"'" else value


def _decimal(text: str) -> Decimal | str:
    try:
        return Decimal(text)
    except InvalidOperation:
        return text


def _floats(text: str, value: str, *, single: bool) -> bool:
    """Compare in the digits that the tool prints."""
    number, printed = float(text), float(value)
    if single:
        (number,) = struct.unpack("f", struct.pack("f", number))
    return number == printed or any(float(f"{number:.{digits}g}") == printed for digits in (6, 7, 15, 17))


def _bits(text: str, value: bytes) -> bool:
    bits = value.decode().strip("b'")
    number = int(bits or "0", 2)
    return text in (str(number), bits, f"b'{bits}'") or _number(text, 16) == number


def _number(text: str, base: int) -> int | None:
    try:
        return int(text, base)
    except ValueError:
        return None


def _timestamp(text: str, value: str) -> bool:
    seconds, _, fraction = value.partition(".")
    if text.startswith("0000-00-00"):
        return int(seconds) == 0
    moment = EPOCH + timedelta(seconds=int(seconds))
    expected = moment.strftime("%Y-%m-%d %H:%M:%S").rjust(19, "0") + (f".{fraction}" if fraction else "")
    return _padded(text.replace("T", " ").rstrip("Z")) == _padded(expected)


def _padded(text: str) -> str:
    """Return a time without the zeros at the end of its fraction."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def _json(text: str, value: bytes) -> bool | None:
    printed = _quoted(value).decode("utf-8", "surrogateescape")
    if not printed or is_partial(value):
        return None
    try:
        return bool(json.loads(text) == json.loads(_unescaped(printed)))
    except ValueError:  # a date in a document of its own is printed without quotes
        return json.loads(text) == printed


def _unescaped(printed: str) -> str:
    return re.sub(r"\\x([01][0-9a-f])", lambda found: chr(int(found[1], 16)), printed)


@functools.lru_cache(maxsize=1 << 16)
def _bytes(text: str, value: bytes) -> bool:
    """Return True if the text has the printed bytes: in some character set, as hexadecimal digits, or as an address or UUID."""
    if text.encode("utf-8", "surrogatepass") == value and not _ALL.search(value):
        return True
    if any(value in _escaped(one) for one in [*_binary(text), *_texts(text)]):
        return True
    plain = _plain(value)
    return plain is not None and any(one == plain for one in [*_binary(text), *_texts(text)])


def _texts(text: str) -> Iterator[bytes]:
    for charset in CHARSETS:
        try:
            yield text.encode(charset, "surrogateescape" if charset == "utf-8" else "strict")
        except UnicodeEncodeError:
            continue


def _binary(text: str) -> Iterator[bytes]:
    """Yield the bytes of digits, an address or a UUID; the log leaves out zeros at the end of a fixed length."""
    found: list[bytes] = []
    if re.fullmatch(r"(?:[0-9A-Fa-f]{2})*", text):
        found.append(bytes.fromhex(text))
    elif re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", text):
        one = bytes.fromhex(text.replace("-", ""))
        found += [one, one[10:] + one[8:10] + one[6:8] + one[4:6] + one[:4]]  # the order in which MariaDB keeps and sorts most of them
    else:
        with contextlib.suppress(ValueError):
            found.append(ipaddress.ip_address(text).packed)
    for one in found:
        yield one
        yield one.rstrip(b"\0")


def _plain(value: bytes) -> bytes | None:
    """Return the content of a value of a compressed column of MariaDB; None if it is none."""
    raw = re.sub(rb"\\x([0-9a-f]{2})", lambda found: bytes([int(found[1], 16)]), value)
    if raw[:1] == b"\0":
        return raw[1:]
    if not raw or raw[0] >> 4 != COMPRESSED:
        return None
    try:
        return zlib.decompress(raw[1 + (raw[0] & 7) :], -15 if raw[0] & 8 else 15)
    except zlib.error:
        return None


def _escaped(value: bytes) -> tuple[bytes, ...]:
    """Return the forms in which the tools print these bytes: MySQL names some control characters, and not all tools escape quotes."""
    return tuple(pattern.sub(lambda found, named=named: _escape(found[0], named=named), value) for pattern, named in _FORMS)


def _escape(byte: bytes, *, named: bool) -> bytes:
    if byte in b"'\\":
        return b"\\" + byte if named else b"\\x%02x" % byte[0]
    return _NAMED.get(byte, b"\\x%02x" % byte[0]) if named else b"\\x%02x" % byte[0]


_CONTROLS, _ALL = re.compile(rb"[\x00-\x1f]"), re.compile(rb"[\x00-\x1f'\\]")
_FORMS = ((_CONTROLS, False), (_CONTROLS, True), (_ALL, False), (_ALL, True))
_NAMED = {b"\b": b"\\b", b"\f": b"\\f", b"\n": b"\\n", b"\r": b"\\r", b"\t": b"\\t"}
