"""Compression of the parts of an archive. Compressed parts behind one another are one compressed file in every format."""

from __future__ import annotations

import gzip
import lzma
import zlib

from paraply._native import zstd_pack, zstd_unpack
from paraply.errors import UsageError

__all__ = ["COMPRESSIONS", "pack", "parse_compression", "unpack_part"]

COMPRESSIONS = {"zstd": ".zst", "gzip": ".gz", "xz": ".xz", "none": ""}
"""Names of the compressions, and the endings of their files."""


def parse_compression(name: str) -> str:
    """Return the name of a compression.

    Raises:
        UsageError: There is none of this name.

    >>> parse_compression("zstd")
    'zstd'
    """
    if name not in COMPRESSIONS:
        raise UsageError(f"--compression {name}: give one of {', '.join(COMPRESSIONS)}")
    return name


def pack(data: bytes, compression: str) -> bytes:
    """Return bytes in compressed form.

    >>> unpack_part(pack(b"events", "zstd"), "zstd")
    b'events'
    """
    if compression == "zstd":
        return zstd_pack(data)
    if compression == "gzip":
        return gzip.compress(data, mtime=0)
    return lzma.compress(data) if compression == "xz" else data


def unpack_part(data: bytes, compression: str) -> bytes:
    """Return the contents of compressed bytes.

    Raises:
        ValueError: The bytes are damaged or cut off.
    """
    try:
        if compression == "zstd":
            return zstd_unpack(data)
        if compression == "gzip":
            return gzip.decompress(data)
        return lzma.decompress(data) if compression == "xz" else data
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise ValueError(str(error)) from None
