"""Environment variables: each that is read is documented with who sets it, and what CI is said to set, it sets."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conventions.repository import ROOT, files, name

VARIABLE = re.compile(r"\bPARAPLY_[A-Z0-9_]*[A-Z0-9]\b(?!\{)")
#: A line of the table in CONTRIBUTING.md: names, who sets them, meaning.
ROW = re.compile(r"^\|((?: ?`PARAPLY_[A-Z0-9_]+`,?)+) \| ([^|]+) \| [^|]+ \|$", re.MULTILINE)
#: Of users, and documented for them.
OF_USERS = {"PARAPLY_KEYRING", "PARAPLY_PASSWORD", "PARAPLY_STORAGE_OPTIONS"}
CI = ".ci/run"
WORKFLOWS = "workflows"
SETTERS = {CI, WORKFLOWS, "make", "manual"}


def code() -> list[Path]:
    """Return every file that may read a variable."""
    folders = ("python", "tests", "benches", "tools", "rust")
    named = [ROOT / "Makefile", ROOT / CI, ROOT / ".ci" / "mysql"]
    return [*files(*folders, suffixes=(".py", ".rs", ".sh")), *named]


def documented() -> dict[str, str]:
    """Return the setter of each variable, as CONTRIBUTING.md has it."""
    rows = ROW.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    return {variable: setter for names, setter in rows for variable in VARIABLE.findall(names)}


def read() -> dict[str, str]:
    """Return the variables that code names, each with a file that does. Those whose names a test makes up are none."""
    own = {Path(__file__).resolve(), ROOT / "tests" / "unit" / "test_required.py"}
    return {variable: name(path) for path in code() if path not in own for variable in VARIABLE.findall(path.read_text(encoding="utf-8"))}


def test_every_variable_is_documented() -> None:
    unknown = {variable: where for variable, where in read().items() if variable not in documented() and variable not in OF_USERS}
    assert unknown == {}, "the table of CONTRIBUTING.md lacks them"


def test_every_documented_variable_is_read() -> None:
    assert set(documented()) - set(read()) == set()


@pytest.mark.parametrize("variable", sorted(OF_USERS))
def test_a_variable_of_users_is_in_their_documentation(variable: str) -> None:
    assert any(variable in page.read_text(encoding="utf-8") for page in files("docs", suffixes=(".md",)))


def test_who_sets_a_variable_does() -> None:
    setters = documented()
    assert set(setters.values()) <= SETTERS
    workflows = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / ".github" / "workflows").glob("*.yml"))
    for setter, sources in ((CI, [CI]), ("make", ["Makefile"]), (WORKFLOWS, workflows)):
        text = "\n".join((ROOT / source).read_text(encoding="utf-8") for source in sources)
        text = text.replace("PARAPLY_TEST_MARIADB_${version/./_}", "PARAPLY_TEST_MARIADB_10_5=PARAPLY_TEST_MARIADB_11_8")  # by version
        assigned = {variable for variable in setters if re.search(rf"\b{variable}(?:=|: )", text)}
        assert {variable for variable, other in setters.items() if other == setter} <= assigned, f"{sources} do not set it"
        assert setter != CI or {setters[variable] for variable in assigned} == {CI}, "CONTRIBUTING.md says otherwise"
