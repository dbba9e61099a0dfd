"""Each rule that code names is defined in docs/design/rules.md, and each place and test that the page names is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/design/rules.md").read_text()
SECTIONS = dict(re.findall(r"^### (R\d+[ab]?): [^\n]+\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL))
CITED = re.compile(r"\bR\d{1,2}[ab]?\b")


def cited() -> dict[str, str]:
    """Return each rule that code names, with a file that names it."""
    files = [path for folder in ("python", "rust") for path in (ROOT / folder).rglob("*") if path.suffix in {".py", ".rs"}]
    found: dict[str, str] = {}
    for path in files:
        for comment in re.findall(r"[Rr]ules? [^\n]*|\([^()\n]*\bR\d[^()\n]*\)", path.read_text()):
            found.update((rule, str(path.relative_to(ROOT))) for rule in CITED.findall(comment))
    return found


def test_each_rule_that_code_names_is_defined() -> None:
    named = cited()
    assert len(named) > 30
    assert {rule: path for rule, path in named.items() if rule not in SECTIONS} == {}


@pytest.mark.parametrize("rule", SECTIONS)
def test_a_rule_has_a_source_a_place_and_tests_that_carry_its_number(rule: str) -> None:
    text = SECTIONS[rule]
    assert "*Source:*" in text
    code, tests = text.partition("*Code:*")[2].split("*Tests:*")
    names = re.findall(r"`([^`]+)`", code)
    places = [name for name in names if "/" in name]
    assert places
    assert [place for place in places if not (ROOT / place).exists()] == []
    content = "".join((ROOT / place).read_text() for place in places if (ROOT / place).is_file())
    symbols = [word for name in names if name not in places for word in re.findall(r"\w+", name)]
    assert [symbol for symbol in symbols if symbol not in content] == []
    named = re.compile(rf"\b(?:test_)?(?:r\d+[ab]?_)*{rule.lower()}_")
    paths = re.findall(r"`([^`]+)`", tests)
    assert paths
    assert [path for path in paths if not named.search((ROOT / path).read_text())] == []
