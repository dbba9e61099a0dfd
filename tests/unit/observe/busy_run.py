"""Counters of a run with two workers, one of them at work."""

from __future__ import annotations

from paraply.observe.counters import Counters, WorkerCounters
from paraply.observe.status_json import RunIdentity

__all__ = ["BUSY", "IDENTITY"]

BUSY = Counters(
    seconds=2.5, read=900, queue=3, transactions=800, rows=3000, rate=320.123456789, running=1, waiting_turn=1,
    committed_at=1_700_000_000_500_000, lag=12.5, last_gtid="u:1", handed_gtid="u:2",
    handed_committed_at=1_700_000_001_000_000, handed_at=1_800_000_000.0, seconds_left=4.0,
    workers=(
        WorkerCounters(0, state="Applying", block=7, gtid="u:3", began=1_800_000_001.0, committed_at=1_700_000_000_000_000, tries=2),
        WorkerCounters(1, last_gtid="u:1", last_committed_at=1_700_000_000_500_000, last_began=1.0, last_ended=2.0),
    ),
)  # fmt: skip
IDENTITY = RunIdentity('odd "name"\\\n', ("/logs/binlog.000001",), 2, "dependency", "any-time", "record")
