"""Session settings for rows whose tables the target computes or checks again.

A server computes stored generated columns, functional indexes and CHECK constraints again for each row that it applies, under the settings
of its own session. MySQL's applier takes ``sql_mode``, ``time_zone`` and ``lc_time_names`` from the transaction's BEGIN, and so does this
module (observed on MySQL 9.7: `DATETIME AS (ts) STORED` of a session in another time zone). MariaDB's logs have no BEGIN.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from paraply.errors import LogNotUnderstood
from paraply.targets.mysql.ddl.session_defaults import is_time_zone, known_modes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from paraply._native import Block
    from paraply.targets.mysql.server_version import ServerKind

__all__ = ["of_equal_settings", "settings_statement"]


def of_equal_settings(block: Block, server: ServerKind, *, matter: bool) -> Iterator[tuple[str | None, Block]]:
    """Yield a block in parts whose rows have the same settings, each with the statement that makes them; None where they do not matter.

    Args:
        block: A block of rows.
        server: The target.
        matter: True if rows of the block depend on the settings.

    Raises:
        LogNotUnderstood: The target cannot take over a setting.
    """
    if not matter:
        yield None, block
        return
    transactions = block.transactions
    settings = [transaction.row_settings for transaction in transactions]
    if all(one == settings[0] for one in settings):
        yield settings_statement(settings[0], server, block), block
        return
    singles = zip(settings, block.split(), strict=True)
    for one, parts in groupby(singles, key=lambda single: single[0]):
        for _, part in parts:
            yield settings_statement(one, server, part), part


def settings_statement(settings: dict[str, Any] | None, server: ServerKind, block: Block) -> str | None:
    """Return the statement that makes the settings of a BEGIN; None for a log without BEGIN.

    Args:
        settings: ``row_settings`` of a transaction.
        server: The target.
        block: Its block, for the error.
    """
    if settings is None:
        return None
    variables = [f"lc_time_names={int(settings.get('lc_time_names') or 0)}"]
    zone, mode = settings.get("time_zone"), settings.get("sql_mode")
    if zone is not None:
        if not is_time_zone(zone):
            raise LogNotUnderstood(f"the time zone {zone!r} of its session is not the name of one", file=block.file, position=block.offset)
        variables.append(f"time_zone='{zone}'")
    if mode is not None:
        variables.append(f"sql_mode={mode & known_modes(server)}")
    return "SET " + ", ".join(variables)
