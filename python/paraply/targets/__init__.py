"""Databases that transactions are applied to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from paraply._extras import require_extra
from paraply.errors import UsageError

if TYPE_CHECKING:
    from paraply.targets.protocol import Target

__all__ = ["make_target", "open_target"]

POSTGRESQL = ("postgresql", "postgres")
MYSQL = ("mysql", "mariadb")


def make_target(url: str | None, *, folder: Path | str | None = None, defaults_file: Path | str | None = None) -> Target:
    """Return the target that a URL names. The target connects when an applier opens it.

    Args:
        url: ``mysql://``, ``mariadb://`` or ``postgresql://``; None for an embedded PostgreSQL.
        folder: Data folder of the embedded PostgreSQL; ``./paraply-data`` by default.
        defaults_file: A MySQL option file with defaults for the URL; ``~/.my.cnf`` if not given.

    Raises:
        UsageError: The URL names no kind of database that is known, cannot be understood, or needs an extra that is not installed.

    >>> make_target("oracle://localhost")
    Traceback (most recent call last):
    ...
    paraply.errors.UsageError: unknown target oracle://: give a mysql://, mariadb:// or postgresql:// URL
    """
    scheme = url.partition(":")[0].lower() if url is not None else ""
    if defaults_file is not None and scheme not in MYSQL:
        raise UsageError("--defaults-file is for mysql:// and mariadb:// targets; PostgreSQL's are PGPASSFILE and PGSERVICEFILE")
    if url is None:
        require_extra("embedded", "the embedded PostgreSQL", "or name a server with --to")
        from paraply.targets.postgres.target import PostgresTarget

        return PostgresTarget(folder=str(folder) if folder is not None else None)
    if scheme in POSTGRESQL:
        require_extra("postgres", "a postgresql:// target")
        from paraply.targets.postgres.target import PostgresTarget

        return PostgresTarget(url)
    if scheme in MYSQL:
        from paraply.targets.mysql.target import MySqlTarget
        from paraply.targets.url import parse_url

        return MySqlTarget(parse_url(url, defaults_file=str(defaults_file) if defaults_file is not None else None))
    raise UsageError(f"unknown target {scheme}://: give a mysql://, mariadb:// or postgresql:// URL")


def as_target(target: Target | str) -> Target:
    """Return a target as it is, or the one that a URL names.

    Raises:
        UsageError: The URL is not understood, or it is neither of both.

    >>> as_target(7)
    Traceback (most recent call last):
    ...
    paraply.errors.UsageError: a target is a URL, such as mysql://app@127.0.0.1, or the result of make_target; not int
    """
    if isinstance(target, str):
        return make_target(target)
    if type(target).__module__ in {"builtins", "pathlib"}:
        raise UsageError(f"a target is a URL, such as mysql://app@127.0.0.1, or the result of make_target; not {type(target).__name__}")
    return target


@contextmanager
def open_target(url: str | None, *, folder: Path | str | None = None, defaults_file: Path | str | None = None) -> Iterator[Target]:
    """Make a target for a ``with`` block, and close it at the end of the block."""
    target = make_target(url, folder=folder, defaults_file=defaults_file)
    try:
        yield target
    finally:
        target.close()
