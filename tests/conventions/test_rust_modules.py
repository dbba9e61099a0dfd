"""Files of a Rust crate depend on each other in one direction (docs/design/architecture.md)."""

from __future__ import annotations

from pathlib import Path

import pytest

from .repository import script

TOOL = script("tools/rust_graph.py")
CIRCLES = script("tools/import_graph.py").circles
CRATES = TOOL.crates()


@pytest.mark.parametrize("crate", CRATES, ids=lambda crate: crate.name)
def test_files_of_a_crate_form_no_circle(crate: Path) -> None:
    assert CIRCLES(TOOL.read_graph(crate)) == []


@pytest.mark.parametrize(
    "source",
    [
        "use crate::a::b::B;",
        "use super::b::B;",
        "use super::{self as parent, b::{B, C as D}};",
        "use super::B;",
        "use super::Same;",
        "use crate::a::B as Other;",
        "use crate::Top;",
        "fn f() { super::b::f() }",
        "fn f() -> crate::a::B { panic!() }",
        "fn f() { self::super::b::f(); }",
        "use super::b::*;",
        "    use super::\n        b::B;\n",
        "pub(crate) use super::b::B;",
        "mod x { use crate::a::b::B; }",
    ],
)
def test_every_form_of_a_path_is_resolved(source: str) -> None:
    graph = TOOL.graph_of(
        {
            "crate": "pub mod a;\npub use a::B as Top;",
            "a": "mod b;\nmod c;\npub use b::B;\npub(crate) use self::b::Kept as Same;",
            "a::b": "pub struct B;\npub struct Kept;",
            "a::c": source,
        }
    )
    assert "a::b" in graph["a::c"]
    assert graph["crate"] == graph["a"] == frozenset()


@pytest.mark.parametrize(
    "source",
    [
        "// use super::b::B;",
        "//! See [`super::b::B`].",
        'const TEXT: &str = "use super::b::B; \\" crate::a::b";',
        'const TEXT: &str = r#"crate::a::b"#;',
        "#[cfg(test)]\nmod tests {\n    use super::super::b::B;\n}",
        "#[cfg(test)]\nuse super::b::B;",
        "#[cfg(doc)]\nuse super::b::B;",
        "pub(in crate::a::b) struct C;",
        "use std::b::B;",
        "fn f() { other::a::b::f() }",
        "fn f<'a>(text: &'a str) -> char { '\"' } // crate::a::b",
    ],
)
def test_what_is_no_path_of_the_code_is_left_out(source: str) -> None:
    graph = TOOL.graph_of({"crate": "mod a;", "a": "mod b;\nmod c;", "a::b": "pub struct B;", "a::c": source})
    assert graph["a::c"] == frozenset()


def test_a_parent_that_uses_a_child_depends_on_it() -> None:
    texts = {"crate": "mod a;", "a::b": "use super::A;\npub fn f(_: A) {}"}
    for parent, depends in (
        ("mod b;\npub use b::f;\npub struct A;", False),
        ("mod b;\nuse b::f;\npub struct A;\nfn g() { f(A) }", True),
        ("mod b;\npub use b::f;\npub struct A;\nfn g() { f(A) }", True),
        ("mod b;\npub struct A;\nfn g() { b::f(A) }", True),
    ):
        graph = TOOL.graph_of({**texts, "a": parent})
        assert graph["a::b"] == {"a"}
        assert CIRCLES(graph) == ([["a", "a::b"]] if depends else [])


def test_files_of_tests_are_left_out() -> None:
    assert sorted(TOOL.graph_of({"crate": "", "a": "", "a::tests": "use super::X;", "tests_of::b": ""})) == ["a", "crate"]
