"""Options of writing a lake, checked once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from paraply.applier.selection.filters import Filters
from paraply.errors import UsageError
from paraply.logs.stop_point import parse_stop

if TYPE_CHECKING:
    from pathlib import Path

    from paraply.logs.stop_point import StopPoint
    from paraply.schema.model import Table

__all__ = ["BATCH_BYTES", "BATCH_ROWS", "LakeOptions"]

BATCH_ROWS = 100_000
BATCH_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class LakeOptions:
    """Options of a run: the logs to read, and the lake to write.

    Attributes:
        logs: Binlogs or relay logs, in order, as ``open_log`` takes them.
        into: Folder or URL of the lake.
        form: ``delta`` or ``iceberg``.
        filters: Filters by database and table.
        definitions: Table definitions at the start of the logs.
        start_after: GTID set that the lake's tables hold already; None for a lake that is new, or that has a published state.
        batch_rows: Row changes after which a state is published, at the next end of a transaction.
        batch_bytes: Bytes of row changes after which one is; also how many are held in memory.
        stop_at: Time in RFC 3339 with an offset, or GTID, as ``paraply apply --stop-at``; None for the end of the logs.

    Raises:
        UsageError: A limit is not positive, or ``stop_at`` is neither a time nor a GTID.
    """

    logs: Sequence[Path | str]
    into: str
    form: str = "delta"
    filters: Filters = field(default_factory=Filters)
    definitions: Sequence[Table] = ()
    start_after: str | None = None
    batch_rows: int = BATCH_ROWS
    batch_bytes: int = BATCH_BYTES
    stop_at: str | None = None

    def __post_init__(self) -> None:
        """Check the limits and the stop."""
        if self.batch_rows < 1 or self.batch_bytes < 1:
            raise UsageError("a batch has at least one row and one byte")
        parse_stop(self.stop_at)

    @property
    def stop(self) -> StopPoint | None:
        """Point up to which the logs are read."""
        return parse_stop(self.stop_at)
