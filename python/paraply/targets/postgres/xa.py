"""XA transactions of which nothing is to be applied to PostgreSQL (rule R35)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.targets.xid import canonical_xid

if TYPE_CHECKING:
    from paraply._native import Block

__all__ = ["XA_REFUSED", "LeftOut"]

XA_REFUSED = (
    "an XA transaction that is prepared and ended apart cannot be applied to PostgreSQL, whose prepared transactions neither hold their"
    " rows as MySQL's do nor can be recorded together with the progress: bring its rows over by hand, and go on behind it with"
    " --start-after, or leave its tables out"
)


class LeftOut:
    """The XA transactions that were prepared without a row that is to be applied.

    Args:
        checked: All parts in the logs were looked at before the first write, and none was found that has to be applied.
    """

    def __init__(self, *, checked: bool) -> None:
        self._checked = checked
        self._prepared: set[str] = set()

    def takes(self, block: Block) -> bool:
        """Return whether a part has only to be recorded."""
        xid = canonical_xid(block.xid or "")
        if block.kind == "xa_end":
            known = xid in self._prepared
            self._prepared.discard(xid)
            return known or self._checked
        if not block.has_rows:
            self._prepared.add(xid)
        return not block.has_rows
