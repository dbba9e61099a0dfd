"""XA transactions that apply nothing to PostgreSQL (R35)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.targets.postgres.types import quote_literal
from paraply.targets.xid import canonical_xid

if TYPE_CHECKING:
    from collections.abc import Iterable

    from paraply._native import Block
    from paraply.targets.postgres.connection import PgConnection

__all__ = ["XA_REFUSED", "LeftOut", "read_left_out"]

XA_REFUSED = (
    "an XA transaction that is prepared and ended separately cannot be applied to PostgreSQL, whose prepared transactions neither hold"
    " their rows as MySQL's do nor can be recorded together with the progress: bring its rows over by hand, and go on after it with"
    " --start-after, or leave its tables out"
)


class LeftOut:
    """The XA transactions that were prepared without any rows to apply.

    Their XIDs are stored with the progress (table ``paraply.left_out_xa``). So a run that starts between the two parts of such a
    transaction knows that its end has nothing to commit.

    Args:
        checked: True if all parts in the logs were checked before the first write, and none has rows to apply.
        channel: Name of the channel.
        prepared: XIDs that an earlier run stored.
    """

    def __init__(self, *, checked: bool, channel: str = "", prepared: Iterable[str] = ()) -> None:
        self._checked = checked
        self._channel = channel
        self._prepared = set(prepared)

    def takes(self, block: Block) -> bool:
        """Return True if a part only has to be recorded."""
        if block.kind == "xa_end":
            return self._checked or canonical_xid(block.xid or "") in self._prepared
        return not block.has_rows

    def record(self, block: Block) -> bytes:
        """Return the statement that stores the XID of a part that ``takes`` accepted; call ``recorded`` once it is committed."""
        xid = canonical_xid(block.xid or "")
        values = f"{quote_literal(self._channel)}, {quote_literal(xid)}"
        if block.kind == "xa_end":
            return f"DELETE FROM paraply.left_out_xa WHERE (channel, xid) = ({values})".encode()
        self._prepared.add(xid)  # before the commit: the connection may be lost after it
        return f"INSERT INTO paraply.left_out_xa VALUES ({values}) ON CONFLICT DO NOTHING".encode()

    def recorded(self, block: Block) -> None:
        """Discard the XID of a transaction whose end is committed."""
        if block.kind == "xa_end":
            self._prepared.discard(canonical_xid(block.xid or ""))


def read_left_out(connection: PgConnection, channel: str) -> list[str]:
    """Return the stored XIDs of a channel."""
    result = connection.run([f"SELECT xid FROM paraply.left_out_xa WHERE channel = {quote_literal(channel)}".encode()])[0]
    return [(result.get_value(row, 0) or b"").decode() for row in range(result.ntuples)]
