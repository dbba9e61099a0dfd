"""Damage that reaches what lies behind the checksums: random changes of logs, texts and packets, the same for the same seed."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Callable, Sequence

__all__ = ["changed", "damaged"]

_HEADER = 19
_INTERESTING = (0, 1, 0x7F, 0x80, 0xFB, 0xFC, 0xFD, 0xFE, 0xFF)


def damaged(log: bytes, others: Sequence[bytes], source: random.Random) -> bytes:
    """A log with one to six changes; in half of the cases its checksums are made anew.

    Args:
        log: The log.
        others: Logs that parts may be taken from.
        source: Decides.
    """
    content = bytearray(log)
    for _ in range(source.randint(1, 6)):
        if len(content) > 5:
            source.choice(_CHANGES)(content, source.choice(others), source)
    if source.random() < 0.5:
        _renew_checksums(content)
    return bytes(content)


def changed(content: bytes, chance: random.Random) -> bytes:
    """Return bytes with some of them changed, cut, doubled or added."""
    out = bytearray(content)
    for _ in range(chance.randint(0, 4)):
        at = chance.randrange(len(out) + 1)
        match chance.randrange(4):
            case 0:
                out[at : at + 1] = bytes((chance.choice(_INTERESTING),))
            case 1:
                del out[at : at + chance.randrange(1, 20)]
            case 2:
                out[at:at] = chance.randbytes(chance.randrange(40))
            case _:
                out[at:at] = out[at : at + 30]
    return bytes(out)


def _flip(content: bytearray, _: bytes, source: random.Random) -> None:
    content[source.randrange(4, len(content))] ^= 1 << source.randrange(8)


def _set(content: bytearray, _: bytes, source: random.Random) -> None:
    content[source.randrange(4, len(content))] = source.choice(_INTERESTING)


def _number(content: bytearray, _: bytes, source: random.Random) -> None:
    width = source.choice((2, 3, 4, 8))
    at = source.randrange(4, len(content))
    content[at : at + width] = source.choice((b"\xff", b"\x00", b"\x80", b"\x7f")) * width


def _cut(content: bytearray, _: bytes, source: random.Random) -> None:
    del content[source.randrange(4, len(content)) :]


def _remove(content: bytearray, _: bytes, source: random.Random) -> None:
    at = source.randrange(4, len(content))
    del content[at : at + source.randint(1, 64)]


def _insert(content: bytearray, other: bytes, source: random.Random) -> None:
    at, start = source.randrange(4, len(content)), source.randrange(len(other))
    content[at:at] = other[start : start + source.randint(1, 200)]


def _splice(content: bytearray, other: bytes, source: random.Random) -> None:
    """An event of another log between two events."""
    places, foreign = _events(content), _events(other)
    if places and foreign:
        at, (start, size) = source.choice(places)[0], source.choice(foreign)
        content[at:at] = other[start : start + size]


def _repeat(content: bytearray, _: bytes, source: random.Random) -> None:
    places = _events(content)
    if places:
        start, size = source.choice(places)
        content[start:start] = content[start : start + size]


def _drop(content: bytearray, _: bytes, source: random.Random) -> None:
    places = _events(content)
    if places:
        start, size = source.choice(places)
        del content[start : start + size]


_CHANGES: tuple[Callable[[bytearray, bytes, random.Random], None], ...] = (
    _flip, _flip, _set, _set, _number, _cut, _remove, _insert, _splice, _repeat, _drop,
)  # fmt: skip


def _events(log: bytes | bytearray) -> list[tuple[int, int]]:
    """Offset and size of the events, as far as sizes make sense."""
    found, at = [], 4
    while at + _HEADER <= len(log):
        (size,) = struct.unpack_from("<I", log, at + 9)
        if size < _HEADER or at + size > len(log):
            break
        found.append((at, size))
        at += size
    return found


def _renew_checksums(content: bytearray) -> None:
    for at, size in _events(content):
        if size >= _HEADER + 4:
            struct.pack_into("<I", content, at + size - 4, zlib.crc32(content[at : at + size - 4]))
