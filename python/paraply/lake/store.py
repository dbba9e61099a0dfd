"""The interface of a lake's format, and its choice."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from paraply._extras import require_extra
from paraply.errors import UsageError
from paraply.lake.locking import local_folder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from paraply.lake.collapse import Collapsed
    from paraply.lake.files import ParquetFiles
    from paraply.lake.published import Published

__all__ = ["FORMATS", "Store", "check_form", "open_store"]

FORMATS = ("delta", "iceberg")


class Store(Protocol):
    """A lake in one format. A location names a table; versions are those of Delta, or snapshots of Iceberg."""

    def locked(self) -> AbstractContextManager[None]:
        """Keep other writers on this machine out during a ``with`` block.

        Raises:
            AlreadyRunning: There is another one.
        """

    def published(self, number: int | None = None) -> Published | None:
        """Return the published state, or an earlier one by its number; None if there is none."""

    def numbers(self) -> list[int]:
        """Return the numbers of all states that the marker's history holds, in order."""

    def publish(self, state: Published) -> None:
        """Replace the published state in one commit.

        Raises:
            ApplyFailed: Another writer has published.
        """

    def location(self, database: str, table: str, number: int) -> str:
        """Return a location for a table; numbers from 2 are for tables whose own one is in use."""

    def exists(self, location: str) -> bool:
        """Return True if there is a table."""

    def owned(self, location: str) -> bool:
        """Return True if paraply has written a table."""

    def current(self, location: str) -> int:
        """Return the newest version of a table."""

    def schema(self, location: str, version: int) -> pa.Schema:
        """Return the columns of a table at a version."""

    def recover(self, location: str, version: int) -> int:
        """Undo the commits after a version that were never published, and return the newest version then.

        Raises:
            ApplyFailed: Another program has changed the table.
        """

    def replace(self, location: str, rows: pa.RecordBatchReader, properties: Mapping[str, str]) -> int:
        """Replace columns and rows of a table, which need not exist, in one commit, and return its version."""

    def widen(self, location: str, version: int, schema: pa.Schema, properties: Mapping[str, str]) -> int:
        """Add columns at the end, which are null in all rows, in one commit, and return its version."""

    def merge(self, location: str, version: int, changes: Collapsed, key: Sequence[str], properties: Mapping[str, str]) -> int:
        """Change rows of a table in one commit on top of a version, and return the new one.

        Raises:
            RowNotFound: The table lacks rows that are updated or deleted, or has rows that are inserted.
            ApplyFailed: Another program has changed the table.
        """

    def read(self, location: str, version: int, columns: Sequence[str] | None = None) -> pa.RecordBatchReader:
        """Return the rows of a table at a version."""

    def files(self, location: str, version: int) -> ParquetFiles:
        """Return the Parquet files that hold exactly the rows of a table at a version.

        Raises:
            UsageError: Another program has marked rows of a file as deleted.
        """


def open_store(into: str, form: str) -> Store:
    """Open a lake, which need not exist.

    Args:
        into: Folder or URL of the tables; for Iceberg also ``catalog:NAME``, a catalog of PyIceberg's configuration.
        form: ``delta`` or ``iceberg``.

    Raises:
        UsageError: The format is unknown, or its package is not installed.

    >>> open_store("/lake", "parquet")
    Traceback (most recent call last):
    ...
    paraply.errors.UsageError: --format parquet: give delta or iceberg
    """
    if form not in FORMATS:
        raise UsageError(f"--format {form}: give {' or '.join(FORMATS)}")
    require_extra("lake", "paraply lake")
    if form == "delta":
        from paraply.lake.delta import DeltaStore

        return DeltaStore(into)
    from paraply.lake.iceberg.store import IcebergStore

    return IcebergStore(into)


def check_form(into: str, form: str) -> None:
    """Check that a lake without a published state in a format has none in the other one.

    Args:
        into: The lake.
        form: ``delta`` or ``iceberg``.

    Raises:
        UsageError: It has one, which the message names.
    """
    other = "delta" if form == "iceberg" else "iceberg"
    if into.startswith("catalog:") or (other == "iceberg" and local_folder(into) is None):
        return
    if open_store(into, other).numbers():
        raise UsageError(f"{into} is a lake of the format {other}, not {form}: give {other}")
