"""The tests that ``docs/design/proof.md`` names for small inputs are there."""

from __future__ import annotations

import re

import pytest
from conventions.repository import ROOT, defined_names

PAGE = (ROOT / "docs" / "design" / "proof.md").read_text(encoding="utf-8")
TABLE = PAGE.partition("\n## Small inputs\n")[2].partition("\n## ")[0]
ROWS = re.findall(r"^\| (.+) \| (.+) \|$", TABLE, re.MULTILINE)[1:]


def test_the_table_is_found() -> None:
    assert len(ROWS) > 30
    assert len({about for about, _ in ROWS}) == len(ROWS)


@pytest.mark.parametrize(("about", "tests"), ROWS, ids=[about for about, _ in ROWS])
def test_each_input_has_its_tests(about: str, tests: str) -> None:
    found = [each.strip("`").split("::") for each in tests.split(", ")]
    for file, function in found:
        source = (ROOT / file).read_text(encoding="utf-8")
        names = re.findall(r"\bfn (\w+)\(", source) if file.endswith(".rs") else [name for _, name in defined_names(source)]
        assert function in names, f"{about}: {file} has no {function}"
