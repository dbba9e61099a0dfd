"""``paraply group`` as a user meets it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import PACKAGE, run_json

pytestmark = pytest.mark.postgres


def test_a_run_ends_with_equal_members_and_conflicts_on_hot_rows(tmp_path: Path) -> None:
    outcome = run_json("group", "--members", 2, "--seconds", 2, "--hot-share", 0.9, "--latency", 1, "--data", tmp_path / "group")
    report = outcome.report
    assert outcome.code == 0, outcome.line
    assert report["equal"]
    assert report["committed"] > 0
    assert report["conflicts"] > 0
    assert [row["member_state"] for row in report["members"]] == ["ONLINE", "ONLINE"]
    assert all(row["apply_parallelism"] >= 1 for row in report["members"])
    assert list((tmp_path / "group" / "member1" / "relay.1").glob("relay-group_replication_applier.0*"))


def test_options_that_do_not_fit_are_refused() -> None:
    outcome = run_json("group", "--mode", "none")
    assert (outcome.code, outcome.error["class"]) == (2, "UsageError")
    assert "multi-primary or single-primary" in outcome.line


def test_ctrl_c_ends_the_load_and_still_compares(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(PACKAGE), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", "paraply", "group", "--members", "2", "--seconds", "60", "--data", str(tmp_path / "group"), "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    deadline = time.monotonic() + 40
    relay = tmp_path / "group" / "member2" / "relay.1"
    while time.monotonic() < deadline and sum(file.stat().st_size for file in relay.glob("*.0*")) < 700_000:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 4, err
    report = json.loads(out)
    assert (report["status"], report["error"]["class"]) == ("stopped", "Stopped")
    assert "Traceback" not in err
    assert report["equal"]
