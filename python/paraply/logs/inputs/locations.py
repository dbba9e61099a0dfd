"""Locations of logs: files, standard input, and URLs."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["CLOUD_SCHEMES", "STANDARD_INPUT", "WEB_SCHEMES", "is_url", "joined_url"]

STANDARD_INPUT = "-"
"""The name that stands for standard input."""
CLOUD_SCHEMES = ("s3", "gs", "az")
"""Schemes of cloud storages."""
WEB_SCHEMES = ("http", "https")
"""Schemes of web servers."""
_URL = re.compile(r"([a-z][a-z0-9+.-]*):/{1,2}(?=[^/])")


def is_url(location: Path | str) -> bool:
    """Return True for a URL; a ``Path`` has lost one of the slashes.

    >>> is_url("s3://bucket/binlog.000001"), is_url(Path("s3://bucket/binlog.000001")), is_url("binlog.000001")
    (True, True, False)
    """
    return _URL.match(str(location)) is not None and not Path(location).exists()


def joined_url(location: Path | str) -> str:
    """Return a URL with both slashes.

    >>> joined_url(Path("s3://bucket/binlog.000001"))
    's3://bucket/binlog.000001'
    """
    return _URL.sub(lambda match: f"{match[1]}://", str(location), count=1)
