"""Names of XA transactions in one canonical form, for comparison between logs, servers and progress tables (R35)."""

from __future__ import annotations

import re

from paraply.errors import LogNotUnderstood

__all__ = ["canonical_xid", "xid_of_parts"]

_WRITTEN = re.compile(r"[Xx]'((?:[0-9A-Fa-f]{2}){0,64})'\s*,\s*[Xx]'((?:[0-9A-Fa-f]{2}){0,64})'\s*,\s*([0-9]{1,10})")


def canonical_xid(text: str) -> str:
    """Return a XID in the form that servers log, in lower case; it may be used in a statement as it is.

    Raises:
        LogNotUnderstood: The text is not in the form that servers log.

    >>> canonical_xid("X'00FF27',X'',1")
    "X'00ff27',X'',1"
    >>> canonical_xid("X'',X'',1")  # MySQL takes an empty name
    "X'',X'',1"
    """
    match = _WRITTEN.fullmatch(text.strip())
    if match is None:
        raise LogNotUnderstood(f"the name of an XA transaction is not in the form that servers log: {text[:300]!r}")
    return f"X'{match[1].lower()}',X'{match[2].lower()}',{int(match[3])}"


def xid_of_parts(format_id: int, transaction_length: int, branch_length: int, data: bytes) -> str:
    """Return the XID of a row of ``XA RECOVER``.

    >>> xid_of_parts(7, 3, 1, b"twob")
    "X'74776f',X'62',7"
    """
    transaction, branch = data[:transaction_length], data[transaction_length : transaction_length + branch_length]
    return f"X'{transaction.hex()}',X'{branch.hex()}',{format_id & 0xFFFFFFFF}"
