"""Family and version of a target's server."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["ServerKind"]


@dataclass(frozen=True, slots=True)
class ServerKind:
    """A server's family and version."""

    mariadb: bool
    version: tuple[int, int, int]

    @classmethod
    def parse(cls, text: str) -> ServerKind:
        """Parse the result of ``VERSION()``.

        >>> ServerKind.parse("10.11.6-MariaDB-log")
        ServerKind(mariadb=True, version=(10, 11, 6))
        """
        numbers = [int(number) for number in re.findall(r"\d+", text)[:3]]
        major, minor, patch = [*numbers, 0, 0, 0][:3]
        return cls("mariadb" in text.lower(), (major, minor, patch))

    @property
    def leaves_generated_out(self) -> bool:
        """True if images of updates and deletes may lack generated columns (MariaDB 11.8 omits them, 10.11 does not)."""
        return self.mariadb and self.version >= (11, 0, 0)
