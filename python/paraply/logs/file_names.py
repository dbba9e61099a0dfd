"""The names of numbered log files, such as ``binlog.000017``."""

from __future__ import annotations

import re
from pathlib import PurePath

__all__ = ["split_name"]

_NUMBERED = re.compile(r"(?P<stem>.+)\.(?P<number>\d{6,})")


def split_name(path: str | PurePath) -> tuple[str, int | None]:
    """Return the base name of a log file without the number that rotation counts up, and that number.

    >>> split_name("/var/lib/mysql/binlog.000017"), split_name("one.binlog")
    (('binlog', 17), ('one.binlog', None))
    """
    name = PurePath(path).name
    match = _NUMBERED.fullmatch(name)
    return (match["stem"], int(match["number"])) if match else (name, None)
