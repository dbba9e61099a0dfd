"""The version of the installed package."""

from __future__ import annotations

from importlib import metadata

__all__ = ["version"]


def version() -> str:
    """The installed version.

    >>> version().count(".") >= 1
    True
    """
    return metadata.version("paraply")
