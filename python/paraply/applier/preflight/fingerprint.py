"""The identity of what is applied, kept with the progress (R25)."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from paraply.logs.file_names import split_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from paraply._native import Transaction

__all__ = ["log_stem", "plan_fingerprint"]


def log_stem(file: str) -> str:
    """A log file's base name without the number that rotation counts up.

    >>> log_stem("/var/lib/mysql/binlog.000017")
    'binlog'
    >>> log_stem("saved-log")
    'saved-log'
    """
    return split_name(file)[0]


def plan_fingerprint(first: Transaction, start_after: str | None, filters: Mapping[str, object] | None = None) -> str:
    """Tells whether stored progress belongs to what is to be applied now.

    It names what must not change between a run and its continuation, and leaves out what may:

    - The source: the server family and the server id of the log's format description. Not the names of the files: a continuation
      may be given more files, or only the later ones. A log without GTIDs is known by file and offset alone, so there the
      stem of the files' names (``binlog`` of ``binlog.000017``) counts too.
    - The filters and the start: with others, "skipped" and "not yet applied" could not be told apart.
    - Not workers, policy, merging or retries: they do not change what is applied.

    With GTIDs, GTIDs decide what was applied; the fingerprint only guards against mistaken arguments.

    Args:
        first: The first transaction of the log.
        start_after: The GTID set behind which to start, in its canonical text.
        filters: Filters by name, as JSON can hold them.

    Returns:
        One short line of ASCII, such as ``1 mysql server-id 7 a1b2...``.
    """
    family = "mariadb" if first.format.mariadb else "mysql"
    server = first.format.server_id
    stem = log_stem(first.file) if first.gtid is None else None
    rest = json.dumps({"stem": stem, "start_after": start_after or None, "filters": dict(filters or {})}, sort_keys=True)
    digest = hashlib.sha256(rest.encode()).hexdigest()[:24]
    return f"1 {family} server-id {server} {digest}"
