"""Public names: documented, and no more of them than the stubs say."""

from __future__ import annotations

import ast
import inspect
from typing import TYPE_CHECKING, Any

import pytest
from conventions.repository import ROOT, module_names, module_of

if TYPE_CHECKING:
    from types import ModuleType

STUB = ROOT / "python" / "paraply" / "_native.pyi"


def stub_classes() -> dict[str, ast.ClassDef]:
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def stub_names() -> set[str]:
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    defined = {node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    constants = {node.target.id for node in tree.body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}
    return {name for name in defined | constants if not name.startswith("_")}


def own_members(kind: type) -> set[str]:
    return {name for name in vars(kind) if not name.startswith("_")}


def documented(thing: Any) -> bool:
    """Return True if a name has a docstring of its own; names of the native module have it in the stub."""
    if not isinstance(thing, tuple) and getattr(thing, "__module__", "") == "paraply._native":
        node = stub_classes().get(thing.__name__)
        return node is None or ast.get_docstring(node) is not None
    if inspect.isclass(thing):
        return bool(vars(thing).get("__doc__"))
    return not inspect.isroutine(thing) or bool(inspect.getdoc(thing))


@pytest.mark.parametrize("name", module_names())
def test_every_public_name_is_there_and_has_a_docstring(name: str) -> None:
    module = module_of(name)
    assert module.__doc__, f"{name} has no docstring"
    missing = [public for public in getattr(module, "__all__", ()) if not hasattr(module, public)]
    assert missing == [], f"{name}.__all__ names what is not there"
    silent = [public for public in getattr(module, "__all__", ()) if not documented(getattr(module, public))]
    assert silent == [], f"{name}: public names without a docstring"


@pytest.mark.parametrize("name", module_names())
def test_every_module_with_public_definitions_says_which(name: str) -> None:
    module = module_of(name)
    assert hasattr(module, "__all__") or not defines_public(module)


def defines_public(module: ModuleType) -> bool:
    return any(
        not name.startswith("_") and getattr(thing, "__module__", None) == module.__name__
        for name, thing in vars(module).items()
        if inspect.isclass(thing) or inspect.isfunction(thing)
    )


def test_the_stub_names_what_the_native_module_has() -> None:
    import paraply._native as native

    public = {name for name in dir(native) if not name.startswith("_")}
    assert public == stub_names()


def test_the_stub_names_the_members_of_the_native_classes() -> None:
    import paraply._native as native

    different = {}
    for name, node in stub_classes().items():
        functions = {member.name for member in node.body if isinstance(member, ast.FunctionDef)}
        fields = {member.target.id for member in node.body if isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name)}
        members = {name for name in functions | fields if not name.startswith("_")}
        there = own_members(getattr(native, name))
        if members != there:
            different[name] = sorted(members ^ there)
    assert different == {}


def test_no_native_function_returns_a_tuple_without_names() -> None:
    unnamed = [
        f"{function.name}, line {function.lineno}"
        for function in ast.walk(ast.parse(STUB.read_text(encoding="utf-8")))
        if isinstance(function, ast.FunctionDef) and function.returns is not None
        for part in ast.walk(function.returns)
        if isinstance(part, ast.Name) and part.id == "tuple"
    ]
    assert unnamed == [], "values from Rust have names (rust/python/src/records.rs)"
