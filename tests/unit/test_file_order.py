"""Gaps, order and duplicates of log files, told by their heads."""

from __future__ import annotations

from pathlib import Path

import pytest

from paraply._native import GtidSet, log_gtids, log_head
from paraply.errors import UsageError
from paraply.logs.file_order import check_order, missing_before, read_heads

DATA = Path(__file__).parent.parent.parent / "rust" / "binlog" / "tests" / "data"
FIRST, SECOND, THIRD = (str(DATA / f"mysql-9.7.00000{number}") for number in (1, 2, 3))


def check(*paths: str | Path) -> None:
    check_order(read_heads([str(path) for path in paths]))


def test_files_in_order_pass() -> None:
    check(FIRST, SECOND, THIRD)
    check(FIRST)
    check(THIRD)


def test_a_missing_file_is_named() -> None:
    with pytest.raises(UsageError, match=r"add mysql-9\.7\.000002|add binlog\.000002"):
        check(FIRST, THIRD)


def test_the_right_order_is_said() -> None:
    with pytest.raises(UsageError) as caught:
        check(THIRD, FIRST, SECOND)
    assert caught.value.message.endswith(f"give them as: {FIRST} {SECOND} {THIRD}")


def test_a_file_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="named twice"):
        check(FIRST, FIRST)
    link = tmp_path / "binlog.000001"
    link.symlink_to(FIRST)
    with pytest.raises(UsageError, match="named twice, also as"):
        check(FIRST, link)
    copy = tmp_path / "copy.000001"
    copy.write_bytes(Path(FIRST).read_bytes())
    with pytest.raises(UsageError, match="copies of one log"):
        check(FIRST, copy)
    copy.write_bytes(Path(FIRST).read_bytes()[:2000])
    with pytest.raises(UsageError, match="begin with the same transactions"):
        check(FIRST, copy)


def test_without_a_name_of_the_next_file_the_gtids_tell(tmp_path: Path) -> None:
    # Cut before the Rotate, as after a crash, and under names without numbers.
    whole = Path(FIRST).read_bytes()
    size = len(whole) - (19 + 8 + len(log_head(FIRST).next_file or "") + 4)
    crashed, second = tmp_path / "crashed", tmp_path / "second"
    crashed.write_bytes(whole[:size])
    second.write_bytes(Path(SECOND).read_bytes())
    assert not log_head(str(crashed)).closed
    check(crashed, second)
    (tmp_path / "short").write_bytes(whole[:1500])
    with pytest.raises(UsageError, match="logs are missing that hold"):
        check(tmp_path / "short", second)


def test_a_copy_that_was_made_before_the_end_of_its_file_is_refused(tmp_path: Path) -> None:
    whole, gtids = Path(FIRST).read_bytes(), str(log_gtids(FIRST))
    crashed, next_one = tmp_path / "binlog.000001", tmp_path / "binlog.000002"
    next_one.write_bytes(Path(SECOND).read_bytes())
    crashed.write_bytes(whole[: len(whole) - (19 + 8 + len(log_head(FIRST).next_file or "") + 4)])
    check(crashed, next_one)
    crashed.write_bytes(whole[:1692])  # after the fifth transaction
    assert str(log_gtids(str(crashed))) != gtids
    with pytest.raises(UsageError, match=r"binlog\.000001 was not copied to its end: it lacks .*:6-19"):
        check(crashed, next_one)


def test_what_is_missing_before_the_first_file_is_told() -> None:
    files = read_heads([SECOND])
    before = files[0].previous
    assert before is not None
    assert missing_before(files, GtidSet()) == before
    assert missing_before(files, before) is None
    assert missing_before(read_heads([FIRST]), GtidSet()) is None


def test_a_damaged_head_is_left_to_the_reader(tmp_path: Path) -> None:
    damaged = tmp_path / "binlog.000002"
    damaged.write_bytes(Path(SECOND).read_bytes()[:40])
    check(FIRST, damaged)
