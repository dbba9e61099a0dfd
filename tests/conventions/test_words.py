"""One thing has one name: words that CONTRIBUTING.md replaces are in no name of Python.

Words with another meaning beside the replaced one are left out: a *series* of a chart, *through* as a preposition, to *hand* a job out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from conventions.repository import ROOT, defined_names, files, name

if TYPE_CHECKING:
    from pathlib import Path

SOURCES = list(files("python/paraply", "tools", "benches", "tests", suffixes=(".py",)))
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
REPLACED = (
    "seat", "hands", "crew", "waves", "peek", "outline", "foresight", "journey", "board", "under way", "in the way", "ours", "tell", "say",
    "room", "house",
)  # fmt: skip
"""Words of the column *not* that have no other meaning in a name."""
FORMS = {"seat": ("seats",), "waves": ("wave",), "peek": ("peeked",), "board": ("boards",), "ours": ("theirs",), "tell": ("tells", "told"),
         "say": ("says", "said"), "room": ("rooms",)}  # fmt: skip
"""Further forms of these words."""
WORDS = {*REPLACED, *(form for forms in FORMS.values() for form in forms)}


def replaced(source: str) -> list[str]:
    """Return the names with a replaced word, as line and name; not those of tests, which are sentences."""
    found = []
    for line, defined in defined_names(source):
        if defined.startswith(("test_", "Test")):
            continue
        text = f" {CAMEL.sub('_', defined).lower().replace('_', ' ')} "
        if any(f" {word} " in text for word in WORDS):
            found.append(f"line {line}: {defined}")
    return found


def test_a_replaced_word_is_found() -> None:
    assert replaced("def tell_it(told):\n    self._room = 1\n    mushroom = told_apart\n") == [
        "line 1: tell_it",
        "line 1: told",
        "line 2: _room",
    ]
    assert replaced("class StatusBoard:\n    def test_it_says_so(self): ...\n") == ["line 1: StatusBoard"]


def test_the_page_replaces_each_word() -> None:
    table = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("| name | meaning | not |")[2]
    words = {word.strip() for row in table.splitlines() if row.count("|") == 4 for word in row.split("|")[3].split(",")}
    assert set(REPLACED) - {"hands"} <= words
    assert "hand" in words
    assert FORMS.keys() <= set(REPLACED)


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_names_have_no_replaced_word(path: Path) -> None:
    assert replaced(path.read_text(encoding="utf-8")) == []
