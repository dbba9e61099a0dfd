"""Archives in a folder and in a bucket: contents, resumption, damage, and second writers."""

from __future__ import annotations

import gzip
import json
import lzma
import uuid
from pathlib import Path

import pytest
from unit.archive.archives import LOG, LOGS, SOURCE, archive, close, place, storage_of, write_over
from unit.log_events import events_of

from paraply import open_log
from paraply._native import LogCopy, zstd_unpack
from paraply.archive.claim import LEASE, claimed
from paraply.archive.writer import ArchiveWriter
from paraply.errors import AlreadyRunning, ArchiveRefused, LogDamaged, UsageError
from paraply.logs import log_paths
from paraply.logs.archived.location import MANIFEST
from paraply.logs.archived.storage import open_storage
from tests.object_storage import bucket, storage_server

__all__ = ["bucket", "place", "storage_server"]


def test_a_closed_file_is_one_object_and_equals_the_original(place: str) -> None:
    manifest = archive(place)
    storage = storage_of(place)
    assert [name for name in storage.names() if name.startswith("binlog")] == ["binlog.000001.zst"]
    stored = storage.read("binlog.000001.zst")
    assert stored is not None
    assert zstd_unpack(stored) == LOG.read_bytes()
    [file] = manifest.files
    assert (file.size, file.last_position, file.closed, file.transactions) == (
        LOG.stat().st_size,
        LOG.stat().st_size,
        True,
        file.transactions,
    )
    assert Path(*log_paths(place)).read_bytes() == LOG.read_bytes()


def test_a_growing_file_is_read_up_to_its_last_transaction(place: str) -> None:
    archive(place, closed=False)
    assert [one.gtid for one in open_log(place)] == [one.gtid for one in open_log(LOG)]


@pytest.mark.parametrize(("compression", "unpack"), [("gzip", gzip.decompress), ("xz", lzma.decompress), ("none", bytes)])
def test_other_compressions(tmp_path: Path, compression: str, unpack: object) -> None:
    archive(tmp_path, compression=compression)
    ending = {"gzip": ".gz", "xz": ".xz", "none": ""}[compression]
    assert callable(unpack)
    assert unpack((tmp_path / f"binlog.000001{ending}").read_bytes()) == LOG.read_bytes()
    assert Path(*log_paths(tmp_path)).read_bytes() == LOG.read_bytes()
    with pytest.raises(UsageError, match=f"the archive .* uses {compression}"):
        archive(tmp_path, compression="zstd")


def test_a_mariadb_log_is_archived_too(tmp_path: Path) -> None:
    log = LOGS / "mariadb-10.11.000001"
    archive(tmp_path, closed=False, log=log)
    assert [one.gtid for one in open_log(tmp_path)] == [one.gtid for one in open_log(log)]


def test_what_a_killed_writer_left_is_removed_and_written_again(place: str) -> None:
    manifest = archive(place, closed=False)
    storage = storage_of(place)
    storage.put_new("binlog.000001.part-000000099999-0123abcd.zst", [b"a part that the manifest does not know"])
    token = uuid.uuid4().hex
    with claimed(storage, place, token) as claim:
        writer = ArchiveWriter(storage, claim, token, None)
        writer.begin(SOURCE)
        assert writer.manifest.files == manifest.files
        close(writer)
    assert Path(*log_paths(place)).read_bytes() == LOG.read_bytes()
    assert [name for name in storage.names() if name.startswith("binlog")] == ["binlog.000001.zst"]


def test_joining_continues_after_a_kill(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as context:
        context.setattr(ArchiveWriter, "_join", killed)
        with pytest.raises(KeyboardInterrupt):
            archive(place)
    assert Path(*log_paths(place)).read_bytes() == LOG.read_bytes()
    storage, token = storage_of(place), uuid.uuid4().hex
    with claimed(storage, place, token) as claim:
        ArchiveWriter(storage, claim, token, None).begin(SOURCE)
    assert [name for name in storage.names() if name.startswith("binlog")] == ["binlog.000001.zst"]
    assert Path(*log_paths(place)).read_bytes() == LOG.read_bytes()


def test_many_small_parts_of_a_growing_file_are_joined(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paraply.archive.writer.MOST_SMALL", 4)
    manifest = archive(place, closed=False)
    [file] = manifest.files
    assert len(file.parts) < 4
    parts = [name for name in storage_of(place).names() if ".part-" in name]
    assert sorted(part.object for part in file.parts) == parts
    assert [one.gtid for one in open_log(place)] == [one.gtid for one in open_log(LOG)]
    storage, token = storage_of(place), uuid.uuid4().hex
    with claimed(storage, place, token) as claim:
        close(ArchiveWriter(storage, claim, token, None))
    assert Path(*log_paths(place)).read_bytes() == LOG.read_bytes()


def test_an_object_that_the_manifest_does_not_know_is_not_overwritten(place: str) -> None:
    archive(place, closed=False)
    storage, token = storage_of(place), uuid.uuid4().hex
    storage.put_new("binlog.000001.zst", [b"somebody's"])
    with claimed(storage, place, token) as claim:
        writer = ArchiveWriter(storage, claim, token, None)
        writer.begin(SOURCE)
        with pytest.raises(ArchiveRefused, match=r"binlog.000001.zst with another content.*nothing is overwritten"):
            close(writer)
    assert storage.read("binlog.000001.zst") == b"somebody's"


def test_a_damaged_object_is_refused(place: str) -> None:
    manifest = archive(place)
    part = manifest.files[0].parts[0]
    stored = storage_of(place).read(part.object)
    assert stored is not None
    write_over(place, part.object, stored[:-1] + bytes([stored[-1] ^ 1]))
    with pytest.raises(LogDamaged, match=r"binlog.000001.zst is damaged: its checksum differs"):
        log_paths(place)


def test_a_missing_object_is_refused(place: str) -> None:
    manifest = archive(place, closed=False)
    storage_of(place).remove(manifest.files[0].parts[2].object)
    with pytest.raises(LogDamaged, match=r"the object binlog.000001.part-.* is missing"):
        log_paths(place)


def test_a_damaged_manifest_is_refused(place: str) -> None:
    archive(place)
    data = storage_of(place).read(MANIFEST)
    assert data is not None
    write_over(place, MANIFEST, data.replace(b"binlog.000001", b"binlog.000002", 1))
    with pytest.raises(LogDamaged, match=r"the manifest .* is damaged"):
        log_paths(place)


def test_a_second_writer_is_refused(place: str) -> None:
    storage = storage_of(place)
    with claimed(storage, place, "first"):
        if place.startswith("s3"):  # as if the first one were on another host
            found = json.loads(storage.read(LEASE) or b"")
            write_over(place, LEASE, json.dumps(found | {"host": "elsewhere"}).encode())
        with pytest.raises(AlreadyRunning, match="another paraply archive"), claimed(open_storage(place), place, "second"):
            pass


def test_a_writer_that_outlived_its_lease_writes_nothing(place: str) -> None:
    archive(place, closed=False)
    storage = storage_of(place)
    with claimed(storage, place, "first") as claim:
        old = ArchiveWriter(storage, claim, "first", None)
        new = ArchiveWriter(storage, claim, "second", None)
        new.begin(SOURCE)
        with pytest.raises(ArchiveRefused, match="another paraply archive has written"):
            old.begin(SOURCE)
        with pytest.raises(ArchiveRefused, match="another paraply archive has written"):
            close(old)
        close(new)
    assert Path(*log_paths(place)).read_bytes() == LOG.read_bytes()


def test_a_file_that_does_not_follow_is_refused(place: str) -> None:
    manifest = archive(place)
    storage, token = storage_of(place), uuid.uuid4().hex
    with claimed(storage, place, token) as claim:
        writer = ArchiveWriter(storage, claim, token, None)
        copy = LogCopy("binlog.000003")
        copy.append(events_of(LOG.read_bytes())[0])
        piece = copy.take(0.0)
        assert piece is not None
        with pytest.raises(ArchiveRefused, match=r"binlog.000003, which does not follow binlog.000001"):
            writer.add(piece, SOURCE)
        again = LogCopy("binlog.000002")
        for event in events_of(LOG.read_bytes()):
            again.append(event)
        piece = again.take(0.0)
        assert piece is not None
        with pytest.raises(ArchiveRefused, match=r"binlog.000002 of the source mysql://.*@db1.* was begun without"):
            writer.add(piece, SOURCE)
        assert writer.manifest.files == manifest.files


def test_a_folder_that_is_no_archive_is_read_as_before(tmp_path: Path) -> None:
    (tmp_path / "binlog.000001").write_bytes(LOG.read_bytes())
    assert log_paths(tmp_path) == [str(tmp_path / "binlog.000001")]
