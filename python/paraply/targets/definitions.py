"""Table definitions as a database knows them now."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from paraply._extras import require_extra
from paraply.errors import UsageError
from paraply.targets import MYSQL, POSTGRESQL

if TYPE_CHECKING:
    from pathlib import Path

    from paraply.schema.model import Table

__all__ = ["read_definitions"]


def read_definitions(url: str, *, channel: str = "default", defaults_file: Path | str | None = None) -> list[Table]:
    """Return the definitions of the source's tables: of a MySQL or MariaDB all tables, of PostgreSQL those that a channel replays.

    Args:
        url: ``mysql://``, ``mariadb://`` or ``postgresql://``.
        channel: The channel of a PostgreSQL target.
        defaults_file: A MySQL option file with defaults for the URL.

    Raises:
        UsageError: The URL cannot be understood, or the PostgreSQL database has no such channel.
        ConnectionFailed: The server cannot be reached.

    >>> read_definitions("oracle://localhost")
    Traceback (most recent call last):
    ...
    paraply.errors.UsageError: unknown database oracle://: give a mysql://, mariadb:// or postgresql:// URL
    """
    scheme = url.partition(":")[0].lower()
    if scheme in MYSQL:
        from paraply.schema.readers.live import read_tables
        from paraply.targets.mysql.sql import rows_of
        from paraply.targets.mysql.target import connect
        from paraply.targets.url import parse_url

        parsed = parse_url(url, defaults_file=str(defaults_file) if defaults_file is not None else None)
        with closing(connect(parsed)) as connection:
            return read_tables(lambda sql: rows_of(connection.query(sql)))
    if scheme not in POSTGRESQL:
        raise UsageError(f"unknown database {scheme}://: give a mysql://, mariadb:// or postgresql:// URL")
    require_extra("postgres", "a postgresql:// URL")
    from paraply.targets.postgres.connection import PgConnection
    from paraply.targets.postgres.progress.source_tables import read_standing

    with closing(PgConnection(url, name="paraply definitions")) as connection:
        tables = list(read_standing(connection, channel).tables)
    if not tables:
        raise UsageError(f"the database has no definitions of channel {channel}: name the channel, or give a dump with --schema")
    return tables
