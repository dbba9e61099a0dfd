"""A run as one JSON object, for ``paraply status`` and ``/status``.

``coordinator`` and ``workers`` have the columns of MySQL's ``performance_schema.replication_applier_status_by_coordinator`` and
``_by_worker``, as far as they apply here: "processing" is the last block handed out, "applying" a worker's present block.
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass, field, fields
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from paraply.logs.stop_point import moment_text
from paraply.runtime import runtime

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paraply.observe.counters import Counters, WorkerCounters

__all__ = ["RunIdentity", "status_object"]

_ROUNDED = ("seconds", "rate", "lag", "seconds_left")


@dataclass(frozen=True, slots=True)
class RunIdentity:
    """Identity of a run.

    Attributes:
        channel: Name of its progress in the target.
        logs: The log files.
        workers: Number of parallel workers.
        policy: Its policy.
        consistency: Its consistency level.
        gtid_mode: The GTID mode in force.
        stop: The stop in the user's words; empty for none.
        host: The machine on which it runs.
        pid: Its process id.
        started: Start time, seconds since 1970.
    """

    channel: str
    logs: Sequence[str] = ()
    workers: int = 0
    policy: str = ""
    consistency: str = ""
    gtid_mode: str = ""
    stop: str = ""
    host: str = field(default_factory=socket.gethostname)
    pid: int = field(default_factory=os.getpid)
    started: float = field(default_factory=lambda: runtime.now())


def status_object(
    identity: RunIdentity, counters: Counters, *, outcome: str | None = None, error: BaseException | None = None
) -> dict[str, Any]:
    """Return the JSON object of a run.

    Args:
        identity: The run's identity.
        counters: The run's present counters.
        outcome: ``done``, ``stopped`` or ``failed``; None while it runs.
        error: The error that ended it, if any.
    """
    from paraply._version import __version__

    running = outcome is None
    return {
        "version": __version__,
        "host": identity.host,
        "pid": identity.pid,
        "started_at": _moment(identity.started),
        "outcome": outcome,
        "error": None if error is None else {"class": type(error).__name__, "message": str(error)},
        "logs": [PurePath(path).name for path in identity.logs],
        "stop": identity.stop or None,
        "policy": identity.policy,
        "consistency": identity.consistency,
        "gtid_mode": identity.gtid_mode,
        "counters": _counters(counters),
        "coordinator": _coordinator(identity.channel, counters, running=running, error=error),
        "workers": [_worker(identity.channel, worker, running=running) for worker in counters.workers],
    }


def _counters(counters: Counters) -> dict[str, Any]:
    names = (field.name for field in fields(counters) if field.name != "workers" and not field.name.startswith("handed_"))
    values = {name: getattr(counters, name) for name in names}
    for name in _ROUNDED:
        if values[name] is not None:
            values[name] = round(values[name], 3)
    values["foreign_blockers"] = list(counters.foreign_blockers)
    values["committed_at"] = _source_moment(counters.committed_at)
    return values


def _coordinator(channel: str, counters: Counters, *, running: bool, error: BaseException | None) -> dict[str, Any]:
    return {
        "channel_name": channel,
        "service_state": "ON" if running else "OFF",
        "last_error_message": "" if error is None else str(error),
        "last_processed_transaction": counters.handed_gtid or "",
        "last_processed_transaction_original_commit_timestamp": _source_moment(counters.handed_committed_at),
        "last_processed_transaction_end_buffer_timestamp": _moment(counters.handed_at),
    }


def _worker(channel: str, worker: WorkerCounters, *, running: bool) -> dict[str, Any]:
    return {
        "channel_name": channel,
        "worker_id": worker.number + 1,
        "connection_id": worker.connection_id,
        "service_state": "ON" if running and worker.state != "Ended" else "OFF",
        "state": worker.state,
        "last_applied_transaction": worker.last_gtid or "",
        "last_applied_transaction_original_commit_timestamp": _source_moment(worker.last_committed_at),
        "last_applied_transaction_start_apply_timestamp": _moment(worker.last_began),
        "last_applied_transaction_end_apply_timestamp": _moment(worker.last_ended),
        "last_applied_transaction_retries_count": worker.last_tries,
        "applying_transaction": worker.gtid or "",
        "applying_transaction_original_commit_timestamp": _source_moment(worker.committed_at),
        "applying_transaction_start_apply_timestamp": _moment(worker.began),
        "applying_transaction_retries_count": worker.tries if worker.block else 0,
        "last_transient_error_message": worker.last_error,
        "last_transient_error_timestamp": _moment(worker.last_error_at),
        "blocks": worker.blocks,
        "transactions": worker.transactions,
        "rows": worker.rows,
        "retries": worker.retries,
        "younger_rolled_back": worker.rollbacks,
        "reconnects": worker.reconnects,
        "apply_seconds": round(worker.apply_seconds, 3),
        "waits": {kind: round(seconds, 3) for kind, seconds in worker.waits.items()},
    }


def _source_moment(microseconds: int | None) -> str | None:
    return None if microseconds is None else moment_text(microseconds)


def _moment(seconds: float) -> str | None:
    """Return seconds since 1970 as text; None for 0, which means never."""
    return moment_text(int(seconds * 1e6)) if seconds else None
