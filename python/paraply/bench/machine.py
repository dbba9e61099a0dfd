"""The machine and the server settings of a measurement, so that its figures can be compared with others."""

from __future__ import annotations

import os
import platform
import re
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from paraply.bench.server import BenchServer, text

__all__ = ["Machine", "machine", "server_settings"]

_SETTINGS = (
    "innodb_flush_log_at_trx_commit",
    "sync_binlog",
    "log_bin",
    "innodb_doublewrite",
    "innodb_buffer_pool_size",
    "innodb_redo_log_capacity",
    "innodb_log_file_size",
    "innodb_flush_method",
)


@dataclass(frozen=True, slots=True)
class Machine:
    """This machine.

    Attributes:
        processor: Name of the processor; empty if unknown.
        cores: Cores that this process may use.
        memory_gb: Memory in gigabytes (10^9 bytes); 0 if unknown.
        system: Name and version of the kernel.
    """

    processor: str
    cores: int
    memory_gb: float
    system: str

    def __str__(self) -> str:
        """Return one line for people.

        >>> str(Machine("Xeon", 2, 8.3, "Linux 6.1"))
        'Xeon, 2 cores, 8.3 GB of memory, Linux 6.1'
        """
        memory = f"{self.memory_gb:.1f} GB of memory" if self.memory_gb else ""
        cores = f"{self.cores} core{'s' if self.cores != 1 else ''}"
        return ", ".join(part for part in (self.processor, cores, memory, self.system) if part)

    def as_json(self) -> dict[str, object]:
        """Return the fields for the results file."""
        return asdict(self)


def machine() -> Machine:
    """Return this machine."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    names = re.findall(r"^model name\s*:\s*(.*)$", _read("/proc/cpuinfo"), re.MULTILINE)
    memory = re.search(r"^MemTotal:\s*(\d+) kB", _read("/proc/meminfo"), re.MULTILINE)
    processor = names[0] if names else platform.processor() or platform.machine()
    return Machine(processor, cores, round(int(memory[1]) * 1024 / 1e9, 1) if memory else 0.0, f"{platform.system()} {platform.release()}")


def server_settings(server: BenchServer) -> dict[str, str]:
    """Return the settings of a server that decide how durable and how fast a commit is."""
    names = ", ".join(f"'{name}'" for name in _SETTINGS)
    found = {text(name): text(value) for name, value in server.query(f"SHOW GLOBAL VARIABLES WHERE variable_name IN ({names})")}
    return {name: found[name] for name in _SETTINGS if name in found}


def _read(path: str) -> str:
    with suppress(OSError):
        return Path(path).read_text(encoding="utf-8", errors="replace")
    return ""
