"""Docstrings begin with a verb or a noun; ruff's D401 checks more words, but not questions such as "Whether"."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import pytest
from conventions.repository import files, name

if TYPE_CHECKING:
    from pathlib import Path

QUESTION = re.compile(r"(?:What|Whether|How|Who|Those|Which|Where|When)\b")
SOURCES = list(files("python/paraply", "benches", "tools", suffixes=(".py", ".pyi")))
TESTS = list(files("tests", suffixes=(".py",)))
RUST = list(files("rust", suffixes=(".rs",)))


def questions(source: str) -> list[str]:
    """Return the functions of a module whose docstring does not begin with a verb, as line and first words."""
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    docstrings = [(function, ast.get_docstring(function) or "") for function in functions]
    return [f"line {function.lineno}: {text.splitlines()[0]}" for function, text in docstrings if QUESTION.match(text)]


def test_a_question_is_found() -> None:
    assert questions('def a():\n    """Whether it is."""\n\ndef b():\n    """Return True if it is."""\n') == ["line 1: Whether it is."]
    assert questions("class C:\n    def d(self):\n        '''Wherever it is.'''\n") == []


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_docstrings_of_functions_begin_with_a_verb(path: Path) -> None:
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
    return [f"line {number}: {line}" for number, line in first if line[:3] in ("///", "//!") and QUESTION.match(line[3:].strip())]


def test_a_question_in_rust_is_found() -> None:
    source = "//! Whether.\n\n/// Returns it.\n/// What it is.\nfn a() {}\n/// What it was.\nfn b() {}\n"
    assert rust_questions(source) == ["line 1: //! Whether.", "line 6: /// What it was."]


@pytest.mark.parametrize("path", RUST, ids=name)
def test_documentation_of_rust_begins_with_a_verb_or_a_noun(path: Path) -> None:
    assert rust_questions(path.read_text(encoding="utf-8")) == []
