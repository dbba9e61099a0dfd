"""Character sets and collations: numbers, names and defaults, as in the lists of MySQL 9.7 and MariaDB 10.11."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

__all__ = ["CLIENT_CODECS", "Collations", "canonical_charset", "canonical_collation", "collations"]

Family = Literal["mysql", "mariadb"]

CLIENT_CODECS = {
    "ascii": "ascii",
    "big5": "big5",
    "binary": "utf-8",
    "cp1250": "cp1250",
    "cp1251": "cp1251",
    "cp1256": "cp1256",
    "cp1257": "cp1257",
    "cp850": "cp850",
    "cp852": "cp852",
    "cp866": "cp866",
    "cp932": "cp932",
    "eucjpms": "euc_jp",
    "euckr": "euc_kr",
    "gb18030": "gb18030",
    "gb2312": "gb2312",
    "gbk": "gbk",
    "greek": "iso8859_7",
    "hebrew": "iso8859_8",
    "koi8r": "koi8_r",
    "koi8u": "koi8_u",
    "latin1": "cp1252",
    "latin2": "iso8859_2",
    "latin5": "iso8859_9",
    "latin7": "iso8859_13",
    "macroman": "mac_roman",
    "sjis": "shift_jis",
    "tis620": "tis_620",
    "ujis": "euc_jp",
    "utf8mb3": "utf-8",
    "utf8mb4": "utf-8",
}
"""Python's names for the character sets that a client may use.

The native core decodes columns by the servers' own tables (``decode_text``), but does not encode. Statements are decoded and encoded with
the codecs of Python, which ``paraply.logs.client_charset`` corrects where the two differ.
"""


@dataclass(frozen=True)
class Collations:
    """The character sets of one server family.

    Attributes:
        by_number: Full names by the collation numbers in logs.
        charset_of: Character sets by collation name.
        default_of: Default collations by character set.
        width_of: Most bytes of one character, by character set.
    """

    by_number: dict[int, str]
    charset_of: dict[str, str]
    default_of: dict[str, str]
    width_of: dict[str, int]

    def name(self, number: int) -> str | None:
        """Return the name of the collation with this number, or None if unknown.

        >>> collations("mysql").name(255)
        'utf8mb4_0900_ai_ci'
        """
        return self.by_number.get(number)

    def binary_of(self, charset: str) -> str | None:
        """Return the collation that a column's BINARY attribute selects.

        >>> collations("mysql").binary_of("latin1")
        'latin1_bin'
        """
        name = "binary" if charset == "binary" else f"{charset}_bin"
        return name if name in self.charset_of else None


@cache
def collations(family: Family) -> Collations:
    """Return the collations of a server family (information_schema.COLLATIONS and CHARACTER_SETS, stored with the package)."""
    data = json.loads(files(__package__).joinpath("collations.json").read_text("utf-8"))[family]
    rows: list[tuple[int, str, str]] = [(number, name, charset) for number, name, charset in data["collations"]]
    return Collations(
        by_number={number: name for number, name, _ in rows},
        charset_of={name: charset for _, name, charset in rows},
        default_of={charset: default for charset, (default, _) in data["charsets"].items()},
        width_of={charset: width for charset, (_, width) in data["charsets"].items()},
    )


def canonical_charset(name: str) -> str:
    """Return the name in lower case, and ``utf8mb3`` for ``utf8``.

    >>> canonical_charset("UTF8")
    'utf8mb3'
    """
    name = name.lower()
    return "utf8mb3" if name == "utf8" else name


def canonical_collation(name: str) -> str:
    """Return the name in lower case, with the prefix ``utf8mb3_`` for ``utf8_``.

    >>> canonical_collation("utf8_general_ci")
    'utf8mb3_general_ci'
    """
    name = name.lower()
    return "utf8mb3_" + name[5:] if name.startswith("utf8_") else name
