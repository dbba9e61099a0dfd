"""Sources that are not the one of the archive."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest
from unit.archive.archives import SOURCE

from paraply._native import GtidSet
from paraply.archive.continuation import LONGEST_ROTATION, check_gtids, check_server, check_times, gap
from paraply.archive.source_files import names_of
from paraply.errors import ArchiveRefused, LogNotUnderstood
from paraply.logs.archived.manifest import ArchivedFile, Manifest

UUID = SOURCE.server_uuid
OTHER = "11111111-2222-3333-4444-555555555555"
ARCHIVE = Manifest("zstd", server_uuid=UUID, server_id=1)
NEWEST = ArchivedFile("binlog.000007", UUID, 1, gtids_before=f"{UUID}:1-10", gtids=f"{UUID}:11-20", last_position=99)


def test_the_same_server_may_have_another_server_id() -> None:
    check_server(replace(SOURCE, server_id=9), "here", ARCHIVE)


@pytest.mark.parametrize(
    "source", [replace(SOURCE, server_uuid=OTHER), replace(SOURCE, server_uuid="", mariadb=True), replace(SOURCE, server_uuid="")]
)
def test_another_server_is_refused(source: object) -> None:
    with pytest.raises(ArchiveRefused, match=rf"here holds the logs of the MySQL with server UUID {UUID}, .*nothing is overwritten"):
        check_server(source, "here", ARCHIVE)  # type: ignore[arg-type]


def test_a_mariadb_is_known_by_its_server_id() -> None:
    archive = Manifest("zstd", server_id=1, mariadb=True)
    check_server(replace(SOURCE, server_uuid="", mariadb=True), "here", archive)
    with pytest.raises(ArchiveRefused, match="the MariaDB with server id 2"):
        check_server(replace(SOURCE, server_uuid="", mariadb=True, server_id=2), "here", archive)


@pytest.mark.parametrize(
    ("files", "closed", "message"),
    [
        (
            ["binlog.000009", "binlog.000010"],
            False,
            r"ends at binlog.000007:99, but the source .* has purged binlog.000007: its oldest log",
        ),
        (["binlog.000009"], True, r"has purged binlog.000008"),
        (["binlog.000001", "binlog.000002"], False, r"has no log binlog.000007 \(it has binlog.000001, binlog.000002\)"),
        (["other.000001"], True, r"has no log binlog.000008"),
    ],
)
def test_a_gap_names_the_missing_log(files: list[str], closed: bool, message: str) -> None:
    assert gap(SOURCE, "here", replace(NEWEST, closed=closed), files).args[0].startswith("the archive here ends at")
    with pytest.raises(ArchiveRefused, match=message):
        raise gap(SOURCE, "here", replace(NEWEST, closed=closed), files)


def test_a_next_file_must_know_the_archive_s_transactions() -> None:
    check_gtids(SOURCE, "here", NEWEST, "binlog.000008", GtidSet(f"{UUID}:1-20"))
    check_gtids(SOURCE, "here", NEWEST, "binlog.000008", None)
    with pytest.raises(ArchiveRefused, match=rf"binlog.000008 .* was begun without {UUID}:20, which the archive here holds"):
        check_gtids(SOURCE, "here", NEWEST, "binlog.000008", GtidSet(f"{UUID}:1-19"))
    with pytest.raises(ArchiveRefused, match=rf"binlog.000008 .* was begun after {UUID}:21-22, which the archive here does not hold"):
        check_gtids(SOURCE, "here", NEWEST, "binlog.000008", GtidSet(f"{UUID}:1-22"))


@pytest.mark.parametrize("late", [LONGEST_ROTATION + 1, -LONGEST_ROTATION - 1])
def test_a_next_file_must_begin_when_the_last_one_ended(late: int) -> None:
    def header(kind: int, seconds: int) -> bytes:
        return struct.pack("<IB14x", seconds, kind)

    rotate, stop = 4, 3
    check_times(SOURCE, "here", NEWEST, header(rotate, 1000), "binlog.000008", header(15, 1000 + LONGEST_ROTATION))
    check_times(SOURCE, "here", NEWEST, header(stop, 1000), "binlog.000008", header(15, 1000 + late))
    with pytest.raises(ArchiveRefused, match=rf"binlog.000008 .* was begun {abs(late)} s (after|before) the end of binlog.000007"):
        check_times(SOURCE, "here", NEWEST, header(rotate, 1000), "binlog.000008", header(15, 1000 + late))


def test_an_encrypted_log_is_refused() -> None:
    assert names_of([("binlog.000001", "157")]) == ["binlog.000001"]
    with pytest.raises(LogNotUnderstood, match=r"the source encrypts its binlog binlog.000002"):
        names_of([("binlog.000001", "157", "No"), ("binlog.000002", "669", "Yes")])
