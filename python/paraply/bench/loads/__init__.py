"""Loads of the bench: five of its own, three of sysbench, and one like TPC-C."""

from __future__ import annotations

from paraply.bench.loads.five import FIVE
from paraply.bench.loads.load import DATABASE, Load, Session
from paraply.bench.loads.sysbench import TABLE_SIZE, sysbench_loads
from paraply.bench.loads.tpcc import WAREHOUSES, tpcc_load

__all__ = ["DATABASE", "LOADS", "Load", "Session", "load_names", "loads_of"]


def loads_of(*, table_size: int = TABLE_SIZE, warehouses: int = WAREHOUSES) -> dict[str, Load]:
    """Return all loads by name.

    Args:
        table_size: Rows of each table of the sysbench loads.
        warehouses: Warehouses of the load ``tpcc``.
    """
    yardsticks = (*sysbench_loads(table_size), tpcc_load(warehouses))
    return FIVE | {load.name: load for load in yardsticks}


LOADS = loads_of()
"""Loads of the default sizes, by name."""


def load_names(text: str) -> list[str]:
    """Return the loads named in ``--loads``.

    Raises:
        ValueError: A load does not exist.

    >>> load_names("all") == list(LOADS), load_names("oltp, inserts")
    (True, ['oltp', 'inserts'])
    """
    names = list(LOADS) if text == "all" else [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in LOADS]
    if unknown or not names:
        raise ValueError(f"unknown load {', '.join(unknown) or '(none given)'}: choose from {', '.join(LOADS)}, or all")
    return names
