"""Documentation: links lead somewhere, examples are Python, the navigation is complete."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from conventions.repository import ROOT, files, name
from required import required_module

if TYPE_CHECKING:
    from pathlib import Path

PAGES = [ROOT / "README.md", *files("docs", suffixes=(".md",))]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The anchors that mkdocs makes of a page's headings."""
    found = set()
    for heading in HEADING.findall(page.read_text(encoding="utf-8")):
        plain = re.sub(r"[^\w\s-]", "", heading.replace("`", "")).strip().lower()
        found.add(re.sub(r"[-\s]+", "-", plain))
    return found


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" in link:
            continue
        place, _, anchor = link.partition("#")
        target = (page.parent / place).resolve() if place else page
        if not target.is_file() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_examples_are_python(page: Path) -> None:
    for example in FENCE.findall(page.read_text(encoding="utf-8")):
        compile(example, name(page), "exec")


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_examples_import_what_is_there(page: Path) -> None:
    for example in FENCE.findall(page.read_text(encoding="utf-8")):
        for line in example.splitlines():
            if line.startswith("from paraply"):
                if line.startswith("from paraply.spark"):
                    required_module("pyspark")
                exec(line, {})


def test_the_navigation_names_every_page() -> None:
    named = set(re.findall(r"[:-] (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE))
    assert named == {page.relative_to(ROOT / "docs").as_posix() for page in files("docs", suffixes=(".md",))}


def test_the_readme_begins_with_how_to_try_it() -> None:
    first = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:24]
    assert any(line.startswith("make demo") for line in first)
    assert any(line.startswith("make test") for line in first)
