"""Offsets of a stream of logs: where each log is read up to, and what the logs that are no longer needed leave behind."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paraply.errors import UsageError
from paraply.logs.inputs import plain_name
from paraply.schema.table_json import from_json, to_json
from paraply.spark.inputs import in_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from paraply.schema.model import Table

__all__ = ["Floor", "Offsets", "floor_in", "key_of", "left_behind", "logs_in_offset", "with_floor"]

Offsets = dict[str, Any]
"""Offset of each log by its name, and of the logs that were read to their ends the number of transactions and the definitions."""

POSITION = ":position"
TABLES = ":tables"


@dataclass(frozen=True)
class Floor:
    """State after the logs that have left the offset.

    Attributes:
        position: Number of their transactions.
        tables: The definitions after them; None for those at the start of all logs.
    """

    position: int = 0
    tables: tuple[Table, ...] | None = None


def key_of(place: str) -> str:
    """Return the name of a log in offsets: without the ending of its compression, which may come later.

    >>> key_of("/logs/binlog.000001.zst")
    '/logs/binlog.000001'
    """
    return plain_name(place)


def logs_in_offset(offset: Offsets) -> dict[str, int]:
    """Return the logs of an offset.

    >>> logs_in_offset({"binlog.000002": 154, ":position": 12})
    {'binlog.000002': 154}
    """
    return {name: end for name, end in offset.items() if not name.startswith(":")}


def left_behind(name: str, offset: Offsets) -> bool:
    """Return True if a log was read to its end before an offset: the offset has a later log of its series, and not this one.

    >>> left_behind("binlog.000001", {"binlog.000002": 4}), left_behind("binlog.000003", {"binlog.000002": 4})
    (True, False)
    """
    stem, number, _ = in_order(name)
    others = [in_order(other) for other in logs_in_offset(offset)]
    return name not in offset and any(other[0] == stem and other[1] > number for other in others)


def floor_in(offset: Offsets) -> Floor:
    """Return the state that an offset has of the logs before it.

    Raises:
        UsageError: It is damaged.
    """
    packed = offset.get(TABLES)
    if packed is None:
        return Floor(int(offset.get(POSITION, 0)))
    try:
        texts: list[str] = json.loads(zlib.decompress(base64.b64decode(packed)))
        return Floor(int(offset[POSITION]), tuple(from_json(text) for text in texts))
    except (ValueError, KeyError, TypeError, zlib.error) as error:
        raise UsageError(f"the stream's checkpoint is damaged: {error}; start the query with another checkpoint") from None


def with_floor(logs: dict[str, int], position: int, tables: Iterable[Table]) -> Offsets:
    """Return an offset with the state of the logs that have left it."""
    texts: Sequence[str] = sorted(to_json(table) for table in tables)
    packed = base64.b64encode(zlib.compress(json.dumps(texts).encode(), 9)).decode()
    return {**logs, POSITION: position, TABLES: packed}
