"""Transfer of the certification info to a joining member: packed, split, compressed and verified (R9)."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from paraply._extras import require_extra
from paraply.errors import TransferDamaged

__all__ = ["Chunk", "pack", "unpack"]

CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Chunk:
    """Piece of the certification info.

    Attributes:
        number: Number of the piece, from 0.
        count: Number of all pieces.
        size: Size of all pieces together, in bytes.
        digest: SHA-256 of all pieces together.
        checksum: CRC32 of this piece.
        data: Bytes of this piece.
    """

    number: int
    count: int
    size: int
    digest: bytes
    checksum: int
    data: bytes


def pack(exported: Any, chunk_bytes: int = CHUNK_BYTES) -> list[Chunk]:
    """Pack the result of ``Certifier.export``.

    >>> from paraply import Certifier
    >>> chunks = pack(Certifier().export(), chunk_bytes=64)
    >>> len(chunks) > 1, unpack(chunks).num_rows
    (True, 0)
    """
    require_extra("arrow", "a member that joins a group")
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, exported.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_batch(exported)
    data = sink.getvalue().to_pybytes()
    digest = hashlib.sha256(data).digest()
    pieces = [data[start : start + chunk_bytes] for start in range(0, len(data), chunk_bytes)]
    return [Chunk(number, len(pieces), len(data), digest, zlib.crc32(piece), piece) for number, piece in enumerate(pieces)]


def unpack(chunks: Iterable[Chunk]) -> Any:
    """Join the pieces, and return the argument of ``Certifier.joined``.

    Raises:
        TransferDamaged: A piece is missing, duplicate or damaged; the message names it.
    """
    received = list(chunks)
    if not received:
        raise TransferDamaged("no certification info was received: ask another member of the group")
    for place, chunk in enumerate(received):
        if chunk.number != place or chunk.count != len(received) or chunk.digest != received[0].digest:
            raise TransferDamaged(f"piece {place} of the certification info is missing or of another transfer: ask for all of it again")
        if zlib.crc32(chunk.data) != chunk.checksum:
            raise TransferDamaged(f"piece {place} of the certification info was damaged on its way: ask for it again")
    data = b"".join(chunk.data for chunk in received)
    if len(data) != received[0].size or hashlib.sha256(data).digest() != received[0].digest:
        raise TransferDamaged("the certification info is not what was sent: ask for all of it again")
    require_extra("arrow", "a member that joins a group")
    import pyarrow as pa

    with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
        return reader.read_next_batch()
