"""Row changes as text for people, JSON lines, CSV and SQL."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

from paraply.logs.stop_point import moment_text
from paraply.targets.mysql.row_sql import ROW_SETTINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from datetime import datetime

    from paraply.analysis.row_changes import SqlSource

__all__ = ["FORMATS", "as_csv", "as_json_lines", "as_sql", "as_text"]

FORMATS = ("text", "jsonl", "csv", "sql")
FIELDS = ("gtid", "committed_at", "database", "table", "operation", "key", "before", "after")
WIDTH = 80
_MARK = "..."


def time_of(moment: datetime | None) -> str | None:
    """Return a commit time as RFC 3339 text in UTC."""
    return None if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def as_json_lines(found: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield one JSON object for each row change.

    >>> row = {"gtid": "0-1-7", "committed_at": None, "database": "d", "table": "t", "operation": "delete", "key": None,
    ...        "before": {"id": "7"}, "after": None}
    >>> print(*as_json_lines([row]), end="")
    {"gtid": "0-1-7", "committed_at": null, "database": "d", "table": "t", "operation": "delete", "key": null, "before": {"id": "7"}, \
"after": null}
    """
    for change in found:
        fields = {name: change[name] for name in FIELDS}
        fields |= {"gtid": change["gtid"] or None, "committed_at": time_of(change["committed_at"])}
        yield json.dumps(fields, ensure_ascii=False) + "\n"


def as_csv(found: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of a CSV file with a header; key and images are JSON objects."""
    line = io.StringIO()
    writer = csv.writer(line)
    rows = ([_cell(change, name) for name in FIELDS] for change in found)
    for cells in _chain(FIELDS, rows):
        writer.writerow(cells)
        yield line.getvalue()
        line.seek(0)
        line.truncate()


def _chain(head: Iterable[str], rows: Iterable[list[str]]) -> Iterator[list[str]]:
    yield list(head)
    yield from rows


def _cell(change: Mapping[str, Any], name: str) -> str:
    value = change[name]
    if value is None:
        return ""
    if name == "committed_at":
        return time_of(value) or ""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value)


def as_text(found: Iterable[Mapping[str, Any]], start_of: Callable[[Mapping[str, Any]], int], *, full: bool = False) -> Iterator[str]:
    """Yield lines for people: a transaction's time, start and GTID, then each row with the values that it got or lost.

    Args:
        found: The row changes.
        start_of: Returns the offset at which the transaction of a change begins.
        full: Show long values whole, instead of shortened to the width of a terminal.
    """
    last = None
    for change in found:
        if change["position"] != last:
            yield ("" if last is None else "\n") + _head(change, start_of(change))
            last = change["position"]
        yield from _row(change, full)


def _head(change: Mapping[str, Any], start: int) -> str:
    moment = change["committed_at"]
    time = "no time" if moment is None else moment.strftime("%Y-%m-%d %H:%M:%S.%f UTC")
    name = change["file"].rsplit("/", 1)[-1]
    return f"{time}  {name}:{start}\n{change['gtid'] or 'no GTID'}\n"


def _row(change: Mapping[str, Any], full: bool) -> Iterator[str]:
    key = ", ".join(f"{name}={value}" for name, value in (change["key"] or {}).items())
    yield _shortened(f"  {change['operation']} {change['database']}.{change['table']}  {_printable(key)}".rstrip(), WIDTH, full) + "\n"
    before, after = change["before"], change["after"]
    if before is not None and after is not None:
        names = [name for name in after if name not in before or before[name] != after[name]]
    else:
        names = list(before if after is None else after)
    width = min(max((len(name) for name in names), default=0), 24)
    for name in names:
        head = f"    {name:<{width}}  "
        if before is not None and after is not None:
            half = max((WIDTH - len(head) - 4) // 2, 12)
            old = _shortened(_shown(before.get(name, "?")), half, full)
            yield f"{head}{old} -> {_shortened(_shown(after[name]), half, full)}\n"
        else:
            image = before if after is None else after
            yield f"{head}{_shortened(_shown(image[name]), max(WIDTH - len(head), 12), full)}\n"


def _shown(value: str | None) -> str:
    return "NULL" if value is None else _printable(value)


def _printable(text: str) -> str:
    """Return text without characters that would move the cursor.

    >>> len(_printable("a" + chr(10) + "b"))
    4
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _shortened(text: str, width: int, full: bool) -> str:
    """Return text that is cut to a width, with its length.

    >>> _shortened("abcdefghijklmnopqrstuvwxyz", 20, False)
    'abcdefghi... (26)'
    """
    if full or len(text) <= width:
        return text
    end = f"{_MARK} ({len(text)})"
    return text[: max(width - len(end) - 1, 1)] + end


def as_sql(source: SqlSource) -> Iterator[str]:
    """Yield SQL for MySQL and MariaDB: each transaction between BEGIN and COMMIT, each statement with the row that it must find."""
    first = True
    for transaction, statements in source:
        open_ = False
        for sql, rows in statements:
            if first:
                yield from (f"{setting};\n" for setting in ROW_SETTINGS)
                first = False
            if not open_:
                at = transaction.committed_us
                when = "" if at is None else f", committed {moment_text(at)}"
                yield f"\n-- {transaction.gtid or 'no GTID'}{when}\nBEGIN;\n"
                open_ = True
            note = f" -- {rows} rows" if rows > 1 else ""
            yield f"{sql.decode('utf-8', 'surrogateescape')};{note}\n"
        if open_:
            yield "COMMIT;\n"
