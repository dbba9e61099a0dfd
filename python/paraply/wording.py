"""Counts and names in texts for people."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from paraply._native import WriteSetFallback

__all__ = [
    "COPIES",
    "WILDCARDS",
    "counted",
    "fallback_reasons",
    "fallback_total",
    "fallback_words",
    "name_for_people",
    "option_text",
    "table_for_people",
    "table_option",
    "without_copies",
]

COPIES = "paraply-logs-"
"""Start of the name of the temporary folder with plain copies of logs."""
_COPY = re.compile(rf"(?:/[^\s/]+)*/{COPIES}[a-z0-9_]{{8}}/tmp[a-z0-9_]{{8}}/")

_PLAIN = re.compile(r"[0-9A-Za-z_$\u0080-\uffff]+")
"""Names that MySQL and MariaDB take without backticks, unless they are all digits."""


def counted(number: int, noun: str, several: str | None = None) -> str:
    """Return a number with its noun.

    Args:
        number: The number.
        noun: The words for one.
        several: The words for any other number; by default the noun with an ``s``.

    >>> counted(1, "transaction"), counted(2345, "transaction"), counted(0, "retry", "retries")
    ('1 transaction', '2,345 transactions', '0 retries')
    """
    return f"{number:,} {noun if number == 1 else several or noun + 's'}"


def name_for_people(*parts: str) -> str:
    """Return a name of parts, such as database and table, as the statements of MySQL and MariaDB take it.

    Parts of letters, digits, ``_`` and ``$`` stay as they are. Others are in backticks.

    >>> name_for_people("shop", "item"), name_for_people("my shop", "a`b"), name_for_people("shop", "2026")
    ('shop.item', '`my shop`.`a``b`', 'shop.`2026`')
    """
    return ".".join(part if _PLAIN.fullmatch(part) and not part.isdigit() else "`" + part.replace("`", "``") + "`" for part in parts)


def table_for_people(name: str) -> str:
    """Return the ``database.table`` of a report as the statements of MySQL and MariaDB take it.

    >>> table_for_people("my shop.item")
    '`my shop`.item'
    """
    database, dot, table = name.partition(".")
    return name_for_people(database, table) if dot else name


def fallback_reasons(fallbacks: Iterable[WriteSetFallback]) -> list[dict[str, Any]]:
    """Return the reasons for coarser write sets (R13) as the fields ``fallback_reasons`` of the commands' JSON objects.

    >>> from paraply._native import WriteSetFallback
    >>> fallback_reasons([WriteSetFallback("no unique key", "shop.log", 3)])
    [{'reason': 'no unique key', 'table': 'shop.log', 'count': 3}]
    """
    return [{"reason": each.reason, "table": each.table, "count": each.number} for each in fallbacks]


def fallback_total(fallbacks: Iterable[WriteSetFallback]) -> int:
    """Return the number of coarser write sets.

    >>> from paraply._native import WriteSetFallback
    >>> fallback_total([WriteSetFallback("no unique key", "shop.log", 3), WriteSetFallback("unknown table", "shop.new", 2)])
    5
    """
    return sum(each.number for each in fallbacks)


def fallback_words(reason: str, table: str, count: int) -> str:
    """Return the words about a fallback to a coarser write set.

    >>> fallback_words("no unique key", "shop.item", 1)
    'no unique key, table shop.item, 1 time'
    """
    return f"{reason}, table {table_for_people(table)}, {counted(count, 'time')}"


def without_copies(text: str) -> str:
    """Return a text with the bare name of each plain copy of a log, whose folder is gone when the process has ended.

    >>> without_copies("before /tmp/paraply-logs-7z7uke58/tmpt88w2sza/binlog.000002:491, as asked")
    'before binlog.000002:491, as asked'
    """
    return _COPY.sub("", text) if COPIES in text else text


WILDCARDS = "*%"
"""Characters of patterns, as of ``replicate-wild-do-table``: options take none, so names that have them stand between backticks."""


def option_text(option: str, value: str) -> str:
    """Return an option with its value, as a shell takes it.

    >>> option_text("--database", "shop"), option_text("--database", "my shop")
    ('--database shop', "--database 'my shop'")
    """
    return f"{option} {shlex.quote(value)}"


def table_option(option: str, *tables: tuple[str, str]) -> str:
    """Return an option that names a table, or an old and a new one, as a shell and the option take it.

    Args:
        option: The option.
        tables: Database and name of each table.

    >>> table_option("--table", ("shop", "item")), table_option("--table", ("my shop", "a.b"))
    ('--table shop.item', "--table 'my shop.`a.b`'")
    >>> table_option("--rename-table", ("shop", "item"), ("old", "item"))
    '--rename-table shop.item=old.item'
    >>> table_option("--table", ("shop", "50%"))
    "--table 'shop.`50%`'"
    """
    return option_text(option, "=".join(".".join(map(_for_option, table)) for table in tables))


def _for_option(part: str) -> str:
    """Return a database or a table as the options take it: between backticks if it has a character that they give a meaning to."""
    return "`" + part.replace("`", "``") + "`" if set(part) & {*".`=", *WILDCARDS} else part
