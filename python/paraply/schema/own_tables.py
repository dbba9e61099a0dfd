"""The tables in which paraply keeps its own state in a server: progress, status, conflicts, the history of undos."""

from __future__ import annotations

from functools import cache

from paraply.schema.model import OWN_DATABASE
from paraply.wording import counted

__all__ = ["is_own_table", "left_out_note"]


@cache
def _names() -> frozenset[str]:
    from paraply._native import own_table_names

    return frozenset(own_table_names())


def is_own_table(database: str, table: str) -> bool:
    """Return True for the name of one of paraply's own tables.

    >>> is_own_table("paraply", "progress"), is_own_table("paraply", "item"), is_own_table("shop", "progress")
    (True, False, False)
    """
    return database == OWN_DATABASE and table in _names()


def left_out_note(transactions: int) -> str:
    """Return the note on changes of these tables in a log.

    Args:
        transactions: Number of transactions that have such changes.

    >>> left_out_note(1)
    "paraply's own tables of the source are left out, changed in 1 transaction: progress of applies into it, history of its undos"
    """
    which = counted(transactions, "transaction")
    return f"paraply's own tables of the source are left out, changed in {which}: progress of applies into it, history of its undos"
