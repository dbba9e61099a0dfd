"""Few bytes of a transaction in memory, so that most transactions of small logs count as large."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from paraply._native import set_most_in_memory

__all__ = ["FEW_BYTES", "command_with", "few_bytes_in_memory"]

FEW_BYTES = 1024
"""Bytes of a transaction in memory; a piece then has an eighth of them, and 32 keys are too many."""

_COMMAND = """
import sys
from paraply._native import set_most_in_memory
from paraply.cli import main
set_most_in_memory(int(sys.argv.pop(1)))
main()
"""


@contextmanager
def few_bytes_in_memory(count: int = FEW_BYTES) -> Iterator[None]:
    """Keep so few bytes of a transaction in memory."""
    before = set_most_in_memory(count)
    try:
        yield
    finally:
        set_most_in_memory(before)


def command_with(count: int, log: Path, url: str, *options: str) -> list[str]:
    """Return the command that applies a log with so few bytes of a transaction in memory."""
    return [sys.executable, "-c", _COMMAND, str(count), "apply", str(log), "--to", url, "--json", *options]
