"""Tables from their changes: the current rows, and their history."""

from __future__ import annotations

from paraply.spark.table.state import current, history

__all__ = ["current", "history"]
