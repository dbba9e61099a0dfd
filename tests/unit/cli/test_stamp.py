"""``paraply stamp`` and ``paraply verify --scheme fine`` as commands: exit codes, JSON, and what a stop leaves."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from command_line import run_json
from unit.stamp_history import DDL, random_history, write_log
from unit.test_stamp import NATIVE, left

from paraply import open_log


def test_the_report_has_the_fields_of_the_reference(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.000001", random_history(random.Random(1), 50))
    outcome = run_json("stamp", log, "-o", tmp_path / "new", "--workers", "4")
    assert outcome.code == 0, outcome.line
    report = outcome.report
    assert (report["command"], report["status"], report["transactions"]) == ("stamp", "done", len(DDL) + 50)
    assert (report["workers"], report["fallbacks"], report["fallback_reasons"]) == (4, 0, [])
    assert report["files"] == [str(tmp_path / "new" / "log.000001")]
    assert report["bytes"] == log.stat().st_size
    assert 0 == report["parallel_before"] < report["parallel_after"] <= report["changed"] < report["transactions"]
    assert report["barriers"] >= len(DDL)
    verified = run_json("verify", tmp_path / "new" / "log.000001", "--scheme", "fine")
    assert (verified.code, verified.report["different"], verified.report["check"]) == (0, 0, "exact")


def test_wrong_use_ends_with_exit_code_2(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.000001", [])
    for arguments, message in (
        ((NATIVE / "mariadb-10.11.000001", "-o", tmp_path / "new"), "is a log of MariaDB"),
        ((log, "-o", tmp_path), "exists, and is not replaced"),
        ((log,), "--output"),
        ((log, "-o", tmp_path / "new", "--workers", "0"), "--workers"),
        ((tmp_path / "none", "-o", tmp_path / "new"), "there is no log file"),
    ):
        outcome = run_json("stamp", *arguments)
        assert outcome.code == 2
        assert message in outcome.line
    for option in ("--infer-gc", "--server=9.7", "--history=5"):
        assert run_json("verify", log, "--scheme", "fine", option).code == 2


def test_r27_an_incomplete_log_ends_with_exit_code_3_and_the_place(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.000001", random_history(random.Random(1), 50))
    last = list(open_log(log))[-1]
    log.write_bytes(log.read_bytes()[:-31])
    outcome = run_json("stamp", log, "-o", tmp_path / "new")
    assert (outcome.code, outcome.error["class"]) == (3, "LogTruncated")
    assert (outcome.error["file"], outcome.error["position"]) == (str(log), last.offset)
    assert left(tmp_path / "new") == []


def test_a_stop_leaves_no_file(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.000001", random_history(random.Random(1), 50))
    logs = tmp_path / "logs"
    logs.mkdir()
    for number in range(1, 400):
        os.link(log, logs / f"log.{number:06}")
    command = [sys.executable, "-m", "paraply", "stamp", str(logs), "-o", str(tmp_path / "new")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    while not left(tmp_path / "new") and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    messages, _ = process.communicate(timeout=60)
    assert process.returncode == 4, messages
    assert "stopped on request" in messages
    assert left(tmp_path / "new") == []
