"""Kinds of refusals, each with the document that tells of it.

An error that no kind fits, or whose document does not hold the kind's words, counts as not documented.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from versions.kinds import Version
from versions.runs import Ended

__all__ = ["KINDS", "Kind", "is_documented", "kind_of"]

DOCS = Path(__file__).parent.parent.parent / "docs"


@dataclass(frozen=True)
class Kind:
    """A kind of refusal.

    Args:
        name: As features name it.
        targets: Condition of the targets that refuse so; ``older`` for targets older than the source, ``any`` for all.
        error: The error's class.
        message: What the error's message matches.
        document: File below ``docs`` that tells of it.
        words: Words of that document which do so.
    """

    name: str
    targets: str
    error: str
    message: str
    document: str
    words: str


KINDS = (
    Kind("statement-format", "any", "LogNotUnderstood", r"statement", "limits.md", "row changes in statement format"),
)


@cache
def _text(document: str) -> str:
    return " ".join((DOCS / document).read_text(encoding="utf-8").split())


def is_documented(kind: Kind) -> bool:
    """Return True if the kind's document holds its words."""
    return " ".join(kind.words.split()) in _text(kind.document)


def kind_of(ended: Ended, source: Version, target: Version) -> str:
    """Return the name of the documented kind that an error belongs to; empty if there is none."""
    for kind in KINDS:
        if kind.error == ended.kind and _concerns(kind, source, target) and re.search(kind.message, ended.message) and is_documented(kind):
            return kind.name
    return ""


def _concerns(kind: Kind, source: Version, target: Version) -> bool:
    if kind.targets == "older":
        return target.family == source.family and target.number < source.number
    return kind.targets == "any" or target.matches(kind.targets)
