"""A command of paraply as a process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from command_line import PACKAGE
from server.waiting import wait_until

__all__ = ["Process"]


class Process:
    """A command of paraply that can be killed and started again.

    Args:
        errors: File for what it writes to stderr.
        arguments: Command and options.
    """

    ready = ""
    """Text of its output once it is ready."""

    def __init__(self, errors: Path, arguments: Sequence[object]) -> None:
        self._errors = errors
        self._environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(PACKAGE), os.environ.get("PYTHONPATH", "")])}
        self._command = [sys.executable, "-m", "paraply", *map(str, arguments), "--json"]
        self.process = self._start()

    def _start(self) -> subprocess.Popen[str]:
        before = self.messages().count(self.ready)
        with self._errors.open("a") as file:
            process = subprocess.Popen(self._command, env=self._environment, stdout=subprocess.PIPE, stderr=file, text=True)
        if self.ready:
            wait_until(lambda: self.messages().count(self.ready) > before or process.poll() is not None, "the command is ready")
            assert process.poll() is None, self.messages()
        return process

    def messages(self) -> str:
        """Return its stderr."""
        return self._errors.read_text() if self._errors.exists() else ""

    def kill(self) -> None:
        """Kill it, and start it again."""
        assert self.process.poll() is None, self.messages()
        self.process.kill()
        self.process.communicate()
        self.process = self._start()

    def end(self) -> int:
        """Stop it with Ctrl-C, and return its exit code."""
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=30)
        return self.process.returncode
