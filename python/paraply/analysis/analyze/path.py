"""The critical path with the names of its transactions and keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.analysis.analyze.result import CriticalPath, KeySteps, PathStep

if TYPE_CHECKING:
    from paraply._native import Costs, Recording
    from paraply.analysis.analyze.names import KeyNames

__all__ = ["critical_path"]

SHOWN = 20
"""Transactions and keys that are listed."""


def critical_path(recording: Recording, costs: Costs, names: KeyNames, serial_ns: int) -> CriticalPath:
    """Return the longest chain of transactions that wait for one another."""
    chain = recording.critical_path(costs, SHOWN)
    largest = tuple(step(recording, costs, names, one.transaction, one.key) for one in chain.largest)
    keys = tuple(KeySteps(names.name(one.key), one.steps) for one in chain.keys)
    share = chain.total_ns / serial_ns if serial_ns else 0.0
    return CriticalPath(chain.total_ns / 1e9, chain.steps, round(share, 4), largest, keys)


def step(recording: Recording, costs: Costs, names: KeyNames, index: int, key: int | None) -> PathStep:
    """Return one transaction of it."""
    found = recording.transaction(index)
    waits_for = None if key is None else names.name(key)
    return PathStep(found.gtid, found.file, found.position, found.rows, found.bytes, recording.time_of(costs, index) / 1e9, waits_for)
