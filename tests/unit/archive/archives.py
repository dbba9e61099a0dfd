"""Archives made of a log in the repository, without a server, and a folder or a bucket for them."""

from __future__ import annotations

import uuid
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from unit.log_events import events_of

from paraply._native import LogCopy
from paraply.archive.claim import claimed
from paraply.archive.writer import ArchiveWriter
from paraply.logs.archived.storage import Storage, open_storage
from paraply.replication.source import Source, parse_source

if TYPE_CHECKING:
    from paraply.logs.archived.manifest import Manifest

LOGS = Path(__file__).parents[3] / "rust" / "binlog" / "tests" / "data"
LOG = LOGS / "mysql-9.7.000001"
SOURCE = Source(parse_source("mysql://db1"), False, 1, "3e11fa47-71ca-11e1-9e33-c80aa9429562", "9.7.0", True)
ROTATE = 4


def archive(location: str | Path, *, closed: bool = True, compression: str = "zstd", log: Path = LOG, piece_bytes: int = 500) -> Manifest:
    """Archive a log under the name ``binlog.000001``, in small pieces; closed, or without the event that ends it."""
    storage, token = open_storage(location), uuid.uuid4().hex
    with claimed(storage, str(location), token) as claim:
        writer = ArchiveWriter(storage, claim, token, compression)
        writer.begin(SOURCE)
        copy = LogCopy("binlog.000001", piece_bytes=piece_bytes)
        for event in [each for each in events_of(log.read_bytes()) if closed or each[4] != ROTATE]:
            copy.append(event)
            while (piece := copy.take(0.0)) is not None:
                writer.add(piece, SOURCE)
        return writer.manifest


def close(writer: ArchiveWriter) -> None:
    """Add the event that ends the log."""
    newest = writer.manifest.newest
    assert newest is not None
    copy = LogCopy(newest.name, known=newest.last_event)
    first, *_, last, end = events_of(LOG.read_bytes())
    for event in (made_up(first), last, end):
        copy.append(event)
    piece = copy.take(0.0)
    assert piece is not None
    writer.add(piece, SOURCE)


def made_up(description: bytes) -> bytes:
    """Return a format description as a source sends it before a position inside of a file."""
    content = description[:13] + bytes(4) + description[17:-4]
    return content + zlib.crc32(content).to_bytes(4, "little")


@pytest.fixture(params=["folder", "bucket"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A folder, or the URL of a folder in a bucket."""
    return str(tmp_path / "archive") if request.param == "folder" else str(request.getfixturevalue("bucket"))


def storage_of(place: str) -> Storage:
    """Return the storage of an archive."""
    return open_storage(place)


def write_over(place: str, name: str, data: bytes) -> None:
    """Damage an object."""
    storage = open_storage(place)
    found = storage.read_version(name)
    assert found is not None
    storage.replace(name, data, found[1])
