"""The page of the architecture names packages, files and symbols that are there, and every package and crate."""

from __future__ import annotations

import re

import pytest
from conventions.repository import ROOT

PAGE = (ROOT / "docs/design/architecture.md").read_text(encoding="utf-8")
PLACE = r"(?:python|rust|tests|docs|benches)/[\w./-]+"


def section(name: str) -> str:
    """Return the text below a heading."""
    found = re.search(rf"^## {name}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def first_cells(name: str) -> set[str]:
    """Return the names in the first column of a section's table."""
    rows = re.findall(r"^\| (`.+?`) \|", section(name), re.MULTILINE)
    return {cell for row in rows for cell in re.findall(r"`([^`]+)`", row)}


@pytest.mark.parametrize("place", sorted(set(re.findall(rf"`({PLACE})`", PAGE))))
def test_a_place_that_the_page_names_is_there(place: str) -> None:
    assert (ROOT / place).exists()


@pytest.mark.parametrize(("symbol", "place"), re.findall(rf"`(\w+)` in\s+`({PLACE})`", PAGE))
def test_a_symbol_that_the_page_names_is_in_its_file(symbol: str, place: str) -> None:
    pattern = rf"\b(?:class|def|struct|enum|trait|fn|mod) {symbol}\b|^{symbol}\b.* = "
    assert re.search(pattern, (ROOT / place).read_text(encoding="utf-8"), re.MULTILINE)


def test_the_page_names_every_package() -> None:
    package = ROOT / "python/paraply"
    folders = {path.name for path in package.iterdir() if (path / "__init__.py").exists() and path.name != "data"}
    named = first_cells("Python")
    assert folders <= named
    assert {name for name in named if not (package / name).is_dir() and not (package / f"{name}.py").exists()} == set()


def test_the_page_names_every_crate() -> None:
    crates = {path.parent.relative_to(ROOT).as_posix() for path in (ROOT / "rust").glob("*/Cargo.toml")}
    assert first_cells("Rust") == crates
