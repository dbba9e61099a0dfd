"""Files of a table, for readers that know neither format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["ParquetFiles"]


@dataclass(frozen=True, slots=True)
class ParquetFiles:
    """Files of a table at a version. A file may lack columns that were added later, which are null in all its rows.

    Attributes:
        paths: Paths or URLs.
        names: For each column of the table its name in the files.
    """

    paths: tuple[str, ...]
    names: Mapping[str, str]
