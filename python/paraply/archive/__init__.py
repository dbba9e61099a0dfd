"""Archives of a live source's binlogs: byte for byte, compressed, and without gaps."""

from __future__ import annotations

from paraply.archive.archiver import Archiver, ArchiveReport

__all__ = ["ArchiveReport", "Archiver"]
