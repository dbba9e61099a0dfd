"""Small files of state that a kill or a power failure leaves whole: either the old content, or the new one."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from paraply.errors import ParaplyError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["write_state"]


def write_state(path: Path, text: str) -> None:
    """Replace the content of a file, and sync it and its folder to disk.

    Raises:
        ParaplyError: The file cannot be written; the old content is still there.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_state(Path(folder, "replicas.json"), "{}")
    ...     [(file.name, file.read_text()) for file in Path(folder).iterdir()]
    [('replicas.json', '{}')]
    """
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        with unfinished.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
        raise ParaplyError(
            f"{path} cannot be written: {error.strerror}; the same command continues once the disk takes it", file=str(path)
        ) from None
