"""Single transactions that a user names: a set of GTIDs in which a MariaDB GTID stands for itself, and not for all before it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from paraply._native import GtidSet, MariadbGtidRange, SkipList
from paraply.errors import UsageError

__all__ = ["TransactionSet"]

_MARIADB = re.compile(r"(\d+)-(\d+)-(\d+)(?:-(\d+))?")

_MOST_SHOWN = 1000

Origin = tuple[int, int]


@dataclass(slots=True)
class TransactionSet:
    """GTIDs of single transactions.

    Attributes:
        mysql: The GTIDs of MySQL; more generally a GTID set, with the meaning that such a set has.
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
        if not gtid:
            return False
        match = _MARIADB.fullmatch(gtid)
        if match is None or gtid in self.mysql:
            return gtid in self.mysql
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

    def common(self, other: TransactionSet) -> TransactionSet:
        """Return the transactions that both sets name.

        >>> one, other = (TransactionSet.parse("", text) for text in ("0-1-4-6,0-1-9,0-2-7", "0-1-5-9,0-3-7"))
        >>> str(one.common(other))
        '0-1-5-6,0-1-9'
        """
        found = TransactionSet(self.mysql & other.mysql)
        for origin, ranges in self.mariadb.items():
            held = other.mariadb.get(origin, [])
            both = {(max(first, low), min(last, high)) for first, last in ranges for low, high in held if first <= high and low <= last}
            if both:
                found.mariadb[origin] = sorted(both)
        return found

    def held_by(self, gtids: GtidSet) -> str:
        """Return the named GTIDs that a set holds, as text; of long ranges the first ones."""
        both = self.mysql & gtids
        held = [str(both)] if both else []
        for (domain, server), ranges in self.mariadb.items():
            for first, last in ranges:
                numbers = range(first, min(last, first + _MOST_SHOWN) + 1)
                held += [gtid for gtid in (f"{domain}-{server}-{number}" for number in numbers) if gtid in gtids]
        return ", ".join(held[:5]) + (f" and {len(held) - 5} more" if len(held) > 5 else "")

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

    @classmethod
    def of(cls, option: str, names: TransactionSet | GtidSet | str | None) -> TransactionSet | None:
        """Return the set that an argument names, or None; a text is read by ``parse``.

        Raises:
            UsageError: The text is no such set, or the set is empty.
        """
        if names is None or isinstance(names, TransactionSet):
            return names
        if isinstance(names, GtidSet):
            return cls(names) if names else None
        return cls.parse(option, names)

    @classmethod
    def found_by(cls, found: SkipList) -> TransactionSet:
        """Return the transactions that a reader has found."""
        return cls(found.gtids, _by_origin(found.ranges))

    def native(self) -> SkipList:
        """Return the set for a reader of logs."""
        return SkipList(self.mysql, [(*origin, *numbers) for origin, ranges in self.mariadb.items() for numbers in ranges])

    def __bool__(self) -> bool:
        """Return True if a transaction is named."""
        return bool(self.mysql or self.mariadb)

    @property
    def is_of_mariadb(self) -> bool:
        """True if GTIDs of MariaDB are named."""
        return bool(self.mariadb) or (bool(self.mysql) and ":" not in str(self.mysql))

    @property
    def is_of_mysql(self) -> bool:
        """True if GTIDs of MySQL are named."""
        return ":" in str(self.mysql)

    def __str__(self) -> str:
        """Return the set as ``parse`` reads it."""
        ranges = [
            f"{domain}-{server}-{first}" + (f"-{last}" if last > first else "")
            for (domain, server), found in self.mariadb.items()
            for first, last in found
        ]
        return ",".join(([str(self.mysql)] if self.mysql else []) + ranges)


def _by_origin(ranges: list[MariadbGtidRange]) -> dict[Origin, list[tuple[int, int]]]:
    """Return ranges by their domain and server."""
    by_origin: dict[Origin, list[tuple[int, int]]] = {}
    for each in ranges:
        by_origin.setdefault((each.domain, each.server_id), []).append((each.first, each.last))
    return by_origin


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
