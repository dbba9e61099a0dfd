"""Logs that are compressed, come from standard input, or are in a storage of the cloud."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from paraply import open_log
from paraply.errors import ConnectionFailed, LogDamaged, LogTruncated, ParaplyError, UsageError
from paraply.logs import log_paths
from tests.object_storage import environment, storage_server
from tests.required import missing

__all__ = ["storage_server"]

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[2]
LOG = ROOT / "rust" / "binlog" / "tests" / "data" / "mariadb-10.11.000001"


def command(name: str) -> Callable[[bytes], bytes]:
    """Compression by a program of the system."""

    def packed(data: bytes) -> bytes:
        if shutil.which(name) is None:
            missing(f"there is no {name}")
        return subprocess.run([name, "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout

    return packed


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": command("zstd"),
    "lz4": command("lz4"),
}


def gtids(*logs: Path | str) -> list[str]:
    return [str(transaction.gtid) for transaction in open_log([str(log) for log in logs])]


@pytest.fixture(scope="module")
def plain() -> list[str]:
    found = gtids(LOG)
    assert found
    return found


@pytest.mark.parametrize("ending", PACKERS)
def test_a_compressed_log_is_read_whatever_its_name_is(tmp_path: Path, plain: list[str], ending: str) -> None:
    packed = PACKERS[ending](LOG.read_bytes())
    for name in (f"binlog.000001.{ending}", "backup"):
        tmp_path.joinpath(name).write_bytes(packed)
        assert gtids(tmp_path / name) == plain
    (copy,) = log_paths(tmp_path / f"binlog.000001.{ending}")
    assert Path(copy).name == "binlog.000001"
    assert log_paths(tmp_path / f"binlog.000001.{ending}") == [copy], "it is unpacked once"


@pytest.mark.parametrize("ending", PACKERS)
def test_parts_that_were_compressed_apart_are_one_log(tmp_path: Path, plain: list[str], ending: str) -> None:
    data, pack = LOG.read_bytes(), PACKERS[ending]
    tmp_path.joinpath("log").write_bytes(pack(data[:100]) + pack(data[100:]))
    assert gtids(tmp_path / "log") == plain


@pytest.mark.parametrize("ending", PACKERS)
def test_a_compressed_log_that_is_cut_off_is_refused(tmp_path: Path, ending: str) -> None:
    packed = PACKERS[ending](LOG.read_bytes())
    tmp_path.joinpath("log").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(LogDamaged, match=r"log is (cut off|damaged).*fetch the file again") as raised:
        log_paths(tmp_path / "log")
    assert raised.value.file == str(tmp_path / "log")
    assert raised.value.exit_code == 3


@pytest.mark.parametrize("ending", PACKERS)
def test_a_cut_is_found_wherever_it_is(tmp_path: Path, ending: str) -> None:
    packed = PACKERS[ending](b"a log, but a short one; " * 9)
    for length in range(6, len(packed)):
        tmp_path.joinpath("log").write_bytes(packed[:length])
        with pytest.raises(LogTruncated):
            log_paths(tmp_path / "log")


@pytest.mark.parametrize("ending", PACKERS)
def test_damage_inside_of_compressed_data_is_found(tmp_path: Path, ending: str) -> None:
    packed = bytearray(PACKERS[ending](LOG.read_bytes()))
    middle = len(packed) // 2
    packed[middle : middle + 8] = bytes(byte ^ 0x5A for byte in packed[middle : middle + 8])
    tmp_path.joinpath("log").write_bytes(packed)
    with pytest.raises(ParaplyError) as raised:
        gtids(tmp_path / "log")
    assert raised.value.exit_code == 3


def test_a_folder_may_hold_compressed_and_plain_logs(tmp_path: Path) -> None:
    data = LOG.read_bytes()
    tmp_path.joinpath("binlog.000002").write_bytes(data)
    tmp_path.joinpath("binlog.000001.gz").write_bytes(gzip.compress(data))
    tmp_path.joinpath("binlog.000010.xz").write_bytes(lzma.compress(data))
    tmp_path.joinpath("notes.txt.gz").write_bytes(gzip.compress(b"no log"))
    tmp_path.joinpath("half.sql.gz").write_bytes(gzip.compress(b"no log either")[:12])
    assert [Path(path).name for path in log_paths(tmp_path)] == ["binlog.000001", "binlog.000002", "binlog.000010"]
    tmp_path.joinpath("binlog.000002.gz").write_bytes(gzip.compress(data))
    with pytest.raises(UsageError, match="are one log; remove one"):
        log_paths(tmp_path)


def test_an_index_file_gives_the_order_of_the_server(tmp_path: Path) -> None:
    for number in (2, 999_999, 1_000_000):
        shutil.copy(LOG, tmp_path / f"binlog.{number:06}")
    tmp_path.joinpath("binlog.000002").rename(tmp_path / "binlog.000002.old")
    tmp_path.joinpath("binlog.000002.gz").write_bytes(gzip.compress(LOG.read_bytes()))
    index = tmp_path / "binlog.index"
    index.write_text("./binlog.999999\n/var/lib/mysql/binlog.1000000\nbinlog.000002\n")
    assert [Path(path).name for path in log_paths(index)] == ["binlog.999999", "binlog.1000000", "binlog.000002"]
    index.write_text("./binlog.000017\n")
    with pytest.raises(UsageError, match=r"lists binlog\.000017, which is neither there nor in"):
        log_paths(index)
    index.write_text("\n")
    with pytest.raises(UsageError, match="lists no logs"):
        log_paths(index)


def test_an_index_file_beside_logs_is_skipped(tmp_path: Path) -> None:
    shutil.copy(LOG, tmp_path / "binlog.000001")
    tmp_path.joinpath("binlog.index").write_text("binlog.000077\n")
    assert log_paths([tmp_path / "binlog.000001", tmp_path / "binlog.index"]) == [str(tmp_path / "binlog.000001")]


@pytest.mark.parametrize("packed", [False, True])
def test_a_log_from_standard_input_is_read(plain: list[str], packed: bool) -> None:
    data = LOG.read_bytes()
    program = "import paraply, sys; print(*[one.gtid for one in paraply.open_log('-')])"
    done = subprocess.run(
        [sys.executable, "-c", program], input=gzip.compress(data) if packed else data, capture_output=True, check=True, cwd=ROOT
    )
    assert done.stdout.decode().split() == plain


def test_a_pipe_is_read(tmp_path: Path, plain: list[str]) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(LOG.read_bytes()))
    writer.start()
    assert gtids(pipe) == plain
    writer.join()


def test_copies_are_removed_with_the_process(tmp_path: Path) -> None:
    tmp_path.joinpath("log.gz").write_bytes(gzip.compress(LOG.read_bytes()))
    program = f"from paraply.logs import log_paths; print(*log_paths({str(tmp_path / 'log.gz')!r}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
    copy = Path(done.stdout.strip())
    assert copy.name == "log"
    assert not copy.parent.parent.exists()


@pytest.fixture
def bucket(storage_server: str, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, bytes], None]:
    """Function that puts an object into the bucket `logs`."""
    for name, value in environment(storage_server).items():
        monkeypatch.setenv(name, value)
    import boto3  # type: ignore[import-untyped]
    from obstore.store import from_url

    boto3.client("s3").create_bucket(Bucket="logs")
    store = from_url("s3://logs/", client_options={"allow_http": True})
    return lambda name, data: store.put(name, data) and None


def test_a_log_in_a_bucket_is_read(bucket: Callable[[str, bytes], None], plain: list[str]) -> None:
    data = LOG.read_bytes()
    bucket("a/binlog.000001", data)
    bucket("a/binlog.000002.gz", gzip.compress(data))
    bucket("a/binlog.index", b"x")
    bucket("b/other.000001", data)
    assert gtids("s3://logs/a/binlog.000002.gz") == plain
    assert [Path(path).name for path in log_paths("s3://logs/a/")] == ["binlog.000001", "binlog.000002"]
    assert gtids("s3://logs/a/") == plain * 2


def test_what_is_missing_in_a_bucket_is_named(bucket: Callable[[str, bytes], None]) -> None:
    with pytest.raises(UsageError, match="there is no object s3://logs/none"):
        log_paths("s3://logs/none")
    with pytest.raises(UsageError, match="s3://logs/empty/ holds no logs"):
        log_paths("s3://logs/empty/")
    with pytest.raises(UsageError, match="logs are read from s3://"):
        log_paths("ftp://server/binlog.000001")


def test_a_storage_that_is_away_is_named_without_secrets(bucket: Callable[[str, bytes], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(ConnectionFailed, match=r"s3://logs/a cannot be read.*AWS_ENDPOINT_URL") as raised:
        log_paths("s3://logs/a")
    assert "hidden-key" not in str(raised.value)


class Web(BaseHTTPRequestHandler):
    """A web server with one log, for those who know the password or the signature."""

    def do_GET(self) -> None:
        allowed = self.headers.get("Authorization") == "Basic bWU6cyBjcmV0" or self.path.endswith("?signature=abc")
        data = gzip.compress(LOG.read_bytes())
        if "missing" in self.path:
            self.send_error(404)
        elif not allowed:
            self.send_error(403)
        else:
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[: len(data) // 2] if "cut" in self.path else data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@pytest.fixture(scope="module")
def web() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Web)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_log_of_a_web_server_is_read(web: str, plain: list[str]) -> None:
    assert gtids(f"http://{web}/backup/binlog.000001.gz?signature=abc") == plain
    assert gtids(f"http://me:s%20cret@{web}/binlog.000001.gz") == plain


def test_errors_of_a_web_server_name_the_file_without_secrets(web: str) -> None:
    cases: list[tuple[str, type[ParaplyError], str]] = [
        (f"http://me:secret@{web}/binlog.000001?signature=xyz", ConnectionFailed, "cannot be read: HTTP status 403"),
        (f"http://me:secret@{web}/missing?signature=xyz", UsageError, f"there is no file http://{web}/missing"),
        (f"http://{web}/cut?signature=abc", LogTruncated, "bytes too early; try again"),
        ("http://me:secret@127.0.0.1:9/binlog.000001?signature=xyz", ConnectionFailed, "cannot be read: .*refused; check the address"),
        (f"http://{web}/folder/", UsageError, "gives no list of its files"),
    ]
    for url, kind, message in cases:
        with pytest.raises(kind, match=message) as raised:
            log_paths(url)
        assert "secret" not in str(raised.value)
        assert "xyz" not in str(raised.value)
