"""Tables from their changes: the current rows, their history, and rows that are kept in a lake."""

from __future__ import annotations

from paraply.spark.table.state import current, history
from paraply.spark.table.stored import read_lake, update_current

__all__ = ["current", "history", "read_lake", "update_current"]
