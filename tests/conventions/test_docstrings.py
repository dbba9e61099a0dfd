"""Descriptions begin with a verb or a noun; ruff's D401 checks more words, but not questions such as "Whether" or "Return what"."""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from conventions.repository import files, name

if TYPE_CHECKING:
    from pathlib import Path

QUESTION = re.compile(r"(?:What|Whether|How|Who|Those|Which|Where|When)\b")
RETURNED_QUESTION = re.compile(r"(?:Return|Yield)s? (?:what|whether|how|who|those|which|where|when)\b")
ATTRIBUTE = re.compile(r"^\s*#: ?(.*)")
ITEM = re.compile(r"^\s+\w+: (Whether\b.*)")
SOURCES = list(files("python/paraply", "benches", "tools", "tests", suffixes=(".py", ".pyi")))
TESTS = list(files("tests", suffixes=(".py",)))
STUB = "python/paraply/_native.pyi"
"""Its docstrings are those of the native module, word by word (``test_native_docs.py``)."""
RUST = list(files("rust", suffixes=(".rs",)))
Described = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def descriptions(source: str) -> list[tuple[int, str]]:
    """Return the descriptions of functions, classes and attributes of a module, with their lines."""
    nodes = list(ast.walk(ast.parse(source)))
    found = [(node.lineno, ast.get_docstring(node) or "") for node in nodes if isinstance(node, Described)]
    bodies = [body for node in nodes if isinstance(body := getattr(node, "body", None), list)]
    pairs = [pair for body in bodies for pair in pairwise(body)]
    found += [
        (text.lineno, text.value.value)
        for first, text in pairs
        if isinstance(first, ast.Assign | ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
        if isinstance(text.value.value, str)
    ]
    lines = list(enumerate(source.splitlines(), 1))
    found += [(number, match[1]) for number, line in lines for pattern in (ATTRIBUTE, ITEM) if (match := pattern.match(line))]
    return sorted(found)


def questions(source: str) -> list[str]:
    """Return the descriptions of a module that are questions, as line and first words."""
    asked = [(line, text) for line, text in descriptions(source) if QUESTION.match(text) or RETURNED_QUESTION.match(text)]
    return [f"line {line}: {text.splitlines()[0]}" for line, text in asked]


def test_a_question_is_found() -> None:
    assert questions('def a():\n    """Whether it is."""\n\ndef b():\n    """Return True if it is."""\n') == ["line 1: Whether it is."]
    assert questions("class C:\n    def d(self):\n        '''Wherever it is.'''\n") == []
    assert questions("class C:\n    '''Which one.'''\n") == ["line 1: Which one."]
    assert questions("def a():\n    '''Return what it is.'''\n") == ["line 1: Return what it is."]
    assert questions("A = 1\n'''How many.'''\nB = 2\n'''Number of them.'''\n") == ["line 2: How many."]
    assert questions("#: Whether it is.\nA = True\n") == ["line 1: Whether it is."]
    assert questions("def a(b):\n    '''Do it.\n\n    Args:\n        b: Whether it is.\n    '''\n") == ["line 5: Whether it is."]


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_descriptions_are_no_questions(path: Path) -> None:
    assert questions(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", TESTS, ids=name)
def test_docstrings_of_test_modules_begin_with_a_noun(path: Path) -> None:
    assert not QUESTION.match(ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "")


def rust_questions(source: str) -> list[str]:
    """Return the documentation comments that begin with a question, as line and first words."""
    lines = ["", *source.splitlines()]
    first = [
        (number, line.strip()) for number, line in enumerate(lines) if number and not lines[number - 1].strip().startswith(line.strip()[:3])
    ]
    found = [(number, line) for number, line in first if line[:3] in ("///", "//!")]
    return [
        f"line {number}: {line}" for number, line in found if any(each.match(line[3:].strip()) for each in (QUESTION, RETURNED_QUESTION))
    ]


def test_a_question_in_rust_is_found() -> None:
    source = "//! Whether.\n\n/// Returns it.\n/// What it is.\nfn a() {}\n/// What it was.\nfn b() {}\n\n/// Returns how.\n"
    assert rust_questions(source) == ["line 1: //! Whether.", "line 6: /// What it was.", "line 9: /// Returns how."]


@pytest.mark.parametrize("path", RUST, ids=name)
def test_documentation_of_rust_begins_with_a_verb_or_a_noun(path: Path) -> None:
    assert rust_questions(path.read_text(encoding="utf-8")) == []
