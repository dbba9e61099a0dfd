"""Renames into a target that holds the log's own tables, so that restored tables stand beside the ones in use."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from paraply.errors import LogError, UsageError
from paraply.schema.ddl.rules import logs_cascades

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from paraply._native import Transaction
    from paraply.applier.options import Options
    from paraply.applier.selection.filters import Filters
    from paraply.schema.model import Table
    from paraply.schema.renames import Renames
    from paraply.targets.protocol import Inspection

__all__ = ["check_beside", "holds_log", "sizes_at_start"]

_WHOLE = 2**62


def holds_log(options: Options, first: Transaction, inspect: Inspection) -> bool:
    """Return True if the target wrote transactions of the log, or holds some by replication.

    Where log or target has no GTIDs of MySQL, which name their server by a UUID, the same server id counts as the same server.

    Args:
        options: The options.
        first: The first transaction of the log.
        inspect: Findings about the target.
    """
    from paraply._native import log_gtids

    if inspect.history is None:
        return False
    held, server_id = inspect.history
    if first.gtid is None or first.format.mariadb or not inspect.own:
        same_server = server_id in (first.format.server_id, first.server_id)
        return same_server or (first.gtid is not None and first.gtid in held)
    for path in options.paths:
        try:
            gtids = log_gtids(path)
        except LogError:  # the reader reports the damage later
            continue
        if gtids & held or (inspect.own and inspect.own in str(gtids).lower()):
            return True
    return False


def check_beside(options: Options, first: Transaction, inspect: Inspection) -> None:
    """Check that nothing of the log is applied to the target's own tables.

    Raises:
        UsageError: A table would be applied under its own name, or a cascade would be missing.
    """
    if options.live:
        raise UsageError("the target is the source, or a replica of it, and a replication does not follow a server into itself")
    for name, advice in _kept(options.filters, options.renames):
        raise UsageError(
            f"the target holds transactions of this log, and {name} would be applied to the table that they changed already: {advice}"
        )
    applied = options.filters.in_lower_case()  # whether the target distinguishes upper and lower case does not matter then
    for _, new in options.renames.databases:
        if applied.chooses_some(new):
            raise UsageError(f"the log's own {new} is applied too, and the target's is in use: leave it out of the filters")
    for _, (database, table) in options.renames.tables:
        if applied.chooses(database, table):
            raise UsageError(f"the log's own {database}.{table} is applied too, and the target's is in use: leave it out of the filters")
    if not logs_cascades(first.format.version, mariadb=first.format.mariadb):
        _check_cascades(options, inspect.tables)


def _kept(filters: Filters, renames: Renames) -> Iterator[tuple[str, str]]:
    """Yield applied databases and tables that keep their name, with advice."""
    if not filters.includes:
        yield "everything that is not renamed", "name what is restored with --database or --table"
    for database in filters.databases:
        if not renames.renames_wholly(database):
            yield f"the database {database}", f"rename it too (--rename-database {database}=...), or name its tables with --table"
    for database, table in filters.tables:
        if not renames.renames_wholly(database) and (database, table) not in [old for old, _ in renames.tables]:
            yield f"{database}.{table}", f"rename it too (--rename-table {database}.{table}=...), or leave it out"


def _check_cascades(options: Options, tables: Sequence[Table]) -> None:
    """Refuse tables whose rows a foreign key changes without a trace in the log, unless the restored tables have the key as well.

    Raises:
        UsageError: A change would be missing.
    """
    definitions = {(table.database, table.name): table for table in tables}
    for (database, name), table in definitions.items():
        if not options.filters.chooses(database, name):
            continue
        place = options.renames.table(database, name)
        there = definitions.get(place)
        for key in table.foreign_keys:
            if key.on_delete == key.on_update == "refuse":
                continue
            parent = options.renames.table(key.parent_database, key.parent_table)
            held = [(own.columns, own.parent_database, own.parent_table, own.parent_columns, own.on_delete, own.on_update)
                    for own in (there.foreign_keys if there is not None else ())]  # fmt: skip
            wanted = (key.columns, *parent, key.parent_columns, key.on_delete, key.on_update)
            chosen = options.filters.chooses(key.parent_database, key.parent_table)
            if not chosen or (there is not None and wanted not in held):
                raise UsageError(
                    f"the foreign key {key.name} of {database}.{name} changes rows when {key.parent_database}.{key.parent_table} changes,"
                    f" and this server does not log such changes: restore {key.parent_database}.{key.parent_table} too, under another"
                    f" name, with the same foreign key from {'.'.join(place)} to {'.'.join(parent)}"
                )


def sizes_at_start(paths: Sequence[str]) -> list[int]:
    """Return the bytes to read of each log: of the last one those that it has now, because the target itself writes to it.

    A log that is not a plain binlog file does not grow.
    """
    last = Path(paths[-1])
    with last.open("rb") as file:
        plain = file.read(4) == b"\xfebin"
    return [*(_WHOLE for _ in paths[:-1]), last.stat().st_size if plain and last.is_file() else _WHOLE]
