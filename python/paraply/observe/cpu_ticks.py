"""Use of this machine's CPUs by all processes."""

from __future__ import annotations

from pathlib import Path

__all__ = ["STAT", "cpu_ticks"]

STAT = Path("/proc/stat")
"""File in which Linux counts CPU ticks."""


def cpu_ticks(stat: Path = STAT) -> tuple[int, int] | None:
    r"""Return all ticks so far, and the ticks in which a CPU was idle or waited for a disk; None where the system does not report them.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     stat = Path(folder) / "stat"
    ...     _ = stat.write_text("cpu  10 0 0 80 10 0 0 0 0 0\n")
    ...     cpu_ticks(stat)
    (100, 90)
    """
    try:
        words = stat.read_text(encoding="ascii").split(None, 9)
        ticks = [int(word) for word in words[1:9]]
    except (OSError, ValueError):
        return None
    return (sum(ticks), ticks[3] + ticks[4]) if len(ticks) > 4 else None
