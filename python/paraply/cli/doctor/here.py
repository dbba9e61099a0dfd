"""Checks of this machine: the folder of the relay log, and Python's packages."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from paraply.cli.doctor.finding import Finding, error, good, warning

__all__ = ["check_here"]

_LEAST_BYTES = 100 << 20
_FEW_BYTES = 2 << 30


def check_here(relay_log: Path | None) -> list[Finding]:
    """Return the findings on this machine.

    Args:
        relay_log: Folder of the relay log; None if it is not of interest.
    """
    if relay_log is None:
        return []
    folder = next(place for place in (relay_log, *relay_log.resolve().parents) if place.is_dir())
    if not os.access(folder, os.W_OK | os.X_OK):
        return [error("relay log", f"{folder} cannot be written to", f"$ chown $(id -un) {folder}")]
    free = shutil.disk_usage(folder).free
    text = f"{free / 1e9:,.1f} GB are free in {folder}"
    if free < _LEAST_BYTES:
        return [error("relay log", f"{text}; a full disk ends the receiver", "$ free some space, or name another --relay-log")]
    if free < _FEW_BYTES:
        return [warning("relay log", f"{text}; what is received and not applied must fit there")]
    return [good("relay log", text)]
