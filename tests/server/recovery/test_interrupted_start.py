"""Ctrl-C before the first transaction: exit code 4, one line, and the same command works afterwards."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from command_line import DATA

from paraply.errors import ConnectionFailed
from paraply.targets.postgres.embedded import EmbeddedPostgres

LOG = DATA / "plain.binlog"
SECONDS = 60


def begun(folder: Path, *options: str) -> subprocess.Popen[str]:
    """Start an apply into an embedded PostgreSQL below the folder, in a process group of its own, as a shell would."""
    command = [sys.executable, "-m", "paraply", "apply", str(LOG), *options]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


class Ended(Exception):
    """The command had done its work before the signal, or had failed without it."""


def interrupted(process: subprocess.Popen[str], number: int = signal.SIGINT) -> str:
    """Send a signal to the whole process group, as Ctrl-C does, and return the lines for people."""
    os.killpg(process.pid, number)
    printed, messages = process.communicate(timeout=SECONDS)
    if " transactions (" in printed or (process.returncode == 1 and "cannot be reached" in messages):
        raise Ended
    assert process.returncode == 4, messages
    assert "defect" not in messages
    assert "Traceback" not in messages
    assert "initdb" not in messages
    assert len(messages.splitlines()) <= 8, messages
    if "--json" in process.args:
        report = json.loads(printed)
        assert (report["command"], report["status"], report["exit_code"]) == ("apply", "stopped", 4)
        assert report["error"]["message"] in " ".join(messages.split())
    return messages


@pytest.mark.parametrize("wait", [0.0, 1.0])
def test_ctrl_c_while_the_embedded_postgresql_is_made(tmp_path: Path, wait: float) -> None:
    for attempt in range(5):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        with suppress(Ended):
            interrupt_after(folder, wait / 2**attempt)
            return
    pytest.fail("each command ended before Ctrl-C")


def interrupt_after(folder: Path, wait: float) -> None:
    """Send Ctrl-C so many seconds after initdb has begun, and run the command again."""
    process = begun(folder)
    data = folder / "paraply-data"
    deadline = time.monotonic() + SECONDS
    while not data.exists() or not any(data.iterdir()):  # initdb works
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.01)
    time.sleep(wait)
    assert "stopped: " in interrupted(process)
    again = begun(folder)
    printed, messages = again.communicate(timeout=SECONDS)
    assert again.returncode == 0, messages
    assert "transactions" in printed


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_before_the_command_has_begun(tmp_path: Path, number: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # it takes the connection and never answers
        process = begun(tmp_path, "--to", f"postgresql://nobody@127.0.0.1:{silent.getsockname()[1]}/x", "--json")
        while not loads(process.pid):
            assert process.poll() is None
            time.sleep(0.005)
        assert "stopped: " in interrupted(process, number)


SILENT = ["postgresql://nobody@127.0.0.1:{port}/x?connect_timeout=2", "mysql://nobody@127.0.0.1:{port}?connect-timeout=2"]
"""URLs of a server that takes a connection and never answers."""


@pytest.mark.parametrize("url", SILENT, ids=["postgresql", "mysql"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_the_target_does_not_answer(tmp_path: Path, url: str, number: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        process = begun(tmp_path, "--to", url.format(port=silent.getsockname()[1]), "--json")
        connection, _ = silent.accept()
        with connection:
            assert "stopped: " in interrupted(process, number)


@pytest.mark.parametrize("url", SILENT, ids=["postgresql", "mysql"])
def test_a_target_that_never_answers_is_given_up(tmp_path: Path, url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        process = begun(tmp_path, "--to", url.format(port=silent.getsockname()[1]))
        _, messages = process.communicate(timeout=SECONDS)
    assert process.returncode == 1
    assert "cannot be reached" in messages


def test_a_source_that_never_answers_is_given_up(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        source = SILENT[1].format(port=silent.getsockname()[1])
        command = [sys.executable, "-m", "paraply", "replicate", "--from", source, "--to", "postgresql://nobody@127.0.0.1:1/x"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=SECONDS)
    assert done.returncode == 1
    assert "the source mysql://nobody" in done.stderr
    assert "cannot be reached" in done.stderr


def test_a_signal_at_any_time_of_the_start_gives_a_report(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        for step in range(12):
            process = begun(tmp_path, "--to", SILENT[0].format(port=silent.getsockname()[1]), "--json")
            while not catches(process.pid):
                assert process.poll() is None
                time.sleep(0.002)
            time.sleep(step * 0.03)
            assert "stopped: " in interrupted(process, signal.SIGTERM)


def catches(number: int) -> bool:
    """Return True once the process has a handler for SIGTERM."""
    line = next(line for line in Path(f"/proc/{number}/status").read_text().splitlines() if line.startswith("SigCgt"))
    return bool(int(line.split()[1], 16) >> (signal.SIGTERM - 1) & 1)


def loads(number: int) -> bool:
    """Return True once the process has mapped the native module, which its first imports load."""
    return "_native" in Path(f"/proc/{number}/maps").read_text()


def test_a_start_that_failed_may_be_repeated(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "PG_VERSION").write_text("18\n")
    server = EmbeddedPostgres(folder)
    for _ in range(2):
        with pytest.raises(ConnectionFailed, match=r"did not start: ."):
            server.start()
    shutil.rmtree(folder)
    folder.mkdir()
    try:
        assert server.start().startswith("postgresql://")
    finally:
        server.stop()
