"""Files that a command writes for its user."""

from __future__ import annotations

import errno
import io
import os
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TextIO

from paraply.errors import ParaplyError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["NewFile", "new_file", "new_text_file", "write_failed"]

_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


@contextmanager
def new_file(path: Path, option: str) -> Iterator[BinaryIO]:
    """Write a file in a ``with`` block; it gets its name when it is complete.

    Until then, it is a hidden file beside it. If the block fails, there is no partial file, and an older file of the name stays as it was.
    A pipe or a device is written directly.

    Args:
        path: The file.
        option: The option that named the file, for errors.

    Raises:
        UsageError: The file cannot be made: its folder does not exist, or the user may not write there.
        ParaplyError: The file cannot be written: the disk is full.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with new_file(Path(folder, "rows.csv"), "-o") as file:
    ...         _ = file.write(b"id,name")
    ...         before = [entry.name for entry in Path(folder).iterdir()]
    ...     before == [f".rows.csv.{os.getpid()}.partial"], [entry.name for entry in Path(folder).iterdir()]
    (True, ['rows.csv'])
    """
    made = NewFile(path, option)
    try:
        yield made.file
        made.complete()
    finally:
        made.abandon()


@contextmanager
def new_text_file(path: Path, option: str) -> Iterator[TextIO]:
    """Write a file of text in a ``with`` block, as ``new_file`` does; bytes that are no UTF-8 pass as surrogates.

    Raises:
        UsageError: The file cannot be made.
        ParaplyError: The file cannot be written.
    """
    with new_file(path, option) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", errors="surrogateescape", newline="")
        try:
            yield text
            text.flush()
        finally:
            with suppress(OSError, ParaplyError):
                text.detach()


class NewFile:
    """File that gets its name when it is complete; see ``new_file``.

    Args:
        path: The file.
        option: The option that named the file, for errors.

    Raises:
        UsageError: The file cannot be made.
    """

    def __init__(self, path: Path, option: str) -> None:
        self._path = path
        self._option = option
        self._goal = Path(os.path.realpath(path))
        self._is_replaced = self._goal.is_file() or not self._goal.exists()
        self._place = self._goal.with_name(f".{self._goal.name}.{os.getpid()}.partial") if self._is_replaced else self._goal
        try:
            raw = _OutputFile(path, self._place, option)
        except OSError as error:
            raise UsageError(f"{option} {path} cannot be written: {error.strerror}") from None
        self.file: BinaryIO = io.BufferedWriter(raw)
        """The open file."""

    def complete(self) -> None:
        """Sync the file, and give it its name and the rights of the file that it replaces.

        Raises:
            ParaplyError: The file cannot be written.
        """
        self.file.flush()
        if not self._is_replaced:
            return
        try:
            os.fsync(self.file.fileno())
            with suppress(FileNotFoundError):
                self._place.chmod(self._goal.stat().st_mode & 0o7777)
            self._place.replace(self._goal)
        except OSError as error:
            raise write_failed(self._path, self._option, error) from None

    def abandon(self) -> None:
        """Close the file, and remove it if it is not complete."""
        with suppress(OSError, ParaplyError):
            self.file.close()
        if self._is_replaced:
            with suppress(OSError):
                self._place.unlink(missing_ok=True)


class _OutputFile(io.FileIO):
    """File whose errors name the option and the file.

    Args:
        path: The file as the user named it.
        place: The file that is written.
        option: The option.
    """

    def __init__(self, path: Path, place: Path, option: str) -> None:
        super().__init__(place, "w")
        self._path = path
        self._option = option

    def write(self, data: object, /) -> int:
        """Write bytes.

        Raises:
            ParaplyError: The disk is full, or fails.
        """
        try:
            return super().write(data)  # type: ignore[arg-type]  # any buffer
        except BrokenPipeError:
            raise
        except OSError as error:
            raise write_failed(self._path, self._option, error) from None


def write_failed(path: Path, option: str, error: OSError) -> ParaplyError:
    """Return the error about a file that cannot be written, and that was removed.

    >>> print(write_failed(Path("rows.csv"), "-o", OSError(28, "No space left on device")))
    -o rows.csv cannot be written: No space left on device; no partial file is left: free some space, or name a file elsewhere
    """
    reason = os.strerror(error.errno) if error.errno else error.strerror
    advice = "free some space, or name a file elsewhere" if error.errno in _SPACE else "name a file elsewhere"
    return ParaplyError(f"{option} {path} cannot be written: {reason}; no partial file is left: {advice}", file=str(path))
