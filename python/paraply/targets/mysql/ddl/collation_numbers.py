"""Numbers of collations. Logs use these numbers for collations and character sets; servers accept some of them by name only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.errors import ServerError
from paraply.targets.mysql.sql import Connection, rows_of, to_int, to_text

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CollationNumbers"]

_UNKNOWN_COLUMN = 1054
#: First number of MariaDB's collations of UCA 14.0.0; each of the character sets has 256 numbers.
_UCA1400 = 2048
_UCA1400_CHARSETS = ("utf8mb3", "utf8mb4", "ucs2", "utf16", "utf32")


class CollationNumbers:
    """The collations of a server.

    Args:
        collations: Collation and character set of each number.
    """

    def __init__(self, collations: Mapping[int, tuple[str, str]]) -> None:
        self._collations = collations

    @classmethod
    def read(cls, connection: Connection) -> CollationNumbers:
        """Read the collations of a server.

        MariaDB's ``COLLATIONS`` has no numbers for collations of UCA 14.0.0, because each of their names covers all character sets.
        """
        try:
            rows = rows_of(
                connection.query(
                    "SELECT id, full_collation_name, character_set_name FROM information_schema.collation_character_set_applicability"
                )
            )
        except ServerError as error:
            if error.code != _UNKNOWN_COLUMN:
                raise
            rows = rows_of(
                connection.query("SELECT id, collation_name, character_set_name FROM information_schema.collations WHERE id IS NOT NULL")
            )
        return cls({to_int(number): (to_text(collation), to_text(charset)) for number, collation, charset in rows})

    def collation(self, number: int) -> str | None:
        """Return the name of a collation, or None if the server does not have it."""
        return self._collations[number][0] if number in self._collations else None

    def charset(self, number: int) -> str | None:
        """Return the character set of a collation, even of an unknown collation of UCA 14.0.0.

        >>> [CollationNumbers({}).charset(number) for number in (45, 2048, 2304, 3072)]
        [None, 'utf8mb3', 'utf8mb4', 'utf32']
        """
        if number in self._collations:
            return self._collations[number][1]
        place = (number - _UCA1400) // 256
        return _UCA1400_CHARSETS[place] if 0 <= place < len(_UCA1400_CHARSETS) else None
