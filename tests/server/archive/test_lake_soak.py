"""``lake`` beside a live load, killed again and again: each published state is one state of the source."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from command_line import PACKAGE
from required import required_module
from servers import running_mariadb
from tests.lake_load import Transfers, check_all_states

from paraply.lake import LakeOptions, LakeWriter

required_module("deltalake")
required_module("pyiceberg")

SECONDS = float(os.environ.get("PARAPLY_SOAK", "60"))
SEED = int(os.environ.get("PARAPLY_SEED", "1"))
FORMATS = ("delta", "iceberg")
LIFE = 15.0
"""Most seconds before a writer is killed."""
ALTERS = 40.0
"""Seconds between two changes of the schema."""


def lake_command(logs: list[str], into: Path, form: str) -> list[str]:
    return [sys.executable, "-m", "paraply", "lake", *logs, "--into", str(into), "--format", form, "--batch-rows", "200", "-q"]


def run_until_killed(command: list[str], seconds: float) -> int:
    """Run a command, kill it after some seconds, and return its exit code."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(PACKAGE), os.environ.get("PYTHONPATH", "")])}
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            _, messages = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            _, messages = process.communicate()
        assert process.returncode in (0, -signal.SIGKILL), messages
        return process.returncode


@pytest.mark.mariadb
@pytest.mark.slow(share=False)
@pytest.mark.timeout(SECONDS * 10 + 3600)
def test_each_published_state_is_one_of_the_source_under_load_and_kills(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    codes: Counter[tuple[str, int]] = Counter()
    with running_mariadb(["--log-bin=binlog", "--binlog-format=ROW", "--server-id=1", "--gtid-strict-mode=ON"]) as server:
        with Transfers(server) as load:
            began = altered = time.monotonic()
            while time.monotonic() < began + SECONDS:
                form = FORMATS[sum(codes.values()) % 2]
                code = run_until_killed(lake_command(load.logs(), tmp_path / form, form), chance.uniform(0.3, LIFE))
                codes[form, code] += 1
                if time.monotonic() > altered + ALTERS:
                    load.alter()
                    altered = time.monotonic()
        for form in FORMATS:
            done = LakeWriter(LakeOptions(load.logs(), str(tmp_path / form), form, batch_rows=2000)).run()
            assert done.executed == str(server.sql("SELECT @@gtid_binlog_pos")[0][0])
            states = check_all_states(tmp_path / form, form, load)
            kills = codes[form, -signal.SIGKILL]
            print(f"{form}: {kills} kills, {codes[form, 0]} ends, {states} states of {load.transactions:,} transfers")
            assert kills
            assert states > 1
