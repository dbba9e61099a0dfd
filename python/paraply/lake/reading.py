"""Reading a lake: one state of the source, in all tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from paraply.errors import NoSuchTable, UsageError
from paraply.lake.store import Store, check_form, open_store

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from paraply.lake.files import ParquetFiles
    from paraply.lake.published import Published, PublishedTable

__all__ = ["LakeState", "LakeTable", "publications", "read"]


@dataclass(frozen=True, slots=True)
class LakeTable:
    """One table of a published state.

    Attributes:
        name: ``database.table`` on the source.
        location: Path of the Delta table below the lake, or identifier in the Iceberg catalog.
        version: Version of the Delta table, or identifier of the Iceberg snapshot.
    """

    name: str
    location: str
    version: int
    _store: Store

    def to_arrow(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the rows, all or some of the columns."""
        return self.batches(columns).read_all()

    def batches(self, columns: Sequence[str] | None = None) -> pa.RecordBatchReader:
        """Return the rows as a stream."""
        return self._store.read(self.location, self.version, columns)

    @property
    def schema(self) -> pa.Schema:
        """Columns of the table."""
        return self._store.schema(self.location, self.version)

    def files(self) -> ParquetFiles:
        """Return the Parquet files that hold exactly these rows, for other readers.

        Raises:
            UsageError: Another program has marked rows of a file as deleted.
        """
        return self._store.files(self.location, self.version)


class LakeState:
    """A published state: every table as it was after the same transactions of the source.

    Args:
        state: The state.
        store: The lake.
    """

    def __init__(self, state: Published, store: Store) -> None:
        self._state, self._store = state, store

    @property
    def number(self) -> int:
        """Number of the publication."""
        return self._state.number

    @property
    def gtids(self) -> str:
        """GTID set of the transactions that the tables hold."""
        return self._state.gtids

    @property
    def committed_at(self) -> int | None:
        """Commit time of the last transaction, microseconds since 1970; None if unknown."""
        return self._state.committed_at

    def __len__(self) -> int:
        """Return the number of tables."""
        return len(self._state.tables)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the tables, ``database.table``."""
        return iter([table.full_name for table in self._state.tables.values()])

    def __getitem__(self, name: str) -> LakeTable:
        """Return a table by its name ``database.table``.

        Raises:
            NoSuchTable: The state has no such table; it is a ``KeyError`` too.
        """
        for table in self._state.tables.values():
            if table.full_name == name:
                return self._opened(table)
        raise NoSuchTable(f"state {self.number} has no table {name}; it has {', '.join(self) or 'no table'}", table=name)

    def _opened(self, table: PublishedTable) -> LakeTable:
        return LakeTable(table.full_name, table.location, table.version, self._store)


def read(into: str, form: str = "delta", *, publication: int | None = None) -> LakeState:
    """Return the published state of a lake; a later write does not change it.

    Args:
        into: Folder or URL of the lake, as in ``paraply lake --into``.
        form: ``delta`` or ``iceberg``.
        publication: Number of an earlier state; by default the newest one.

    Raises:
        UsageError: There is no such state.

    >>> read("/lake", "parquet")
    Traceback (most recent call last):
    ...
    paraply.errors.UsageError: --format parquet: give delta or iceberg
    """
    store = open_store(into, form)
    state = store.published(publication)
    if state is None:
        check_form(into, form)
        raise UsageError(f"{into} has no published state" + ("" if publication is None else f" {publication}"))
    return LakeState(state, store)


def publications(into: str, form: str = "delta") -> list[int]:
    """Return the numbers of the published states that the marker's history holds, in order.

    Args:
        into: Folder or URL of the lake.
        form: ``delta`` or ``iceberg``.

    Raises:
        UsageError: The lake has the other format.
    """
    found = open_store(into, form).numbers()
    if not found:
        check_form(into, form)
    return found
