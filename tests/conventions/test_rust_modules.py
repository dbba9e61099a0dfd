"""Files of a Rust crate depend on each other in one direction."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from conventions.repository import ROOT

if TYPE_CHECKING:
    from pathlib import Path

CRATES = sorted(path.parent.name for path in (ROOT / "rust").glob("*/Cargo.toml") if (path.parent / "src" / "lib.rs").exists())
# An import that only documentation needs is no dependency; a test may use what it tests.
DOCUMENTATION = re.compile(r"#\[cfg\(doc\)\]\n[^\n]*\n")
TESTS = re.compile(r"#\[cfg\(test\)\]\nmod \w+ \{.*", re.DOTALL)
IMPORT = re.compile(r"^\s*(?:pub(?:\([a-z]+\))? )?use crate::([^;]+);", re.MULTILINE)
GROUP = re.compile(r"^([\w:]*)\{(.*)\}$", re.DOTALL)


def module_of(source: Path, path: Path) -> str:
    """Return the module that a file holds; the crate's root is the empty text."""
    parts = path.relative_to(source).with_suffix("").parts
    return "::".join(parts[:-1] if parts[-1] in {"lib", "mod"} else parts)


def modules(crate: str) -> dict[str, str]:
    """Return the text of every module of a crate, without tests."""
    source = ROOT / "rust" / crate / "src"
    found = {}
    for path in source.rglob("*.rs"):
        module = module_of(source, path)
        if not re.search(r"(^|::|_)tests?(_|::|$)", module):
            found[module] = TESTS.sub("", DOCUMENTATION.sub("", path.read_text(encoding="utf-8")))
    return found


def paths(tree: str) -> list[str]:
    """Return the paths that an import names: its groups are written out."""
    tree = tree.strip()
    if (group := GROUP.match(tree)) is None:
        return [tree.split(" as ")[0]]
    parts, depth, start, inside = [], 0, 0, group[2]
    for index, letter in enumerate(inside + ","):
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            parts.append(inside[start:index])
            start = index + 1
    return [group[1] + path for part in parts if part.strip() for path in paths(part)]


def imported(path: str, known: dict[str, str]) -> str:
    """Return the module that holds an imported name."""
    parts = path.split("::")
    while parts and "::".join(parts) not in known:
        parts.pop()
    return "::".join(parts)


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that reach each other, by Tarjan's algorithm."""
    numbers: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        numbers[module] = lowest[module] = len(numbers)
        stack.append(module)
        for other in sorted(graph[module]):
            if other not in numbers:
                visit(other)
                lowest[module] = min(lowest[module], lowest[other])
            elif other in stack:
                lowest[module] = min(lowest[module], numbers[other])
        if lowest[module] == numbers[module]:
            group = stack[stack.index(module) :]
            del stack[-len(group) :]
            if len(group) > 1:
                found.append(sorted(group))

    for module in sorted(graph):
        if module not in numbers:
            visit(module)
    return found


def graph_of(crate: str) -> dict[str, set[str]]:
    """Return the modules that each module of a crate imports."""
    known = modules(crate)
    return {
        module: {imported(path, known) for tree in IMPORT.findall(text) for path in paths(tree)} - {module, ""}
        for module, text in known.items()
    }


@pytest.mark.parametrize("crate", CRATES)
def test_files_of_a_crate_form_no_circle(crate: str) -> None:
    found = circles(graph_of(crate))
    print(f"rust/{crate}: {len(modules(crate))} files, {len(found)} circles")
    assert found == []


def test_circles_are_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == [["b", "c"]]
    assert paths("a::{b, c::{D, E as F}}") == ["a::b", "a::c::D", "a::c::E"]
    assert imported("a::b::Name", {"": "", "a": "", "a::b": ""}) == "a::b"
