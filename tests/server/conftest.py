"""Fixtures that the tests of database targets share."""

from __future__ import annotations

from tests.pg_databases import database, embedded
from tests.servers import mariadb_server

__all__ = ["database", "embedded", "mariadb_server"]
