"""R27: encrypted logs, with the keys of the server that wrote them."""

from __future__ import annotations

import gzip
import shutil
import stat
from pathlib import Path

import pytest

from paraply import open_log
from paraply.errors import LogDamaged, LogError, LogNotUnderstood, UsageError
from paraply.logs import log_paths
from paraply.logs.inputs.keyring import KEYRING, keys_of

DATA = Path(__file__).parents[2] / "rust" / "binlog" / "tests" / "data" / "encrypted"
LOGS = {
    "mysql-9.7.000001": "mysql-9.7.keyring",
    "mysql-9.7.000003": "mysql-9.7.keyring",
    "mariadb-10.11-cbc.000001": "mariadb-10.11.keys",
    "mariadb-10.11-ctr.000001": "mariadb-10.11.keys",
    "mariadb-10.11-none.000003": "mariadb-10.11.keys",
}


def described(path: Path) -> list[tuple[object, ...]]:
    """Return the identity of each transaction of a log."""
    return [(found.gtid, found.rows, found.tables, found.offset, found.end_offset) for found in open_log(path)]


@pytest.mark.parametrize("name", LOGS)
def test_r27_an_encrypted_log_has_the_transactions_of_the_plain_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    monkeypatch.setenv(KEYRING, str(DATA / LOGS[name]))
    plain = described(DATA / f"{name}.plain")
    assert len(plain) >= 1
    assert described(DATA / name) == plain
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress((DATA / name).read_bytes()))
    assert described(packed) == plain


def test_r27_a_plain_copy_belongs_to_its_owner_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEYRING, str(DATA / "mysql-9.7.keyring"))
    (copy,) = (Path(path) for path in log_paths(DATA / "mysql-9.7.000001"))
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert stat.S_IMODE(copy.parent.stat().st_mode) == 0o700
    assert copy.name == "mysql-9.7.000001"


@pytest.mark.parametrize("name", LOGS)
def test_r27_without_a_keyring_the_log_is_refused_with_the_way_out(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.delenv(KEYRING, raising=False)
    with pytest.raises(LogNotUnderstood, match=KEYRING):
        list(open_log(DATA / name))


def test_r27_the_keyring_of_another_server_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    other = tmp_path / "keys"
    other.write_text("1;" + "ab" * 32)
    monkeypatch.setenv(KEYRING, str(other))
    with pytest.raises(LogNotUnderstood, match="does not hold"):
        list(open_log(DATA / "mysql-9.7.000001"))
    with pytest.raises(LogNotUnderstood, match="does not fit"):
        list(open_log(DATA / "mariadb-10.11-cbc.000001"))


def test_r27_damage_of_an_encrypted_log_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, keyring in LOGS.items():
        monkeypatch.setenv(KEYRING, str(DATA / keyring))
        damaged = tmp_path / name
        shutil.copy(DATA / name, damaged)
        content = bytearray(damaged.read_bytes())
        if "none" in name:  # without checksums only the structure tells
            damaged.write_bytes(content[:-7])
            with pytest.raises(LogError):
                list(open_log(damaged))
        else:
            content[-40] ^= 1
            damaged.write_bytes(content)
            with pytest.raises(LogDamaged):
                list(open_log(damaged))


@pytest.mark.parametrize("content", [b"", b"not a keyring", b"{}", b"[1]", b'{"elements": [{"data_id": "a", "data": "xyz"}]}', b"\xff\xfe"])
def test_r27_another_file_is_no_keyring(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "keyring"
    path.write_bytes(content)
    with pytest.raises(UsageError, match="no key was found"):
        keys_of(path)


def test_r27_a_missing_keyring_and_an_encrypted_one_are_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        keys_of(tmp_path / "missing")
    (tmp_path / "salted").write_bytes(b"Salted__12345678")
    with pytest.raises(UsageError, match="openssl enc -d"):
        keys_of(tmp_path / "salted")
