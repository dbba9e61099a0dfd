"""Small changes of every line of a module, made by rule, and the tests that must notice them: a mutation score.

Each change is one of those of a mutation tester: another comparison or operator, a constant that is off by one, a condition that is always
or never true, a statement that is left out. It is made in the code of the running functions, so that one process tries hundreds of them.
"""

from __future__ import annotations

import ast
import copy
import importlib
import inspect
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FunctionType
from typing import Any

__all__ = ["MODULES", "Change", "changes_of", "in_place"]

MODULES = {
    "applier.commit.commit_order": ("applier/test_commit_order.py", "applier/test_scheduling.py"),
    "applier.schedule.job_list": ("applier/test_scheduling.py", "applier/test_batch.py", "applier/test_contention.py"),
    "targets.progress.file_ledger": ("test_progress.py", "applier/test_batch.py"),
    "targets.progress.gtid_ledger": ("test_progress.py", "applier/test_batch.py"),
}
"""Modules, and the unit tests that are tried where the simulation notices nothing."""
_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.BitOr: ast.BitAnd}


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a function.

    Attributes:
        function: The function.
        name: Module and function.
        number: Number of the change in the function.
        text: The changed line before and after.
    """

    function: FunctionType
    name: str
    number: int
    text: str


def changes_of(module: str) -> list[Change]:
    """Return every change of a module below ``paraply``."""
    found = []
    for name, function in _functions(importlib.import_module(f"paraply.{module}")):
        for number, (before, after) in enumerate(_texts(function)):
            if after:
                found.append(Change(function, f"{module}:{name}", number, f"{before} -> {after}"))
    return found


@contextmanager
def in_place(change: Change) -> Iterator[None]:
    """Make a change for some time."""
    function, before = change.function, change.function.__code__
    tree = _tree(function)
    list(_points(tree))[change.number][1]()
    function.__code__ = _compiled(function, tree)
    try:
        yield
    finally:
        function.__code__ = before


def _functions(module: Any) -> Iterator[tuple[str, FunctionType]]:
    for name, found in vars(module).items():
        if inspect.isfunction(found) and found.__module__ == module.__name__:
            yield name, found
        elif inspect.isclass(found) and found.__module__ == module.__name__:
            for method, value in vars(found).items():
                one = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
                one = inspect.unwrap(one) if callable(one) else one
                if isinstance(one, FunctionType) and one.__module__ == module.__name__ and one.__code__.co_filename == module.__file__:
                    yield f"{name}.{method}", one


def _tree(function: FunctionType) -> ast.Module:
    return ast.parse(textwrap.dedent(inspect.getsource(function)))


def _compiled(function: FunctionType, tree: ast.Module) -> Any:
    flags = function.__code__.co_flags & 0x1000000  # annotations stay text
    space = dict(function.__globals__)
    exec(compile(ast.fix_missing_locations(tree), "<changed>", "exec", flags=flags, dont_inherit=True), space)
    made = space[function.__name__]
    made = made.fget if isinstance(made, property) else getattr(made, "__func__", made)
    return inspect.unwrap(made).__code__


def _texts(function: FunctionType) -> list[tuple[str, str]]:
    """Return the effect of each change of a function on its statement, as text."""
    texts = []
    for number in range(len(list(_points(_tree(function))))):
        tree = _tree(function)
        statement, make = list(_points(tree))[number]
        before = ast.unparse(copy.deepcopy(statement)).partition("\n")[0]
        make()
        try:
            if _compiled(function, tree).co_freevars != function.__code__.co_freevars:
                after = ""
            else:
                after = ast.unparse(statement).partition("\n")[0]
        except SyntaxError:
            after = ""
        texts.append((before, after))
    return texts


def _points(tree: ast.Module) -> Iterator[tuple[ast.stmt, Any]]:
    """Return the statements that can be changed, each with a function that changes it."""
    (top,) = tree.body
    assert isinstance(top, ast.FunctionDef)
    for owner in [node for node in ast.walk(top) if isinstance(getattr(node, "body", None), list)]:
        for field in ("body", "orelse", "finalbody"):
            for place, statement in enumerate(getattr(owner, field, [])):
                yield from _points_of(getattr(owner, field), place, statement)


def _points_of(body: list[ast.stmt], place: int, statement: ast.stmt) -> Iterator[tuple[ast.stmt, Any]]:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return  # a docstring
    if isinstance(statement, (ast.Expr, ast.AugAssign, ast.Delete)):
        yield statement, lambda: body.__setitem__(place, ast.copy_location(ast.Pass(), statement))
    if isinstance(statement, (ast.If, ast.While)):
        for value in (True, False):
            if not (value and isinstance(statement, ast.While)):
                yield statement, lambda value=value: setattr(statement, "test", ast.Constant(value))
    for node in _own(statement):
        yield from ((statement, make) for make in _makers(node))


def _own(statement: ast.stmt) -> Iterator[ast.AST]:
    """Return the nodes of a statement, without those of statements in it."""
    waiting = _parts(statement)
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt)]


def _parts(statement: ast.stmt) -> list[ast.AST]:
    """Return the nodes right below a statement, without other statements and types."""
    hint = getattr(statement, "annotation", None)
    return [child for child in ast.iter_child_nodes(statement) if not isinstance(child, ast.stmt) and child is not hint]


def _makers(node: ast.AST) -> Iterator[Any]:
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            if (other := _COMPARISONS.get(type(operator))) is not None:
                yield lambda place=place, other=other: node.ops.__setitem__(place, other())
    elif isinstance(node, ast.BinOp) and (changed := _OPERATORS.get(type(node.op))) is not None:
        yield lambda: setattr(node, "op", changed())
    elif isinstance(node, ast.BoolOp):
        yield lambda: setattr(node, "op", ast.And() if isinstance(node.op, ast.Or) else ast.Or())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield lambda: setattr(node, "operand", ast.UnaryOp(ast.Not(), node.operand))
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        yield lambda: setattr(node, "value", node.value + 1)
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        yield lambda: setattr(node, "value", not node.value)
