"""Docstrings of functions begin with a verb; ruff's D401 checks more words, but not questions such as "Whether"."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import pytest
from conventions.repository import files, name

if TYPE_CHECKING:
    from pathlib import Path

QUESTION = re.compile(r"(?:What|Whether|How|Who|Those|Where|When)\b")
SOURCES = list(files("python/paraply", "benches", "tools", suffixes=(".py", ".pyi")))


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
