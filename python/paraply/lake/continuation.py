"""Check, before anything is written, that logs go on where a lake ends: no file is missing, and they are of the lake's server."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from paraply._native import GtidSet, log_gtids
from paraply.errors import ConfigurationMismatch, LogError, UsageError
from paraply.logs.file_names import split_name
from paraply.logs.file_order import check_order, missing_before, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paraply.lake.published import Published
    from paraply.logs.file_order import LogFile

__all__ = ["check_continuation", "source_of"]


def source_of(files: Sequence[LogFile]) -> str:
    """Return the source of logs as the published state keeps it: the family, and for MariaDB the server id.

    MySQL's GTIDs have the UUID of their server. Those of MariaDB are numbers, which any two servers may have in common.

    >>> source_of([])
    ''
    """
    head = next((file.head for file in files if file.head is not None), None)
    if head is None:
        return ""
    return f"mariadb server-id {head.server_id}" if head.mariadb else "mysql"


def check_continuation(files: Sequence[LogFile], before: Published | None, start_after: str | None) -> None:
    """Check that logs follow each other, and what the lake holds.

    Args:
        files: The logs.
        before: The published state; None for a new lake.
        start_after: GTID set that the tables of a new lake hold already.

    Raises:
        UsageError: A file is missing, is named twice, or is not in its place.
        ConfigurationMismatch: The logs are of another server.
    """
    check_order(files)
    for older, newer in pairwise([file for file in files if file.head is not None]):
        if older.head is not None and newer.head is not None and older.head.mariadb != newer.head.mariadb:
            raise UsageError(f"{older.name} and {newer.name} are of a MySQL and a MariaDB server; a lake has one source", file=newer.path)
    held = GtidSet(before.gtids if before is not None else start_after or "")
    _check_source(files, before, held)
    missing = missing_before(files, held)
    if missing is not None:
        what = f"{shown(missing)} was executed before the start of {files[0].name}, and the lake does not hold it"
        raise UsageError(f"{what}: {_advice(files[0], before, start_after)}", file=files[0].path)


def _check_source(files: Sequence[LogFile], before: Published | None, held: GtidSet) -> None:
    """Refuse the logs of another server than that of the lake."""
    source = source_of(files)
    if not source or not held:
        return
    mariadb, holder = source != "mysql", "the lake holds" if before is not None else "--start-after names"
    if (":" in str(held)) == mariadb:
        raise ConfigurationMismatch(
            f"{holder} transactions of a {'MySQL' if mariadb else 'MariaDB'} server ({shown(held)}), and {files[0].name} is of a"
            f" {'MariaDB' if mariadb else 'MySQL'} server: give the logs of the lake's source, or another --into",
            file=files[0].path,
        )
    if before is not None and before.source and before.source != source:
        raise ConfigurationMismatch(
            f"the lake was written from the logs of {before.source}, and {files[0].name} is of {source}: give the logs of the lake's"
            " source, or another --into",
            file=files[0].path,
        )
    if not mariadb and not _overlaps(files, held):
        raise ConfigurationMismatch(
            f"{holder} {shown(held)}, and the logs have none of these transactions, nor were any executed before them: {files[0].name} is"
            " of another server; give the logs of the lake's source, or another --into",
            file=files[0].path,
        )


def _overlaps(files: Sequence[LogFile], held: GtidSet) -> bool:
    """Return True unless the logs have GTIDs of which none is held, and none held was executed before them."""
    if any(file.previous is not None and file.previous & held for file in files):
        return True
    found = False
    for file in files:
        try:
            gtids = log_gtids(file.path)
        except LogError:  # the reader reports the damage later
            return True
        if gtids & held:
            return True
        found = found or bool(gtids)
    return not found


def _advice(first: LogFile, before: Published | None, start_after: str | None) -> str:
    """Return the advice about logs that are missing before the first one."""
    if before is not None:
        stem, number = split_name(before.file)
        if number is None or first.number is None or stem != first.stem or number >= first.number:
            return "add the earlier logs"
        ends = f"{stem}.{number:06}"
        last = f"{stem}.{first.number - 1:06}"
        return f"add {ends}, in which the lake's state ends" + ("" if ends == last else f", and the logs after it up to {last}")
    earlier = "add the earlier logs" + ("" if not first.number or first.number < 2 else f" up to {first.stem}.{first.number - 1:06}")
    if start_after is not None:
        return f"{earlier}; or, if the tables in the lake hold these transactions, name them with --start-after too"
    return (
        f"{earlier}; or, if all wanted tables are created in these logs or loaded into the lake already, name with --start-after the"
        f" transactions before them: --start-after '{first.previous}'"
    )
