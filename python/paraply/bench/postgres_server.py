"""PostgreSQL as a server of a bench: a given one, or an embedded one in a temporary folder."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paraply.bench.server import OUR_DATABASE
from paraply.errors import ParaplyError, UsageError
from paraply.targets.postgres.connection import PgConnection, StatementFailed, is_local
from paraply.targets.postgres.errors import failure

__all__ = ["EMBEDDED", "PostgresServer", "postgres_server"]

EMBEDDED = "embedded"
"""Value of ``--postgres`` that starts a server."""
_TABLES = (
    "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables"
    " WHERE schemaname NOT IN ('pg_catalog', 'information_schema', 'paraply') ORDER BY 1"
)


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """PostgreSQL of a bench, with the permission to empty it.

    Attributes:
        url: URL for ``paraply apply --to``.
        version: The server's version text.
    """

    url: str
    version: str

    @property
    def folder(self) -> Path | None:
        """Its data folder, if it is on this machine and the user may see its name."""
        with suppress(ParaplyError):
            return Path(str(self.query("SHOW data_directory")[0][0])) if is_local(self.url) else None
        return None

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """Run one statement and return its rows, as text.

        Raises:
            ParaplyError: The server refused it.
        """
        connection = PgConnection(self.url, name="paraply bench")
        try:
            result = connection.run([statement.encode()])[-1]
        except StatementFailed as failed:
            raise failure(failed.error) from failed
        finally:
            connection.close()
        cells = range(result.nfields)
        return [tuple(_text(result.get_value(row, cell)) for cell in cells) for row in range(result.ntuples)]

    def empty(self, databases: Sequence[str]) -> None:
        """Drop everything that a run made, and write the changed pages, so that no run pays for another one's."""
        for name in [*databases, OUR_DATABASE]:
            self.query(f'DROP SCHEMA IF EXISTS "{name}" CASCADE')
        with suppress(ParaplyError):  # not every user may
            self.query("CHECKPOINT")

    def checksums(self) -> dict[str, int]:
        """Return for every table a sum of the hashes of its rows as text, which does not depend on their order."""
        found = {}
        for (name,) in self.query(_TABLES):
            ((rows, total),) = self.query(f"SELECT count(*), COALESCE(sum(hashtextextended(t::text, 0)), 0) FROM {name} AS t")
            found[str(name)] = hash((int(rows), int(total)))
        return found

    def settings(self) -> dict[str, str]:
        """Return the settings that decide how durable and how fast a commit is."""
        names = ("fsync", "synchronous_commit", "full_page_writes", "shared_buffers", "max_wal_size")
        return {name: str(self.query(f"SHOW {name}")[0][0]) for name in names}


@contextmanager
def postgres_server(given: str, folder: Path | None = None) -> Iterator[PostgresServer]:
    """Yield the PostgreSQL of a bench.

    Args:
        given: A URL, or ``embedded`` for a server in a temporary folder.
        folder: Parent of the temporary folder; None for the system's default.

    Raises:
        UsageError: The given database has tables.
    """
    if given != EMBEDDED:
        server = _look_at(given)
        if tables := server.query(_TABLES):
            raise UsageError(f"the database has tables ({tables[0][0]} and others); a bench drops its own, so give it an empty database")
        yield server
        return
    from paraply.targets.postgres.embedded import EmbeddedPostgres

    with tempfile.TemporaryDirectory(prefix="paraply-bench-", dir=folder) as parent, EmbeddedPostgres(Path(parent) / "data") as embedded:
        yield _look_at(embedded.uri)


def _look_at(url: str) -> PostgresServer:
    version = PostgresServer(url, "").query("SHOW server_version")[0][0]
    return PostgresServer(url, f"PostgreSQL {version}")


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode()
