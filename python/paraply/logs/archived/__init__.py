"""Archives of binlogs, as ``paraply archive`` writes them: the manifest, the storage, and the files that a command needs."""

from __future__ import annotations

from paraply.logs.archived.choice import Wanted
from paraply.logs.archived.location import is_archive

__all__ = ["Wanted", "is_archive"]
