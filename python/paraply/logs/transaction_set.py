"""Single transactions that a user names: a set of GTIDs in which a MariaDB GTID stands for itself, and not for all before it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from paraply._native import GtidSet
from paraply.errors import UsageError

__all__ = ["TransactionSet"]

_MARIADB = re.compile(r"(\d+)-(\d+)-(\d+)(?:-(\d+))?")

Origin = tuple[int, int]


@dataclass(slots=True)
class TransactionSet:
    """GTIDs of single transactions.

    Attributes:
        mysql: The GTIDs of MySQL.
        mariadb: First and last sequence number of ranges, by domain and server.
    """

    mysql: GtidSet = field(default_factory=lambda: GtidSet(""))
    mariadb: dict[Origin, list[tuple[int, int]]] = field(default_factory=dict)

    @classmethod
    def parse(cls, option: str, text: str) -> TransactionSet:
        """Return the set of a text: MySQL's form, or MariaDB's GTIDs and ranges ``domain-server-first-last`` with commas between.

        Raises:
            UsageError: The text is no such set; the message names the option.

        >>> found = TransactionSet.parse("--gtid", "0-1-5, 0-1-9-11")
        >>> [gtid in found for gtid in ("0-1-4", "0-1-5", "0-1-10", "0-2-10")]
        [False, True, True, False]
        """
        parts = [part.strip() for part in text.split(",") if part.strip()]
        if not parts:
            raise UsageError(f"{option}: give at least one GTID")
        found = cls()
        others = []
        for part in parts:
            match = _MARIADB.fullmatch(part)
            if match is None:
                others.append(part)
                continue
            domain, server, first, last = (int(number or 0) for number in match.groups())
            if match[4] is not None and last < first:
                raise UsageError(f"{option} {part}: the range ends before it begins")
            found.mariadb.setdefault((domain, server), []).append((first, max(first, last)))
        if others:
            found.mysql = GtidSet(",".join(others))
        return found

    def __contains__(self, gtid: str) -> bool:
        """Return True if a transaction is named."""
        match = _MARIADB.fullmatch(gtid)
        if match is None:
            return bool(gtid) and gtid in self.mysql
        number = int(match[3])
        return any(first <= number <= last for first, last in self.mariadb.get((int(match[1]), int(match[2])), ()))

    def missing(self, found: TransactionSet) -> str:
        """Return the named GTIDs that another set lacks, as text; of a long list the first ones."""
        lacking = [str(self.mysql - found.mysql)] if self.mysql - found.mysql else []
        for (domain, server), ranges in self.mariadb.items():
            held = found.mariadb.get((domain, server), [])
            for first, last in ranges:
                gaps = _outside(first, last, held)
                lacking += [f"{domain}-{server}-{a}" + (f"-{b}" if b > a else "") for a, b in gaps]
        return ", ".join(lacking[:5]) + (f" and {len(lacking) - 5} more" if len(lacking) > 5 else "")

    def add(self, gtid: str) -> None:
        """Add one GTID, as a log has it."""
        match = _MARIADB.fullmatch(gtid)
        if match is None:
            self.mysql.add(gtid)
            return
        number = int(match[3])
        ranges = self.mariadb.setdefault((int(match[1]), int(match[2])), [])
        if ranges and ranges[-1][1] + 1 == number:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))

    def __str__(self) -> str:
        """Return the set as ``parse`` reads it."""
        ranges = [
            f"{domain}-{server}-{first}" + (f"-{last}" if last > first else "")
            for (domain, server), found in self.mariadb.items()
            for first, last in found
        ]
        return ",".join(([str(self.mysql)] if self.mysql else []) + ranges)


def _outside(first: int, last: int, held: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the parts of a range that no other one covers.

    >>> _outside(1, 10, [(2, 3), (7, 20)])
    [(1, 1), (4, 6)]
    """
    gaps = []
    at = first
    for start, end in sorted(held):
        if start > last:
            break
        if start > at:
            gaps.append((at, start - 1))
        at = max(at, end + 1)
    return gaps + ([(at, last)] if at <= last else [])
