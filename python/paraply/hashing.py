"""Write sets of single transactions, and hashes of single keys."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from paraply._native import Catalog, Transaction, write_set_hash
from paraply.schema.model import Table

__all__ = ["WriteSet", "write_set", "write_set_hash"]


@dataclass(frozen=True, slots=True)
class WriteSet:
    """Write set of a transaction.

    Attributes:
        exclusive: Hashes that no other transaction may use at the same time.
        shared: Hashes that others may share (references to parents, R15), but not take exclusively.
        barrier: True if it conflicts with every other transaction: DDL, XA, or unknown keys (R5, R13, R35).
    """

    exclusive: tuple[int, ...]
    shared: tuple[int, ...]
    barrier: bool


def write_set(transaction: Transaction, tables: Iterable[Table] | Catalog, *, scheme: str = "fine") -> WriteSet:
    """Hash the rows of a transaction (R11 to R15).

    Args:
        transaction: A transaction of ``open_log``.
        tables: The definitions valid when it was written; a missing table makes the transaction a barrier.
        scheme: ``fine``, the applier's scheme, or ``group``, that of a group member's certifier.

    Returns:
        The hashes: XXH64 of key name, database, table and values, in the form in which their collation compares them.

    Raises:
        UsageError: The scheme is unknown.
        LogDamaged: A row event contradicts itself.

    >>> write_set_hash("PRIMARY", "test", "t1", 1)
    340395741608101502
    >>> write_set_hash("PRIMARY", "test", "t1", 1, 2)
    13655149628280894901
    >>> names = [write_set_hash("name", "shop", "tag", word, collation="utf8mb4_0900_ai_ci") for word in ("Résumé", "resume")]
    >>> names[0] == names[1]
    True
    """
    catalog = tables if isinstance(tables, Catalog) else catalog_of(tables)
    keys = transaction.write_set(catalog, scheme=scheme)
    return WriteSet(tuple(keys.exclusive), tuple(keys.shared), keys.barrier)


def catalog_of(tables: Iterable[Table]) -> Catalog:
    """Return the native form of definitions."""
    catalog = Catalog()
    for table in tables:
        catalog.put(table)
    return catalog
