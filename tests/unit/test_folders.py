"""A folder in place of the logs in it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from paraply import open_log
from paraply.errors import LogNotUnderstood, UsageError
from paraply.logs import beside_logs, log_paths

DATA = Path(__file__).parent.parent.parent / "rust" / "binlog" / "tests" / "data"
LOG = DATA / "mariadb-10.11.000001"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder with two logs, which are not in the order of their names, and other files of a server."""
    for number in ("999999", "1000000"):
        shutil.copyfile(LOG, tmp_path / f"binlog.{number}")
    (tmp_path / "binlog.index").write_text("./binlog.999999\n./binlog.1000000\n")
    (tmp_path / "binlog.1000000.idx").write_bytes(b"")
    (tmp_path / "ibdata1").write_bytes(bytes(4096))
    (tmp_path / ".hidden").write_bytes(LOG.read_bytes())
    (tmp_path / "shop").mkdir()
    return tmp_path


def test_its_logs_are_read_in_the_order_of_their_numbers(folder: Path) -> None:
    expected = [str(folder / "binlog.999999"), str(folder / "binlog.1000000")]
    assert log_paths(folder) == log_paths([str(folder)]) == expected
    assert beside_logs(folder) == []
    assert log_paths([folder, LOG]) == [*expected, str(LOG)]
    (folder / "binlog.1000000").unlink()
    assert len(list(open_log(folder))) == 26


def test_a_folder_without_logs_is_refused(folder: Path) -> None:
    with pytest.raises(UsageError, match="no log in the folder"):
        log_paths(folder / "shop")


def test_logs_of_several_series_are_refused(folder: Path) -> None:
    shutil.copyfile(LOG, folder / "relay-bin.000001")
    with pytest.raises(UsageError, match=r"several series \(binlog, relay-bin\); name those of one, such as .*binlog\.\[0-9\]\*\[0-9\]"):
        log_paths(folder)


@pytest.mark.parametrize(("name", "content"), [("binlog.1000001.gz", b"\x1f\x8b\x08\x00"), ("binlog.1000001", b"")])
def test_a_log_that_cannot_be_read_is_not_passed_over(folder: Path, name: str, content: bytes) -> None:
    (folder / name).write_bytes(content)
    with pytest.raises(UsageError, match=f"{name} is named as one of the logs beside it"):
        log_paths(folder)


@pytest.mark.parametrize("others", [(), ("binlog-000001.ibb",), ("binlog.000001",)])
def test_logs_in_innodb_are_not_passed_over(folder: Path, others: tuple[str, ...]) -> None:
    shop = folder / "shop"
    for name in ("binlog-000000.ibb", *others):
        content = b"\xfe\xfe\x0d\x01" + bytes(508) if name.endswith("ibb") else LOG.read_bytes()
        (shop / name).write_bytes(content)
    with pytest.raises(LogNotUnderstood, match="start the server without binlog_storage_engine") as refused:
        list(open_log(shop))
    assert refused.value.exit_code == 3
