"""A lake that a stream writes beside a live load, while its driver, its JVM and its workers are killed."""

from __future__ import annotations

import contextlib
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

from paraply.lake import LakeOptions, LakeWriter, publications
from tests.lake_load import Transfers, check_all_states
from tests.required import required_module
from tests.servers import running_mariadb

pytest.importorskip("pyspark")
required_module("deltalake")
required_module("pyiceberg")
pytestmark = [pytest.mark.spark, pytest.mark.mariadb]

KILLS = int(os.environ.get("PARAPLY_LAKE_KILLS", "50"))
FEW = 3
"""Kills in the share of a day: one of each victim."""
SEED = int(os.environ.get("PARAPLY_SEED", "1"))
VICTIMS = ("driver", "JVM", "worker")
STARTS = 400.0
"""Most seconds of a start."""
FOLLOWS = """
import sys
from paraply.spark import lake, session
logs, into, form, checkpoint = sys.argv[1:]
spark = session("kills", where="local[1]", spark__ui__enabled="false", spark__driver__memory="1g")
stream = spark.readStream.format("binlog").option("mode", "rows").option("max_bytes", "200k").load(logs)
lake(stream, into, format=form, checkpoint=checkpoint, batch_rows=300).awaitTermination()
"""


def processes_below(pid: int) -> dict[int, str]:
    """Return the processes that a process has started, and their command lines."""
    parents = {}
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            parents[int(folder.name)] = (int(fields[1]), (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    found: dict[int, str] = {}
    while new := {one: text for one, (parent, text) in parents.items() if parent in {pid, *found} and one not in found}:
        found |= new
    return found


def victim(pid: int, kind: str) -> int | None:
    """Return the process to kill; None if there is no such one at the moment."""
    if kind == "driver":
        return pid
    below = processes_below(pid)
    jvm = [one for one, text in below.items() if "java" in text.partition(" ")[0] and "SparkSubmit" in text]
    workers = [one for one, text in below.items() if "pyspark.daemon" in text or "pyspark/daemon" in text or "plan_data_source" in text]
    chosen = jvm if kind == "JVM" else workers
    return max(chosen) if chosen else None


class Following:
    """The query in a process of its own."""

    def __init__(self, logs: str, into: Path, form: str, checkpoint: Path) -> None:
        self._into, self._form = into, form
        self._below: set[int] = set()
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(PACKAGE), os.environ.get("PYTHONPATH", "")])}
        command = [sys.executable, "-c", FOLLOWS, logs, str(into), form, str(checkpoint)]
        self._before = self._published()
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stdin": subprocess.DEVNULL}
        self._process = subprocess.Popen(command, env=environment, start_new_session=True, **quiet)

    def _published(self) -> int:
        return len(publications(str(self._into), self._form)) if self._into.exists() else 0

    def wait_for_a_state(self) -> bool:
        """Wait until it has published a state; return False if it ended before."""
        ends = time.monotonic() + STARTS
        while self._published() <= self._before and time.monotonic() < ends:
            if self._process.poll() is not None:
                return False
            time.sleep(0.2)
        return self._published() > self._before

    def kill(self, kind: str, chance: random.Random) -> bool:
        """Kill a part of it at some moment, and then all the rest; return False if there was no such part."""
        time.sleep(chance.uniform(0, 3))
        ends = time.monotonic() + 20
        while (found := victim(self._process.pid, kind)) is None and self._process.poll() is None and time.monotonic() < ends:
            time.sleep(0.002)
        self._below |= processes_below(self._process.pid).keys()
        if found is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(found, signal.SIGKILL)
                time.sleep(chance.uniform(0, 4))  # the rest goes on, as on a cluster
        self.end()
        return found is not None

    def end(self) -> None:
        """End it."""
        self._below |= processes_below(self._process.pid).keys()
        for one in (self._process.pid, *self._below):
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
        self._process.wait()


@pytest.mark.timeout(KILLS * 500 + 600)
@pytest.mark.parametrize(
    ("form", "times"),
    [
        pytest.param("delta", FEW, marks=pytest.mark.slow),
        *(pytest.param(form, KILLS, marks=pytest.mark.slow(share=False)) for form in ("delta", "iceberg")),
    ],
)
def test_each_published_state_is_one_of_the_source_whatever_is_killed(tmp_path: Path, form: str, times: int) -> None:
    chance, into = random.Random(f"{SEED} {form}"), tmp_path / "lake"
    kills: Counter[str] = Counter()
    options = ["--log-bin=binlog", "--binlog-format=ROW", "--server-id=1", "--gtid-strict-mode=ON"]
    with running_mariadb(options) as server:
        with Transfers(server, pause=0.05) as load:
            for number in range(times):
                query = Following(f"{server.data}/binlog.0*", into, form, tmp_path / "checkpoint")
                try:
                    began = query.wait_for_a_state()
                    kind = VICTIMS[number % len(VICTIMS)]
                    kills[kind if query.kill(kind, chance) and began else "none"] += 1
                finally:
                    query.end()
                if number % 5 == 4:
                    load.alter()
        LakeWriter(LakeOptions(load.logs(), str(into), form)).run()
        states = check_all_states(into, form, load)
    print(f"{form}: {dict(kills)}, {states} states of {load.transactions:,} transfers")
    assert sum(kills[kind] for kind in VICTIMS) > times // 2
    assert states > times // 2
