"""The note on the tables in which paraply keeps its own state, where a log has changes of them."""

from __future__ import annotations

from paraply.wording import counted

__all__ = ["left_out_note"]


def left_out_note(transactions: int) -> str:
    """Return the note on changes of these tables in a log.

    Args:
        transactions: Number of transactions that have such changes.

    >>> left_out_note(1)
    "paraply's own tables of the source are left out, changed in 1 transaction: progress of applies into it, history of its undos"
    """
    which = counted(transactions, "transaction")
    return f"paraply's own tables of the source are left out, changed in {which}: progress of applies into it, history of its undos"
