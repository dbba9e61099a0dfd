"""A server's list of its logs, such as ``binlog.index``."""

from __future__ import annotations

from pathlib import Path

from paraply.errors import UsageError
from paraply.logs.companions import LOG_STARTS
from paraply.logs.inputs.compression import ENDINGS, start_of

__all__ = ["is_index", "logs_of_index"]


def is_index(path: Path) -> bool:
    """Return True for a file with the name of a server's list of its logs that is no log itself."""
    return path.suffix == ".index" and path.is_file() and start_of(path, 4) not in LOG_STARTS


def logs_of_index(path: Path) -> list[Path]:
    """Return the logs that a server lists, in its order; each may be compressed meanwhile.

    A relative name is relative to the list's folder. A log of another folder is looked for beside the list, too: a list is often copied
    together with its logs.

    Raises:
        UsageError: The list is empty, or a log in it is missing.
    """
    names = path.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    listed = [Path(name.strip()) for name in names if name.strip()]
    if not listed:
        raise UsageError(f"{path} lists no logs", file=str(path))
    return [found(path, log) for log in listed]


def found(index: Path, log: Path) -> Path:
    """Return the place of a listed log."""
    beside = index.parent / log
    moved = index.parent / log.name
    for place in (beside, moved):
        for ending in ("", *ENDINGS):
            candidate = place.with_name(place.name + ending)
            if candidate.is_file():
                return candidate
    raise UsageError(
        f"{index} lists {log}, which is neither there nor in {index.parent}; copy it there, or name the logs themselves", file=str(index)
    )
