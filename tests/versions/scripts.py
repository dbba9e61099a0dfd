"""The features: named scripts of statements, read from ``features/*.sql``.

A file holds several features. Lines that begin with ``-- word:`` say what follows:

- ``-- feature: NAME`` begins a feature; ``-- about: TEXT`` says what it tries.
- ``-- only: mysql`` or ``-- only: mariadb 10.11`` (that version and later): sources that can run it; all others if it is left out.
- ``-- refused: TARGET KIND`` names the kind of refusal (``refusals.py``) that is expected of a target: ``postgresql``, ``older`` (a target
  older than the source), a family, ``mariadb <10.6`` (an earlier version), or ``any``; behind ``from`` may stand sources that it holds for.
- ``-- session: NAME`` lets the statements behind it run on a connection of that name; ``-- close: NAME`` closes it.
- ``-- if: mysql`` and ``-- if: mariadb 10.11`` hold for the next statement only.
- ``-- fails`` lets the next statement end in an error.
- ``DELIMITER TEXT`` is the client's own.

``{db}`` becomes the feature's database, which is the default one; ``{user}`` a name of a user that is the feature's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from versions.kinds import Version

__all__ = ["Feature", "Statement", "all_features", "chosen", "parse"]

FOLDER = Path(__file__).parent / "features"
LONGEST_NAME = 24
_WORD = re.compile(r"--\s*(feature|about|only|refused|session|close|if|fails)(?::\s*(.*))?$")


@dataclass(frozen=True)
class Statement:
    """A statement of a script.

    Args:
        text: What is sent to the server; for ``close`` nothing.
        session: Name of the connection.
        condition: For which sources; all if empty.
        fails: True if it ends in an error.
        close: True if the connection is closed in place of a statement.
    """

    text: str
    session: str = "one"
    condition: str = ""
    fails: bool = False
    close: bool = False


@dataclass(frozen=True)
class Feature:
    """A named script.

    Args:
        name: Unique, and part of the names of its databases.
        area: The file that it stands in.
        about: What it tries, in one sentence.
        only: Sources that can run it; all if empty.
        refused: Which targets refuse it, and the kinds of their refusals.
        statements: The script.
    """

    name: str
    area: str
    about: str
    only: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    statements: tuple[Statement, ...] = field(default=(), repr=False)

    @property
    def database(self) -> str:
        """The feature's own database; others of it begin with this name and two underscores."""
        return f"v_{self.name.replace('-', '_')}"

    @property
    def user(self) -> str:
        """Prefix of the names of its users."""
        return f"u_{self.name.replace('-', '_')}"

    def runs_on(self, source: Version) -> bool:
        """Return True if this source can run the script."""
        return not self.only or any(source.matches(condition) for condition in self.only)

    def statements_for(self, source: Version) -> Iterator[Statement]:
        """Yield the statements that this source runs, with the names of the feature."""
        for statement in self.statements:
            if not statement.condition or source.matches(statement.condition):
                yield replace(statement, text=statement.text.replace("{db}", self.database).replace("{user}", self.user))

    def refusals(self, source: Version, target: Version) -> tuple[str, ...]:
        """Return the kinds of refusals that are expected of this target; empty if it has to take the feature."""
        return tuple(kind for condition, kind in self.refused if _concerns(condition, source, target))


def _concerns(condition: str, source: Version, target: Version) -> bool:
    """Return True if a condition of ``-- refused:`` holds: ``older``, ``any``, or a target; behind ``from`` a source."""
    what, _, origin = condition.partition(" from ")
    if origin and not source.matches(origin):
        return False
    if what == "older":
        return target.family == source.family and target.number < source.number
    return what == "any" or target.matches(what)


def parse(text: str, area: str) -> list[Feature]:
    """Return the features of a file."""
    found: list[Feature] = []
    for part in re.split(r"(?m)^(?=--\s*feature:)", text)[1:]:
        feature = _parse_one(part, area)
        if len(feature.name) > LONGEST_NAME or any(other.name == feature.name for other in found):
            raise ValueError(f"{area}: the name {feature.name} is too long, or there twice")
        found.append(feature)
    return found


def _parse_one(text: str, area: str) -> Feature:
    words: dict[str, str] = {}
    only: list[str] = []
    refused: list[tuple[str, str]] = []
    reader = _Reader()
    for line in text.splitlines():
        match = _WORD.match(line.strip())
        if match is None:
            reader.add(line)
            continue
        word, value = match[1], (match[2] or "").strip()
        if word == "only":
            only.extend(part.strip() for part in value.split(","))
        elif word == "refused":
            condition, _, kind = value.rpartition(" ")
            refused.append((condition, kind))
        elif word in ("feature", "about"):
            words[word] = value
        else:
            reader.word(word, value)
    return Feature(words["feature"], area, words["about"], tuple(only), tuple(refused), tuple(reader.end()))


class _Reader:
    """Cuts text into statements."""

    def __init__(self) -> None:
        self._statements: list[Statement] = []
        self._lines: list[str] = []
        self._delimiter = ";"
        self._next = Statement("")

    def word(self, word: str, value: str) -> None:
        """Take a line that says how the next statement runs."""
        if word == "session":
            self._next = replace(self._next, session=value)
        elif word == "close":
            self._statements.append(Statement("", session=value, close=True))
        elif word == "if":
            self._next = replace(self._next, condition=value)
        else:
            self._next = replace(self._next, fails=True)

    def add(self, line: str) -> None:
        """Take a line of SQL."""
        if line.upper().startswith("DELIMITER "):
            self._delimiter = line.split()[1]
            return
        if not self._lines and not line.strip():
            return
        end = line.rstrip().endswith(self._delimiter)
        self._lines.append(line.rstrip().removesuffix(self._delimiter) if end else line)
        if end:
            self._statements.append(replace(self._next, text="\n".join(self._lines).strip()))
            self._lines = []
            self._next = replace(self._next, condition="", fails=False)

    def end(self) -> list[Statement]:
        """Return all statements."""
        if "".join(self._lines).strip():
            raise ValueError(f"a statement without an end: {self._lines}")
        return self._statements


@cache
def all_features() -> tuple[Feature, ...]:
    """Return every feature, by area."""
    found = [feature for path in sorted(FOLDER.glob("*.sql")) for feature in parse(path.read_text(encoding="utf-8"), path.stem)]
    names = [feature.name for feature in found]
    if len(set(names)) != len(names):
        raise ValueError(f"features with the same name: {sorted({name for name in names if names.count(name) > 1})}")
    return tuple(found)


def chosen(words: Iterable[str]) -> list[Feature]:
    """Return the features whose name or area is among these words; all without any.

    Raises:
        ValueError: A word names nothing.
    """
    words = list(words)
    for word in words:
        if not any(word in (feature.name, feature.area) for feature in all_features()):
            raise ValueError(f"no feature and no area is called {word}")
    return [feature for feature in all_features() if not words or feature.name in words or feature.area in words]
