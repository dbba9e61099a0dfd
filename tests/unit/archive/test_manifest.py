"""The manifest: what it holds, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from paraply.errors import LogDamaged, LogNotUnderstood
from paraply.logs.archived.manifest import ArchivedFile, Manifest, StoredPart, follows

PARTS = (StoredPart("a", 0, 10, 5, "00", "01"), StoredPart("b", 10, 20, 5, "00", "02"))
CLOSED = ArchivedFile("binlog.000009", "", 1, closed=True, next_file="binlog.000010", head=(4, 5), last_event=(1, 2, 3), parts=PARTS)
GROWING = ArchivedFile("binlog.000010", "", 1, last_position=10, parts=PARTS)
WHOLE = Manifest("zstd", mariadb=True, server_id=1, files=(CLOSED, GROWING))


def test_a_manifest_is_read_as_it_was_written() -> None:
    assert Manifest.decode(WHOLE.encode(), "here") == WHOLE


def test_every_changed_byte_is_found() -> None:
    data = WHOLE.encode()
    for offset in range(0, len(data) - 1, 7):
        with pytest.raises(LogDamaged, match=r"here: the manifest .* is damaged"):
            Manifest.decode(data[:offset] + bytes([data[offset] ^ 1]) + data[offset + 1 :], "here")
    for length in range(0, len(data) - 1, 7):
        with pytest.raises(LogDamaged, match="is damaged"):
            Manifest.decode(data[:length], "here")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ((CLOSED, replace(GROWING, name="binlog.000011")), "binlog.000011 does not follow binlog.000009"),
        ((replace(CLOSED, next_file=None), replace(GROWING, name="other.000010")), "other.000010 does not follow binlog.000009"),
        ((CLOSED, replace(GROWING, server_uuid="x")), "binlog.000010 does not follow binlog.000009"),
        ((replace(CLOSED, closed=False), GROWING), "the end of binlog.000009 is missing"),
        ((CLOSED, replace(GROWING, parts=PARTS[1:])), "a gap inside binlog.000010"),
    ],
)
def test_a_gap_is_refused(files: tuple[ArchivedFile, ...], message: str) -> None:
    with pytest.raises(LogDamaged, match=message):
        Manifest.decode(replace(WHOLE, files=files).encode(), "here")


def test_a_later_format_is_refused() -> None:
    import hashlib
    import json

    text = b'{"paraply_archive": 2}\n'
    end = json.dumps({"lines": 1, "sha256": hashlib.sha256(text).hexdigest()}).encode()
    with pytest.raises(LogNotUnderstood, match="use a later paraply"):
        Manifest.decode(text + end + b"\n", "here")


def test_the_growing_file_ends_after_its_last_whole_transaction() -> None:
    assert [part.object for part in GROWING.whole_parts().parts] == ["a"]
    assert CLOSED.whole_parts() == CLOSED


def test_the_next_file_has_the_announced_name_or_the_next_number() -> None:
    assert follows(CLOSED, "binlog.000010")
    assert not follows(CLOSED, "binlog.000011")
    assert follows(replace(CLOSED, name="binlog.999999", next_file=None), "binlog.1000000")
    assert not follows(replace(CLOSED, name="binlog", next_file=None), "binlog")
