"""Brings faults back that were mended, one after the other, and runs the test of each, which has to fail."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from past_faults.faults import FAULTS, ROOT, Fault, planted

__all__ = ["finds", "main"]

TEST_SECONDS = 300


def main(arguments: list[str] | None = None) -> int:
    """Run the command; 1 if a fault is not found."""
    parser = argparse.ArgumentParser(prog="python -m past_faults", description=__doc__)
    parser.add_argument("--only", default="", help="part of the commit's subject, the file or the test")
    options = parser.parse_args(arguments)
    chosen = [one for one in FAULTS if options.only in f"{one.mended} {one.file} {one.test}"]
    found = 0
    with tempfile.TemporaryDirectory(prefix="paraply-past-") as folder:
        package = copied(Path(folder))
        for fault in chosen:
            is_found = finds(fault, package)
            found += is_found
            print(f"{'found  ' if is_found else 'MISSED '} {fault.mended}: {fault.test.rpartition('::')[2]}", flush=True)
    print(f"{found} of {len(chosen)} past faults are found")
    return found < len(chosen)


def copied(folder: Path) -> Path:
    """Copy the package into a folder; return the copy."""
    return Path(shutil.copytree(ROOT / "python" / "paraply", folder / "paraply", ignore=shutil.ignore_patterns("__pycache__")))


def finds(fault: Fault, package: Path) -> bool:
    """Return True if the test fails with the fault.

    Args:
        fault: The fault.
        package: A copy of the package.
    """
    environment = {**os.environ, "PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", fault.test]
    with planted(fault, package):
        try:
            done = subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True, timeout=TEST_SECONDS)
        except subprocess.TimeoutExpired:
            return True
    return done.returncode == 1
