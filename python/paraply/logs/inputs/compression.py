"""Compressed log files: gzip, bzip2, xz, Zstandard and LZ4, recognised by their first bytes."""

from __future__ import annotations

import bz2
import errno
import gzip
import lzma
import zlib
from contextlib import closing
from typing import TYPE_CHECKING, Protocol

from paraply._native import Unpacker
from paraply.errors import LogDamaged, LogTruncated, LogUnreadable, ParaplyError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["compression_of", "plain_name", "start_of", "unpack"]

PIECE = 1 << 20
SIGNS = {
    b"\x1f\x8b": "gz",
    b"BZh": "bz2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zst",
    b"\x04\x22\x4d\x18": "lz4",
}
"""First bytes of each format."""
SPACE_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""Errors of a disk without space."""
ENDINGS = (".gz", ".bz2", ".xz", ".zst", ".zstd", ".lz4")
_LONGEST_SIGN = max(map(len, SIGNS))


class Readable(Protocol):
    """Source of unpacked bytes."""

    def read(self, size: int, /) -> bytes:
        """Return up to ``size`` bytes; none at the end."""

    def close(self) -> None:
        """Close the file."""


def plain_name(name: str) -> str:
    """Return the name of a file without the ending of its compression.

    >>> plain_name("binlog.000007.zst"), plain_name("binlog.000007")
    ('binlog.000007', 'binlog.000007')
    """
    return next((name.removesuffix(ending) for ending in ENDINGS if name.endswith(ending)), name)


def compression_of(path: Path) -> str | None:
    """Return the format of a compressed file (``gz``, ``bz2``, ``xz``, ``zst`` or ``lz4``), or None for any other file."""
    if not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            start = file.read(_LONGEST_SIGN)
    except OSError as error:
        raise LogUnreadable(f"{path} cannot be read: {error.strerror}", file=str(path)) from None
    return next((name for sign, name in SIGNS.items() if start.startswith(sign)), None)


def opened(path: Path, compression: str) -> Readable:
    """Open a compressed file."""
    openers: dict[str, Callable[[Path], Readable]] = {"gz": gzip.GzipFile, "bz2": bz2.BZ2File, "xz": lzma.LZMAFile}
    return openers[compression](path) if compression in openers else Unpacker(path, compression)


def start_of(path: Path, size: int) -> bytes:
    """Return the first bytes of a file, unpacked.

    Raises:
        LogDamaged: The compressed data are damaged.
    """
    compression = compression_of(path)
    if compression is None:
        with path.open("rb") as file:
            return file.read(size)
    try:
        with closing(opened(path, compression)) as source:
            return source.read(size)
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise fault(path, compression, error) from None


def unpack(path: Path, compression: str, target: Path) -> None:
    """Write the contents of a compressed file to another one.

    Raises:
        LogDamaged: The compressed data are damaged or, as ``LogTruncated``, cut off.
        ParaplyError: There is no space left for the contents.
    """
    try:
        with closing(opened(path, compression)) as source, target.open("wb") as plain:
            while piece := source.read(PIECE):
                write(plain.write, piece, path, target)
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise fault(path, compression, error) from None


def write(function: Callable[[bytes], int], piece: bytes, path: Path | str, target: Path) -> None:
    """Write a piece of a file.

    Raises:
        ParaplyError: The disk is full.
    """
    try:
        function(piece)
    except OSError as error:
        if error.errno not in SPACE_ERRORS:
            raise
        raise ParaplyError(
            f"no space is left in {target.parent} for the contents of {path}: free some, or set TMPDIR to a folder with more",
            file=str(path),
        ) from None


def fault(path: Path, compression: str, error: Exception) -> ParaplyError:
    """Return the error for a compressed file that cannot be unpacked."""
    if isinstance(error, EOFError):
        return LogTruncated(f"{path} is cut off: its {compression} data end too early; fetch the file again", file=str(path), position=0)
    if isinstance(error, OSError) and error.errno is not None:
        return LogUnreadable(f"{path} cannot be read: {error.strerror}", file=str(path))
    return LogDamaged(f"{path} is damaged: {error} ({compression}); fetch the file again", file=str(path), position=0)
