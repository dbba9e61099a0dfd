"""The command line as a user meets it: a process, its exit code, one line on stderr, one JSON object on stdout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paraply import open_log

DATA = Path(__file__).parent / "data" / "errors"
PACKAGE = Path(__file__).parent.parent / "python"
SECONDS = 60

ERROR_FIELDS = {"class", "message", "file", "position", "gtid"}


@dataclass
class Outcome:
    """Result of a command."""

    code: int
    report: dict[str, Any]
    line: str

    @property
    def error(self) -> dict[str, Any]:
        assert self.report["error"] is not None, self.line
        error: dict[str, Any] = self.report["error"]
        return error


def paraply(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs the command line as it is; never longer than a minute."""
    path = os.pathsep.join([str(PACKAGE), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "COLUMNS": "80", **options.pop("environment", {})}
    command = [sys.executable, "-m", "paraply", *map(str, arguments)]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    return subprocess.run(command, text=True, timeout=SECONDS, env=environment, check=False, **options)


def run_json(*arguments: object, **options: Any) -> Outcome:
    """Runs a command with ``--json`` and checks what holds for every outcome."""
    done = paraply(*arguments, "--json", **options)
    assert "Traceback" not in done.stderr, done.stderr
    assert "defect" not in done.stderr, done.stderr
    lines = done.stderr.splitlines()
    assert done.stdout.count("\n") == 1, done.stdout
    report = json.loads(done.stdout)
    assert {"command", "status", "exit_code", "error", "seconds"} <= set(report)
    assert report["exit_code"] == done.returncode
    assert report["status"] == {0: "done", 4: "stopped"}.get(done.returncode, "failed")
    if done.returncode == 0:
        assert report["error"] is None
    else:
        assert len(lines) == 1, done.stderr
        assert lines[0].startswith(("error: ", "stopped: "))
        assert set(report["error"]) == ERROR_FIELDS
    return Outcome(done.returncode, report, lines[0] if lines else "")


def apply(log: object, url: str, *options: object, **process: Any) -> Outcome:
    """``paraply apply``: whatever its end, it says how far it came."""
    outcome = run_json("apply", log, "--to", url, *options, **process)
    if outcome.code != 2 or "transactions" in outcome.report:
        assert {"transactions", "commits", "skipped", "executed", "fallbacks", "fallback_reasons"} <= set(outcome.report)
    return outcome


def check_failed_at(outcome: Outcome, kind: str, log: Path, transaction: int, *texts: str) -> None:
    """Failed at that transaction of the log, counted from 1, and says so."""
    assert (outcome.code, outcome.error["class"]) == (1, kind), outcome.line
    failed = list(open_log(log))[transaction - 1]
    assert (outcome.error["file"], outcome.error["gtid"], outcome.error["position"]) == (str(log), failed.gtid, failed.offset)
    for text in texts:
        assert text in outcome.line
