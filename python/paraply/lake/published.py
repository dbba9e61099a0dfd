"""The published state of a lake: one version of every table, and the transactions of the source that they hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from paraply.schema.table_json import from_json, to_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from paraply.schema.model import Table

__all__ = ["MARKER", "Published", "PublishedTable", "marker_rows", "marker_schema", "published_of"]

MARKER = "_paraply_published"
"""Name of the table that holds the published state."""


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """One table of a published state.

    Attributes:
        database: Database on the source.
        name: Name on the source.
        location: Path below the lake's root, or identifier in the catalog; a renamed table keeps its own.
        version: Version of a Delta table, or identifier of an Iceberg snapshot.
        definition: The source's definition.
    """

    database: str
    name: str
    location: str
    version: int
    definition: Table

    @property
    def full_name(self) -> str:
        """``database.table``."""
        return f"{self.database}.{self.name}"


@dataclass(frozen=True, slots=True)
class Published:
    """A state of the source that a reader may see.

    Attributes:
        number: Number of the publication, from 1.
        gtids: GTID set of the transactions that the tables hold.
        committed_at: Commit time of the last one, microseconds since 1970; None if unknown.
        file: Log file of the last one.
        offset: Its offset in that file.
        tables: The tables.
        filters: Filters by which tables were chosen, as text.
        source: Family and server id of the source; empty in the state of an older version.
    """

    number: int = 0
    gtids: str = ""
    committed_at: int | None = None
    file: str = ""
    offset: int = 0
    tables: Mapping[tuple[str, str], PublishedTable] = field(default_factory=dict)
    filters: str = ""
    source: str = ""

    @property
    def properties(self) -> dict[str, str]:
        """Properties of the commits that lead to this state."""
        return {"paraply.publication": str(self.number), "paraply.gtids": self.gtids}


def marker_schema() -> pa.Schema:
    """Return the columns of the marker: one row for each table, and one without a table that says that there is a state at all."""
    import pyarrow as pa

    return pa.schema(
        [
            ("publication", pa.int64()),
            ("gtids", pa.string()),
            ("committed_at", pa.timestamp("us", "UTC")),
            ("file", pa.string()),
            ("offset", pa.int64()),
            ("filters", pa.string()),
            ("database", pa.string()),
            ("table", pa.string()),
            ("location", pa.string()),
            ("version", pa.int64()),
            ("definition", pa.string()),
            ("source", pa.string()),
        ]
    )


def marker_rows(state: Published) -> pa.Table:
    """Return the rows of the marker for a state."""
    import pyarrow as pa

    head = {
        "publication": state.number,
        "gtids": state.gtids,
        "committed_at": state.committed_at,
        "file": state.file,
        "offset": state.offset,
        "filters": state.filters,
        "source": state.source,
    }
    rows: list[dict[str, Any]] = [head]
    for table in state.tables.values():
        place = {"database": table.database, "table": table.name, "location": table.location, "version": table.version}
        rows.append({**head, **place, "definition": to_json(table.definition)})
    names = marker_schema().names
    return pa.Table.from_pylist([{name: row.get(name) for name in names} for row in rows], schema=marker_schema())


def published_of(rows: pa.Table) -> Published:
    """Return the state that the rows of the marker hold.

    >>> published_of(marker_rows(Published(7, "0-1-9"))).gtids
    '0-1-9'
    """
    import pyarrow as pa

    moments = rows["committed_at"].cast(pa.int64()).to_pylist()
    found = rows.drop_columns("committed_at").to_pylist()
    head = found[0]
    tables = {
        (row["database"], row["table"]): PublishedTable(
            row["database"], row["table"], row["location"], row["version"], from_json(row["definition"])
        )
        for row in found
        if row["table"] is not None
    }
    place = (head["file"], head["offset"])
    return Published(head["publication"], head["gtids"], moments[0], *place, tables, head["filters"], head.get("source") or "")
