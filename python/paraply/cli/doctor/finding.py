"""Findings of the checks of ``paraply doctor``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["MOST_NAMES", "Finding", "Level", "error", "few", "good", "warning"]

Level = Literal["error", "warning", "good"]

MOST_NAMES = 5
"""Most tables that a finding names."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of one check.

    Attributes:
        level: ``error`` hinders an apply or a replication; ``warning`` costs something, or may hinder later; ``good`` is as it should be.
        subject: Name of the setting, or of what was checked.
        text: What was found, in one sentence without a period.
        mend: The statement that mends it, for the server that was checked; a shell command if it begins with ``$``; None for none.
        where: ``source``, ``target`` or ``here``; set by the command.
    """

    level: Level
    subject: str
    text: str
    mend: str | None = None
    where: str = ""

    def as_json(self) -> dict[str, str | None]:
        """Return the JSON object."""
        return {"where": self.where, "level": self.level, "subject": self.subject, "text": self.text, "mend": self.mend}


def error(subject: str, text: str, mend: str | None = None) -> Finding:
    """Return a finding that hinders."""
    return Finding("error", subject, text, mend)


def warning(subject: str, text: str, mend: str | None = None) -> Finding:
    """Return a finding that does not hinder."""
    return Finding("warning", subject, text, mend)


def good(subject: str, text: str) -> Finding:
    """Return a finding that says that something is as it should be."""
    return Finding("good", subject, text)


def few(names: list[str]) -> str:
    """Return the first names of a list, and the number of the others.

    >>> few(["a", "b"]), few(list("abcdefg"))
    ('a, b', 'a, b, c, d, e and 2 more')
    """
    rest = len(names) - MOST_NAMES
    return ", ".join(names) if rest <= 0 else f"{', '.join(names[:MOST_NAMES])} and {rest} more"
