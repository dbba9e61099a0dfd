"""Mistakes in the use of the commands: exit 2 (a server that is not there: 1), one line, no server needed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from command_line import DATA, paraply, run_json

LOG = DATA / "plain.binlog"
NOWHERE = "postgresql://nobody@127.0.0.1:1/x"

OPTIONS = [
    (["--workers", "-1"], "--workers"),
    (["--workers", "many"], "--workers"),
    (["--policy", "nonsense"], "policy 'nonsense' does not exist"),
    (["--policy", "unordered"], "goes only with consistency 'eventual'"),
    (["--policy", "logical-clock", "--merge", "8"], "--merge off"),
    (["--policy", "optimistic", "--consistency", "eventual"], "needs commits in order"),
    (["--policy", "table", "--consistency", "most-of-the-time"], "goes only with consistency 'eventual'"),
    (["--consistency", "nonsense"], "consistency 'nonsense' does not exist"),
    (["--merge", "0"], "--merge 0"),
    (["--merge", "some"], "--merge some"),
    (["--merge", "4", "--gtid", "preserve"], "cannot merge"),
    (["--gtid", "nonsense"], "--gtid nonsense"),
    (["--start-after", "nonsense"], "--start-after 'nonsense' is not a GTID set"),
    (["--channel", ""], "--channel ''"),
    (["--channel", "-x"], "--channel '-x'"),
    (["--channel", "x" * 65], "--channel"),
    (["--ddl-done", "--ddl-not-done"], "exclude each other"),
    (["--schema", "/no/such/dump.sql"], "/no/such/dump.sql"),
    (["--nonsense"], "No such option: --nonsense"),
]


@pytest.mark.parametrize(("options", "message"), OPTIONS, ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_r21a_wrong_options_are_refused_before_anything_is_opened(options: list[str], message: str) -> None:
    outcome = run_json("apply", LOG, "--to", NOWHERE, *options)
    assert outcome.code == 2
    assert outcome.error["class"] == "UsageError"
    assert message in outcome.line


URLS = [
    ("oracle://localhost", "unknown target oracle://"),
    ("", "unknown target"),
    ("mysql:/x", "mysql://"),
    ("mysql://app:s3cret@host:port/", "host or port"),
    ("mysql://app:s3cret@127.0.0.1?nonsense=1", "nonsense"),
    ("mysql://app:s3cret@127.0.0.1?tls=maybe", "tls=maybe"),
    ("postgresql://[", "cannot be read"),
    ("postgresql://app:s3cret@host:port/", "port"),
    ("postgresql://app:s3@cret@host/", "%40"),
    ("postgresql://app:s3cret@127.0.0.1/x?nonsense=1", "nonsense"),
]


@pytest.mark.parametrize(("url", "message"), URLS)
def test_malformed_urls_are_refused_without_showing_a_password(url: str, message: str) -> None:
    outcome = run_json("apply", LOG, "--to", url)
    assert outcome.code == 2
    assert message in outcome.line
    assert "cret" not in outcome.line


@pytest.mark.parametrize(
    "url",
    ["mysql://app:s3cret@127.0.0.1:1", "mariadb://app:s3cret@localhost?socket=/no/such.sock", "postgresql://app:s3cret@127.0.0.1:1/x"],
)
def test_a_server_that_is_not_there(url: str) -> None:
    outcome = run_json("apply", LOG, "--to", url)
    assert outcome.code == 1
    assert outcome.error["class"] == "ConnectionFailed"
    assert "cannot be reached" in outcome.line
    assert "check host, port and socket" in outcome.line
    assert "s3cret" not in outcome.line
    assert (outcome.report["transactions"], outcome.report["executed"]) == (0, None)


@pytest.mark.parametrize("command", ["apply", "verify"])
def test_logs_that_are_no_files(command: str, tmp_path: Path) -> None:
    missing = run_json(command, tmp_path / "missing")
    assert (missing.code, missing.error["class"], missing.error["file"]) == (2, "UsageError", str(tmp_path / "missing"))
    folder = run_json(command, tmp_path)
    assert (folder.code, folder.error["class"], folder.error["file"]) == (2, "UsageError", str(tmp_path))


@pytest.mark.parametrize("command", ["apply", "verify"])
@pytest.mark.parametrize(
    "content", [b"", b"\xfe", b"\xfebin", b"-- a dump\n" * 10, b"\x1f\x8b\x08 packed", b"\xfd\x62\x69\x6e" + bytes(512)]
)
def test_r27_files_that_are_no_logs(command: str, content: bytes, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(content)
    outcome = run_json(command, log, *(["--to", NOWHERE] if command == "apply" else []))
    if content == b"\xfebin":  # a log that the server has only just opened
        assert outcome.code in (0, 3)
        return
    assert outcome.code == 3
    assert outcome.error["file"] == str(log)
    assert outcome.error["position"] is not None


def test_r27_an_encrypted_log_says_how_to_get_a_plain_one(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"\xfd\x62\x69\x6e" + bytes(508) + b"x" * 100)
    outcome = run_json("verify", log)
    assert outcome.code == 3
    assert "encrypted" in outcome.line


@pytest.mark.parametrize("options", [["--floor"], ["--brief"], ["--postgres", NOWHERE]], ids=lambda options: options[0])
def test_the_bench_refuses_options_of_loads_without_loads(options: list[str]) -> None:
    outcome = run_json("bench", *options)
    assert outcome.code == 2
    assert "name some with --loads" in outcome.error["message"]


def test_an_unknown_command_and_no_command() -> None:
    outcome = run_json("frob")
    assert (outcome.code, outcome.report["command"]) == (2, None)
    assert "frob" in outcome.line
    assert paraply().returncode == 2


def test_verify_without_numbers_to_compare_and_with_other_numbers() -> None:
    outcome = run_json("verify", LOG)  # a source's own log, and by default verified as one
    assert (outcome.code, outcome.report["scheme"], outcome.report["different"]) == (0, "writeset", 0)
    outcome = run_json("verify", LOG, "--scheme", "group")
    assert (outcome.code, outcome.error["class"]) == (1, "NumbersDiffer")
    assert outcome.report["different"] == outcome.report["transactions"] == 7
    assert outcome.error["gtid"].endswith(":1")


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_output_that_cannot_be_written_does_not_change_the_exit_code(options: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = paraply("verify", LOG, "--scheme", "group", *options, stdout=full)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1, done.stderr


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_reader_that_is_gone_does_not_change_the_exit_code(options: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = paraply("verify", LOG, "--scheme", "group", *options, stdout=writing, stderr=subprocess.PIPE)
    finally:
        os.close(writing)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1, done.stderr
