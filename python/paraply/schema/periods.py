"""Keys with a period (``WITHOUT OVERLAPS``), as shown by a running MariaDB.

Two rows conflict under such a key if their periods overlap, even if none of their values are equal. So the values of the period's columns
cannot be compared: their parts count as an unknown expression, and the whole key becomes one value (R13).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from paraply.schema.model import Column, Key, KeyPart

if TYPE_CHECKING:
    Query = Callable[[str], Sequence[tuple[Any, ...]]]

__all__ = ["overlapping_keys", "with_period_parts"]

OF_PERIODS = ("date", "datetime", "timestamp")
_KEY = re.compile(r"\s*(?:PRIMARY KEY|UNIQUE KEY `((?:[^`]|``)+)`)\s*\(.* WITHOUT OVERLAPS\)")


def with_period_parts(query: Query, place: tuple[str, str], keys: list[Key], columns: list[Column]) -> list[Key]:
    """Return a table's keys, with unknown expressions in place of the columns of periods.

    Before MariaDB 11.4, no view of information_schema marks these keys. It shows the two columns of the period as the last ones of the key.
    So SHOW CREATE TABLE is used for tables with a key of that form.

    Args:
        query: Runs a statement and returns its rows.
        place: Database and table.
        keys: The keys in information_schema.
        columns: The table's columns.
    """
    kinds = {column.name: column.type for column in columns if not column.nullable}
    if not any(_may_have_period(key, kinds) for key in keys):
        return keys
    name = ".".join("`" + part.replace("`", "``") + "`" for part in place)
    shown = query(f"SHOW CREATE TABLE {name}")[0][1]
    text = shown.decode("utf-8", "surrogateescape") if isinstance(shown, bytes) else str(shown)
    found = overlapping_keys(text)
    period = KeyPart(None, None, "WITHOUT OVERLAPS")
    return [replace(key, parts=(*key.parts[:-2], period, period)) if key.name in found else key for key in keys]


def _may_have_period(key: Key, kinds: dict[str, str]) -> bool:
    last = [kinds.get(part.column or "") for part in key.parts[-2:]]
    return key.unique and len(key.parts) > 2 and last[0] == last[1] and last[0] in OF_PERIODS


def overlapping_keys(definition: str) -> set[str]:
    """Return the names of the keys WITHOUT OVERLAPS in the output of ``SHOW CREATE TABLE``.

    >>> sorted(overlapping_keys("  UNIQUE KEY `u` (`v`,`p` WITHOUT OVERLAPS),"))
    ['u']
    """
    matches = (_KEY.match(line) for line in definition.splitlines())
    return {match[1].replace("``", "`") if match[1] else "PRIMARY" for match in matches if match is not None}
