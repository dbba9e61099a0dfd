"""Definitions that a caller gives, in one of the forms that are natural to give."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paraply.schema.catalog import SchemaCatalog

__all__ = ["as_catalog"]


def as_catalog(schema: SchemaCatalog | Path | str | None) -> SchemaCatalog | None:
    """Return definitions as they are, or those of the dump at a path.

    Raises:
        UsageError: The dump is missing or cannot be read.
    """
    if not isinstance(schema, str | Path):
        return schema
    from paraply.schema.readers.dump import read_dump  # most runs need no parser of dumps

    return read_dump(Path(schema))
