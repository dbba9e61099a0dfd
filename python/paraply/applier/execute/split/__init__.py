"""One large transaction spread over several connections, committed in two phases (policy ``row``, P3 of WL#4648)."""

from __future__ import annotations

from paraply.applier.execute.split.part_workers import PartWorkers
from paraply.applier.execute.split.parts import SPLIT_BYTES, PartMaker
from paraply.applier.execute.split.session import SplitSession

__all__ = ["SPLIT_BYTES", "PartMaker", "PartWorkers", "SplitSession"]
