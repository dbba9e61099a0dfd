"""Errors of writes that would overwrite something."""

from __future__ import annotations

from paraply.errors import ArchiveRefused

__all__ = ["changed", "exists"]


def exists(shown: str, name: str) -> ArchiveRefused:
    """Return the error for an object that would be written over."""
    return ArchiveRefused(
        f"{shown} holds an object {name} with another content, which the manifest does not know; nothing is overwritten:"
        " move it away, or archive into another place",
        file=name,
    )


def changed(shown: str) -> ArchiveRefused:
    """Return the error for a manifest that another process has changed."""
    return ArchiveRefused(
        f"another paraply archive has written into {shown} meanwhile: this one ends; let only one process write into an archive"
    )
