"""Dates in the text of row images as Arrow: those that only the server can hold become null."""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["cast_image", "cast_values", "is_in_calendar"]

_DATED = re.compile(r"\d{4}-\d\d-\d\d(?!\d)")
_DAYS = len("2024-01-31")
_FIRST_DAY = -719_162
"""0001-01-01 in days since 1970: types outside of the server have no year 0."""
_MICROSECONDS = 86_400_000_000


def is_in_calendar(day: str) -> bool:
    """Return True for a date that types outside of the server can hold, too.

    >>> is_in_calendar("2024-02-29"), is_in_calendar("2024-02-31"), is_in_calendar("0000-01-01")
    (True, False, False)
    """
    try:
        date.fromisoformat(day)
    except ValueError:
        return False
    return True


def cast_values(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return values in a type; a date of the year 0, or one that ``ALLOW_INVALID_DATES`` admitted, is null.

    Raises:
        pa.ArrowInvalid: A value has another form.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not (pa.types.is_date32(kind) or pa.types.is_timestamp(kind)):
        return values.cast(kind)
    try:
        made = values.cast(kind)
    except pa.ArrowInvalid:
        texts = values.to_pylist()
        odd = [text is not None and bool(_DATED.match(text)) and not is_in_calendar(text[:_DAYS]) for text in texts]
        made = pc.if_else(pa.array(odd), pa.scalar(None, values.type), values).cast(kind)
    number, first = (pa.int32(), _FIRST_DAY) if pa.types.is_date32(kind) else (pa.int64(), _FIRST_DAY * _MICROSECONDS)
    early = pc.less(made.cast(number), pa.scalar(first, number))
    return pc.if_else(early, pa.scalar(None, kind), made) if pc.any(early).as_py() else made


def cast_image(image: pa.ChunkedArray, kind: pa.StructType) -> pa.ChunkedArray:
    """Return images of rows in the types of a table's columns, as ``cast_values``."""
    import pyarrow as pa

    chunks = [
        pa.StructArray.from_arrays(
            [cast_values(values, field.type) for values, field in zip(chunk.flatten(), kind, strict=True)],
            fields=list(kind),
            mask=chunk.is_null(),
        )
        for chunk in image.chunks
    ]
    return pa.chunked_array(chunks, kind)
