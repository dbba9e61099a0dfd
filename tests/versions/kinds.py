"""Versions of servers, and the pairs of a source and a target that are tried."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "MARIADB_10_5", "MARIADB_10_11", "MARIADB_11_8", "MYSQL", "PAIRS", "SOURCES", "TARGETS", "Pair", "Version", "ci_pair", "pairs_of",
]  # fmt: skip


@dataclass(frozen=True)
class Version:
    """A server of some version.

    Args:
        name: As options and results spell it.
        family: ``mysql``, ``mariadb`` or ``postgresql``.
        number: Its version, to be compared within a family.
        title: As documentation calls it.
    """

    name: str
    family: str
    number: tuple[int, ...]
    title: str

    def matches(self, condition: str) -> bool:
        """Return True for ``mariadb``, ``mariadb 10.11`` (that version or a later one), ``mariadb <11.5`` (an earlier one)."""
        family, _, number = condition.strip().partition(" ")
        if family not in (self.family, self.name):
            return False
        if not number:
            return True
        asked = tuple(int(part) for part in number.strip().lstrip("<").split("."))
        return self.number < asked if number.strip().startswith("<") else self.number >= asked


@dataclass(frozen=True)
class Pair:
    """A source and a target.

    Args:
        source: Where the scripts run.
        target: What the log is applied to.
    """

    source: Version
    target: Version

    @property
    def name(self) -> str:
        """The pair as options and results spell it."""
        return f"{self.source.name}_to_{self.target.name}"

    @property
    def has_newer_collations(self) -> bool:
        """Return True if the target lacks the source's default collations, or cannot have them as defaults."""
        return self.source.matches("mariadb 11.5") and self.target.matches("mariadb <11.5")


MYSQL = Version("mysql-9.7", "mysql", (9, 7), "MySQL 9.7")
MARIADB_10_5 = Version("mariadb-10.5", "mariadb", (10, 5), "MariaDB 10.5")
MARIADB_10_11 = Version("mariadb-10.11", "mariadb", (10, 11), "MariaDB 10.11")
MARIADB_11_8 = Version("mariadb-11.8", "mariadb", (11, 8), "MariaDB 11.8")
DEBIAN = Version("postgresql-debian", "postgresql", (15,), "PostgreSQL 15 of Debian")
EMBEDDED = Version("postgresql-embedded", "postgresql", (18,), "embedded PostgreSQL 18")

SOURCES = (MYSQL, MARIADB_10_5, MARIADB_10_11, MARIADB_11_8)
TARGETS = (*SOURCES, DEBIAN, EMBEDDED)
PAIRS = tuple(Pair(source, target) for source in SOURCES for target in TARGETS if target.family in (source.family, "postgresql"))


def ci_pair(source: Version, day: int) -> Pair:
    """Return the pair with this source that continuous integration runs on a day; `make versions` runs all pairs."""
    pairs = [pair for pair in PAIRS if pair.source == source]
    return pairs[(day + SOURCES.index(source)) % len(pairs)]


def pairs_of(names: list[str]) -> list[Pair]:
    """Return the pairs of these names; a name of a version stands for all pairs with that source, no name for all pairs.

    Raises:
        ValueError: A name is that of no pair.
    """
    for name in names:
        if not any(name in (pair.name, pair.source.name) for pair in PAIRS):
            raise ValueError(f"no pair {name}: {', '.join(pair.name for pair in PAIRS)}")
    return [pair for pair in PAIRS if not names or pair.name in names or pair.source.name in names]
