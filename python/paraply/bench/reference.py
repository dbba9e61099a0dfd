"""Kernels in plain Python, for comparison: the same rules without optimisation.

Tests compare the native core with them; the bench measures both in one run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from paraply.schema import type_codes as codes

__all__ = ["PlainCertifier", "decode_rows", "key_text", "xxh64"]

MASK = (1 << 64) - 1
P1, P2, P3, P4, P5 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
SEPARATOR = b"\xc2\xbd"


def rotated(value: int, bits: int) -> int:
    """Rotate a 64-bit number to the left."""
    return ((value << bits) | (value >> (64 - bits))) & MASK


def round64(lane: int, word: int) -> int:
    """Compute one round of XXH64."""
    return rotated((lane + word * P2) & MASK, 31) * P1 & MASK


def xxh64(data: bytes) -> int:
    """Compute XXH64 with seed 0, as its specification describes it.

    >>> xxh64("PRIMARY½test½4t1½21½1".encode())
    340395741608101502
    """
    position, length = 0, len(data)
    if length >= 32:
        lanes = [(P1 + P2) & MASK, P2, 0, -P1 & MASK]
        while position + 32 <= length:
            for index in range(4):
                lanes[index] = round64(lanes[index], int.from_bytes(data[position : position + 8], "little"))
                position += 8
        total = sum(rotated(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True)) & MASK
        for lane in lanes:
            total = ((total ^ round64(0, lane)) * P1 + P4) & MASK
    else:
        total = P5
    total = (total + length) & MASK
    while position + 8 <= length:
        total = (rotated(total ^ round64(0, int.from_bytes(data[position : position + 8], "little")), 27) * P1 + P4) & MASK
        position += 8
    if position + 4 <= length:
        total = (rotated(total ^ int.from_bytes(data[position : position + 4], "little") * P1 & MASK, 23) * P2 + P3) & MASK
        position += 4
    for byte in data[position:]:
        total = rotated(total ^ byte * P5 & MASK, 11) * P1 & MASK
    total = (total ^ (total >> 33)) * P2 & MASK
    total = (total ^ (total >> 29)) * P3 & MASK
    return total ^ (total >> 32)


def key_text(key: str, database: str, table: str, values: Iterable[bytes]) -> bytes:
    """Return the bytes to hash for one unique key of one row (R11).

    >>> key_text("PRIMARY", "test", "t1", [b"2"]).decode()
    'PRIMARY½test½4t1½22½1'
    """
    names = key.encode() + SEPARATOR
    for name in (database.encode(), table.encode()):
        names += name + SEPARATOR + str(len(name)).encode()
    return names + b"".join(value + SEPARATOR + str(len(value)).encode() for value in values)


@dataclass(slots=True)
class PlainCertifier:
    """Rules R1, R3, R5 and R6 with a dictionary: the numbers of remote transactions in the order of certification."""

    last_committed_global: int = 1
    next_number: int = 2
    numbers: dict[int, int] = field(default_factory=dict)
    started: bool = False

    def certify(self, items: Sequence[int]) -> tuple[int, int]:
        """Return both numbers of the next transaction; one without items is a barrier.

        >>> certifier = PlainCertifier(started=True)
        >>> [certifier.certify(items) for items in ([1], [], [2])]
        [(1, 2), (2, 3), (3, 4)]
        """
        number = self.next_number
        self.next_number += 1
        last = self.last_committed_global
        for item in items:
            last = max(last, self.numbers.get(item, 0))
        for item in items:
            self.numbers[item] = number
        if not items:
            last = number - 1
            self.last_committed_global = number
        if not self.started:
            self.started = True
            return 0, 0
        return last, number


# Bytes of a value of fixed width in a row image, by its type's code.
FIXED_WIDTHS = {
    codes.TINY: 1, codes.SHORT: 2, codes.INT24: 3, codes.LONG: 4, codes.LONGLONG: 8, codes.FLOAT: 4, codes.DOUBLE: 8, codes.YEAR: 1,
    codes.DATE: 3,
}  # fmt: skip
SECONDS_WIDTHS = {codes.TIMESTAMP2: 4, codes.DATETIME2: 5, codes.TIME2: 3}
FRACTION_BYTES = (0, 1, 1, 2, 2, 3, 3)
DIGIT_BYTES = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
PREFIXED = {codes.JSON, *codes.PLAIN_BLOBS, codes.GEOMETRY}


def width_at(image: bytes, at: int, code: int, metadata: int) -> tuple[int, int]:
    """Return start and length of a value."""
    if code in FIXED_WIDTHS:
        return at, FIXED_WIDTHS[code]
    if code in SECONDS_WIDTHS:
        return at, SECONDS_WIDTHS[code] + FRACTION_BYTES[metadata]
    if code == codes.NEWDECIMAL:
        digits, scale = metadata >> 8, metadata & 0xFF
        whole = digits - scale
        return at, whole // 9 * 4 + DIGIT_BYTES[whole % 9] + scale // 9 * 4 + DIGIT_BYTES[scale % 9]
    if code == codes.BIT:
        return at, (metadata >> 8) + (1 if metadata & 0xFF else 0)
    if code in {codes.ENUM, codes.SET}:
        return at, metadata & 0xFF
    prefix = metadata if code in PREFIXED else (2 if metadata > 255 else 1)
    return at + prefix, int.from_bytes(image[at : at + prefix], "little")


def decode_rows(body: bytes, columns: Sequence[tuple[int, int]], update: bool) -> list[list[bytes | None]]:
    """Split the images of one row event into values, one column after the other.

    Args:
        body: The row event after its header and the post-header's extra data: column count, bitmaps, images.
        columns: Type code and metadata of each column.
        update: True if there is a second bitmap and images come in pairs.

    Returns:
        The raw bytes of each value of each image; None for NULL and for columns missing in the image.
    """
    count = len(columns)
    bitmap = (count + 7) // 8
    at = 1
    present = [body[at : at + bitmap]]
    at += bitmap
    if update:
        present.append(body[at : at + bitmap])
        at += bitmap
    images: list[list[bytes | None]] = []
    while at < len(body):
        shown = present[len(images) % len(present)]
        here = [index for index in range(count) if shown[index >> 3] >> (index & 7) & 1]
        nulls = body[at : at + (len(here) + 7) // 8]
        at += (len(here) + 7) // 8
        image: list[bytes | None] = [None] * count
        for place, index in enumerate(here):
            if nulls[place >> 3] >> (place & 7) & 1:
                continue
            start, width = width_at(body, at, *columns[index])
            image[index] = body[start : start + width]
            at = start + width
        images.append(image)
    return images
