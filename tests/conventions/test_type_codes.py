"""Type codes of columns stand in one place in Rust and in one in Python, with the same names and values."""

from __future__ import annotations

import ast
import re

from conventions.repository import ROOT, files, name

from paraply.schema import type_codes

RUST = ROOT / "rust" / "binlog" / "src" / "rows" / "layout.rs"
CONSTANT = re.compile(r"pub const (\w+): u8 = (\d+);")
USERS = (
    "python/paraply/bench/kernels.py",
    "python/paraply/bench/reference.py",
    "python/paraply/schema/readers/logged_definition.py",
    "python/paraply/schema/readers/table_map.py",
    "python/paraply/targets/mysql/preflight/column_check.py",
)
HIGH = range(type_codes.VECTOR, type_codes.GEOMETRY)
"""Codes that hardly have another meaning as a number; 255 has."""


def test_python_has_the_codes_of_rust() -> None:
    module = re.search(r"pub mod type_code \{(.*?)\n\}", RUST.read_text(encoding="utf-8"), re.DOTALL)
    assert module is not None
    rust = {found[1]: int(found[2]) for found in CONSTANT.finditer(module[1])}
    python = {constant: value for constant, value in vars(type_codes).items() if constant.isupper() and isinstance(value, int)}
    assert rust == python
    assert len(rust) > 30
    assert len(set(rust.values())) == len(rust)


def test_codes_are_written_by_name() -> None:
    found = []
    for path in files("python", suffixes=(".py",)):
        numbers = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Constant)]
        codes = [node for node in numbers if type(node.value) is int and node.value in HIGH]
        if name(path) in USERS:
            found += [f"{name(path)}:{node.lineno}: {node.value}" for node in codes if node.value != LENGTH_OF_TWO_BYTES]
    assert found == [], "import paraply.schema.type_codes"


LENGTH_OF_TWO_BYTES = 252
"""The byte before a packed length of two bytes, as ``bench/kernels.py`` reads it."""
