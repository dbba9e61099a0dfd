"""The packages depend on each other in one direction (docs/design/architecture.md), imports for type checkers included."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from .repository import ROOT, script

TOOL = script("tools/import_graph.py")
GRAPH = TOOL.read_graph()


def test_no_modules_import_each_other() -> None:
    assert TOOL.circles(GRAPH) == []


def test_no_module_imports_a_higher_layer() -> None:
    assert TOOL.upward(GRAPH) == []


def test_every_module_has_a_layer() -> None:
    parts = {part for layer in TOOL.LAYERS for part in layer}
    assert {name.split(".")[1] for name in GRAPH if "." in name} <= parts


def test_the_linter_checks_the_same_layers() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    (layers,) = (contract["layers"] for contract in contracts if contract["type"] == "layers")
    named = [tuple(sorted(part.strip().removeprefix("paraply.") for part in layer.split("|"))) for layer in layers]
    assert named[:-1] == [tuple(sorted(layer)) for layer in TOOL.LAYERS[:-1]]
    assert set(named[-1]) <= set(TOOL.LAYERS[-1])


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from paraply.b import x", {"paraply.b"}),
        ("from paraply import b", {"paraply.b"}),
        ("import paraply.b as b", {"paraply.b"}),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from paraply.b import X", {"paraply.b"}),
        ("def f():\n    from paraply.b import x", {"paraply.b"}),
        ("from paraply import x", {"paraply"}),
    ],
)
def test_the_graph_sees_every_form_of_import(tmp_path: Path, source: str, found: set[str]) -> None:
    package = tmp_path / "paraply"
    package.mkdir()
    for name, text in (("__init__", ""), ("a", source), ("b", "")):
        (package / f"{name}.py").write_text(text, encoding="utf-8")
    assert TOOL.read_graph(package)["paraply.a"] == found


def test_a_circle_and_an_upward_import_are_found() -> None:
    graph = {"paraply.schema.a": frozenset({"paraply.schema.b"}), "paraply.schema.b": frozenset({"paraply.schema.a", "paraply.cli.c"})}
    assert TOOL.circles(graph) == [["paraply.schema.a", "paraply.schema.b"]]
    assert TOOL.upward(graph) == [("paraply.schema.b", "paraply.cli.c")]
