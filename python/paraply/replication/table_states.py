"""The tables at the start of each file of a relay log, kept beside it: its older files, and the DDL in them, are removed one day."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paraply.errors import UsageError
from paraply.replication.state_file import write_state
from paraply.schema.catalog import Database, SchemaCatalog
from paraply.schema.table_json import from_json, to_json

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["TableState", "TableStates"]

_FOLDER = "numbers"


@dataclass(frozen=True, slots=True)
class TableState:
    """Knowledge about the log at the start of one file.

    Attributes:
        tables: The known tables, each as JSON text.
        databases: The known databases.
        next_number: Number of the first transaction; None if the counters start over with it.
        source_file: File of the source's log in which the file begins; None if not known.
    """

    tables: Sequence[str]
    databases: Sequence[Database]
    next_number: int | None
    source_file: str | None

    @classmethod
    def of(cls, schema: SchemaCatalog, next_number: int | None, source_file: str | None) -> TableState:
        """Return the state with the tables of a catalog."""
        return cls([to_json(table) for table in schema], list(schema.databases.values()), next_number, source_file)

    def catalog(self) -> SchemaCatalog:
        """Return the tables as a catalog; a table that is not among them is unknown (R13)."""
        catalog = SchemaCatalog()
        for database in self.databases:
            catalog.put_database(database)
        for table in self.tables:
            catalog.put(from_json(table))
        return catalog


class TableStates:
    """States of the files of a relay log, one JSON file for each.

    Args:
        relay_log: Folder of the relay log.
    """

    def __init__(self, relay_log: Path) -> None:
        self._relay_log = relay_log
        self._folder = relay_log / _FOLDER

    def at(self, oldest: str) -> TableState | None:
        """Return the state at the start of the oldest file; None if no state was ever kept.

        Raises:
            UsageError: The state is of files that were removed, or cannot be read.
        """
        kept = sorted(self._folder.glob("*.json")) if self._folder.is_dir() else []
        if not kept:
            return None
        path = self._path(oldest)
        if path not in kept:
            raise UsageError(
                f"the tables at the start of {self._relay_log / oldest} are not known: older files were removed while no serve --stamp ran."
                f" Remove the folder {self._folder}, and dump the tables as they were at the start of that file for --schema",
                file=str(self._folder),
            )
        try:
            fields: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            return TableState(**{**fields, "databases": [Database(**database) for database in fields["databases"]]})
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise UsageError(f"{path} cannot be read: {error}; remove the folder {self._folder} to begin anew", file=str(path)) from None

    def keep(self, file: str, state: TableState) -> None:
        """Keep the state at the start of a file, and remove those of files that are gone."""
        path = self._path(Path(file).name)
        if not path.exists():
            self._folder.mkdir(mode=0o700, exist_ok=True)
            write_state(path, json.dumps(dataclasses.asdict(state), ensure_ascii=False))
        for other in self._folder.glob("*.json"):
            if not (self._relay_log / other.stem).exists():
                other.unlink()

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.json"
