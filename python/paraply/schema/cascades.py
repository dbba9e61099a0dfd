"""Servers that log the rows which foreign keys change by themselves (R15a)."""

from __future__ import annotations

__all__ = ["logs_cascades"]

_SINCE = (9, 6, 0)
"""First version of MySQL that does."""


def logs_cascades(version: tuple[int, int, int], *, mariadb: bool) -> bool:
    """Return True if the log of a server has the rows that a cascade changes.

    >>> logs_cascades((9, 7, 4), mariadb=False), logs_cascades((8, 4, 0), mariadb=False), logs_cascades((11, 8, 0), mariadb=True)
    (True, False, False)
    """
    return not mariadb and version >= _SINCE
