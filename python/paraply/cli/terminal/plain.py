"""Text on standard output, without the library of the command line."""

from __future__ import annotations

import contextlib
import os
import sys

__all__ = ["print_text"]


def print_text(text: str) -> None:
    """Print a text; end the process with exit code 1 if the output takes none, as on a full disk.

    A reader that has closed its end, as ``head`` does, is no error.
    """
    try:
        print(text, flush=True)
    except OSError as error:
        with contextlib.suppress(OSError, ValueError):  # else the interpreter's own flush at the end fails again
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return
        print(f"error: {error.strerror or error} (standard output)", file=sys.stderr)
        sys.exit(1)
