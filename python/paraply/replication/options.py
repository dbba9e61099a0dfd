"""Options of a replication."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from paraply.replication.source import SILENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from paraply._native import GtidSet
    from paraply.logs.stop_point import StopPoint

__all__ = ["ReplicationOptions"]


@dataclass(frozen=True, slots=True)
class ReplicationOptions:
    """Options of a replication.

    Attributes:
        relay_folder: Folder of the relay log.
        channel: Name of the progress in the target.
        start_after: GTIDs that the target already holds.
        skip: Transactions to leave out: a GTID set, or text, in which a GTID of MariaDB stands for itself.
        start_at: Start in the source's log, file and offset, for a source without GTIDs.
        server_id: Server id of this replica; None derives one.
        relay_file_bytes: Size at which the relay log begins a new file.
        semi_sync: True to allow the source to wait until its transactions are in the relay log, on disk.
        until: Stop of the replication; None for none.
        source_timeout: Seconds of silence, without even a heartbeat, after which the source is connected to again.
        report: Host and port of this replica in the source's list of replicas.
        trace: File for the timeline of the whole replication, in Perfetto's format.
        applier: Further arguments of ``Applier``.
    """

    relay_folder: Path
    channel: str = "default"
    start_after: str | None = None
    skip: GtidSet | str | None = None
    start_at: tuple[str, int] | None = None
    server_id: int | None = None
    relay_file_bytes: int = 256 << 20
    semi_sync: bool = False
    until: StopPoint | None = None
    source_timeout: float = SILENCE_SECONDS
    report: tuple[str, int] = ("", 0)
    trace: str | Path | None = None
    applier: Mapping[str, Any] = field(default_factory=dict)
