"""CPU time of a database server on this machine: of all processes that run in its data folder."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

__all__ = ["server_cpu"]

_PROC = Path("/proc")


def server_cpu(data: Path | None) -> float | None:
    """Return the CPU seconds that a server has used so far, including its ended child processes.

    MySQL, MariaDB and every process of PostgreSQL run in the data folder. So this finds them in a container or a changed root too.

    Args:
        data: The data folder; None if unknown.

    Returns:
        None if the system does not report it, or no process of that folder is visible.
    """
    if data is None or not _PROC.is_dir():
        return None
    try:
        wanted = data.stat()
    except OSError:
        return None
    ticks = [_ticks(process) for process in _PROC.iterdir() if process.name.isdecimal() and _runs_in(process, wanted)]
    return sum(ticks) / os.sysconf("SC_CLK_TCK") if ticks else None


def _runs_in(process: Path, folder: os.stat_result) -> bool:
    with suppress(OSError):
        return os.path.samestat((process / "cwd").stat(), folder)
    return False


def _ticks(process: Path) -> int:
    """Return user and system time of a process and of its waited-for children, in clock ticks (proc(5), fields 14 to 17 of ``stat``)."""
    with suppress(OSError, ValueError):
        fields = (process / "stat").read_text().rpartition(")")[2].split()
        return sum(int(field) for field in fields[11:15])
    return 0
