"""Passwords of the command line: gone from the process list, and in no output."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import DATA, paraply, run_json

from paraply.cli.process.secrets import password_places, redacted

LOG = next(DATA.glob("*"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mysql://app:p@ss:w@h:3306/d is gone", "mysql://app:***@h:3306/d is gone"),
        ("mysql:/app:secret@h", "mysql:/app:***@h"),
        ("postgresql://h/d?user=a&password=se%20cret&x=1 and more", "postgresql://h/d?user=a&password=***&x=1 and more"),
        ("at 127.0.0.1:3306, mail@example.org", "at 127.0.0.1:3306, mail@example.org"),
        ("mysql://app@h:3306", "mysql://app@h:3306"),
    ],
)
def test_texts_lose_their_passwords(text: str, expected: str) -> None:
    assert redacted(text) == expected


def test_passwords_are_found_among_arguments() -> None:
    arguments = b"paraply\0apply\0--to=mysql://app:s@cret@h\0postgresql://h/d?sslmode=require&password=two\0"
    assert [arguments[place : place + length] for place, length in password_places(arguments)] == [b"s@cret", b"two"]


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs Linux's /proc")
def test_the_process_list_shows_no_password() -> None:
    program = (
        "import time; from paraply.cli.process.secrets import hide_arguments; hide_arguments(); print('x', flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", program, "--to", "mysql://app:hunter2@h/d"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        shown = Path(f"/proc/{process.pid}/cmdline").read_bytes()
    finally:
        process.kill()
        process.communicate()
    assert b"mysql://app:*******@h/d" in shown
    assert b"hunter2" not in shown


def test_a_url_in_the_place_of_a_log_is_shown_without_its_password() -> None:
    done = paraply("apply", "mysql://app:hunter2@h", "--debug")
    assert done.returncode == 2
    assert "Traceback" in done.stderr
    assert "hunter2" not in done.stdout + done.stderr


def test_a_server_that_is_not_there_is_told_without_the_password(tmp_path: Path) -> None:
    began = time.monotonic()
    for scheme in ("mariadb", "postgresql"):
        outcome = run_json("status", "--to", f"{scheme}://app:hunter2@127.0.0.1:1/d")
        assert (outcome.code, outcome.error["class"]) == (1, "ConnectionFailed")
        assert "hunter2" not in outcome.line + str(outcome.report)
    assert time.monotonic() - began < 60


def test_a_port_in_use_and_a_log_as_timeline_are_told_before_anything_is_written(tmp_path: Path) -> None:
    import socket

    data = tmp_path / "data"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        outcome = run_json("apply", LOG, "--metrics", taken.getsockname()[1], cwd=tmp_path)
    assert (outcome.code, outcome.error["class"]) == (2, "UsageError")
    assert "--metrics" in outcome.line
    assert not data.exists()
    outcome = run_json("apply", LOG, "--metrics", "http", cwd=tmp_path)
    assert (outcome.code, outcome.error["class"]) == (2, "UsageError")
