"""`help()` of a native class says what the stub says."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

import paraply
from paraply import _native

STUB = ast.parse((Path(paraply.__file__).parent / "_native.pyi").read_text())
CLASSES = [node for node in STUB.body if isinstance(node, ast.ClassDef)]
FUNCTIONS = [node for node in STUB.body if isinstance(node, ast.FunctionDef)]


def words(text: str | None) -> list[str]:
    """Return the words of a docstring."""
    return (text or "").split()


@pytest.mark.parametrize("node", CLASSES, ids=lambda node: node.name)
def test_a_native_class_has_the_docstrings_of_the_stub(node: ast.ClassDef) -> None:
    native = getattr(_native, node.name, None)
    if native is None:
        pytest.skip("built without this feature")
    assert words(ast.get_docstring(node)), f"{node.name} has no docstring in the stub"
    assert words(inspect.getdoc(native)) == words(ast.get_docstring(node))
    for member in node.body:
        documented = isinstance(member, ast.FunctionDef) and member.name != "__new__" and ast.get_docstring(member)
        if documented:
            assert words(getattr(native, member.name).__doc__) == words(documented), member.name


@pytest.mark.parametrize("node", FUNCTIONS, ids=lambda node: node.name)
def test_a_native_function_has_the_docstring_of_the_stub(node: ast.FunctionDef) -> None:
    native = getattr(_native, node.name, None)
    if native is None:
        pytest.skip("built without this feature")
    assert words(inspect.getdoc(native)) == words(ast.get_docstring(node)) != []
