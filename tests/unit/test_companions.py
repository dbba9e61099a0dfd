"""Files beside logs that a pattern for the logs matches too."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from paraply import open_log
from paraply.errors import LogNotUnderstood, UsageError
from paraply.logs import beside_logs, log_paths
from paraply.logs.companions import passed_over_note

DATA = Path(__file__).parent.parent.parent / "rust" / "binlog" / "tests" / "data"
GTID_INDEX = b"\xfe\xfe\x0c\x01\x01\x00\x00\x00" + bytes(4088)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder as MariaDB 11.8 leaves it, with a log and what stands beside it."""
    shutil.copyfile(DATA / "mariadb-10.11.000001", tmp_path / "binlog.000001")
    (tmp_path / "binlog.000001.idx").write_bytes(GTID_INDEX)
    (tmp_path / "binlog.000002.idx").write_bytes(b"")  # the index of the log that is written is empty for a while
    (tmp_path / "binlog.index").write_text("./binlog.000001\n")
    (tmp_path / "binlog.state").write_text("0-1-26\n")
    (tmp_path / "binlog.~rec~").write_text("")  # while the server starts
    (tmp_path / "binlog.index~").write_text("./binlog.000001\n")
    return tmp_path


def test_they_are_passed_over_beside_logs(folder: Path) -> None:
    given = sorted(folder.iterdir())
    assert log_paths(given) == [str(folder / "binlog.000001")]
    assert len(list(open_log(given))) == 26
    passed = beside_logs(given)
    assert len(passed) == 6
    assert "6 files that servers keep beside their logs" in passed_over_note(passed)
    assert "the GTID index" in passed_over_note(passed[:1])


def test_alone_it_is_said_what_they_are(folder: Path) -> None:
    for name, what in {
        "binlog.000001.idx": "GTID index",
        "binlog.000002.idx": "GTID index",
        "binlog.state": "GTID state",
        "binlog.index~": "copy of the list",
    }.items():
        with pytest.raises(UsageError, match=f"{what}.*name the logs themselves"):
            log_paths(folder / name)
    assert log_paths(folder / "binlog.index") == [str(folder / "binlog.000001")]


def test_content_decides_and_not_the_name(folder: Path) -> None:
    log = folder / "odd.idx"
    shutil.copyfile(folder / "binlog.000001", log)
    assert log_paths(log) == [str(log)]
    index = folder / "binlog.000009"
    index.write_bytes(GTID_INDEX)
    assert log_paths([log, index]) == [str(log)]
    named = folder / "odd.index"
    shutil.copyfile(folder / "binlog.000001", named)
    assert log_paths(named) == [str(named)]


def test_the_binlog_in_innodb_is_refused_and_never_passed_over(folder: Path) -> None:
    file = folder / "binlog-000000.ibb"
    file.write_bytes(b"\xfe\xfe\x0d\x01" + bytes(508))
    for given in ([file], [folder / "binlog.000001", file]):
        with pytest.raises(LogNotUnderstood, match=r"InnoDB.*start the server without binlog_storage_engine"):
            list(open_log(given))
