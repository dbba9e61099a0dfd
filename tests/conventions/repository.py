"""Files that the tests of conventions check."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import pkgutil
from pathlib import Path
from typing import TYPE_CHECKING

from required import missing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]

BUILT = {".venv", "__pycache__", "node_modules"}
"""Names of folders that are built, wherever they are."""
BUILT_FOLDERS = ("target", "rust/fuzz/target", "site", "dist")
"""Folders that are built; a package of the product may have such a name too."""


def files(*folders: str, suffixes: tuple[str, ...]) -> Iterator[Path]:
    """Files of the repository below these folders, without what is built."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            relative = path.relative_to(ROOT)
            built = BUILT & set(relative.parts) or any(relative.is_relative_to(folder) for folder in BUILT_FOLDERS)
            if path.is_file() and path.suffix in suffixes and not built:
                yield path


def name(path: Path) -> str:
    """A file's name in messages."""
    return path.relative_to(ROOT).as_posix()


def defined_names(source: str) -> Iterator[tuple[int, str]]:
    """Names that a module of Python defines, with their lines: functions, classes, arguments, variables and attributes."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.FunctionDef(name=found) | ast.AsyncFunctionDef(name=found) | ast.ClassDef(name=found):
                yield node.lineno, found
            case ast.arg(arg=found) | ast.Name(id=found, ctx=ast.Store()) | ast.Attribute(attr=found, ctx=ast.Store()):
                yield node.lineno, found
            case _:
                pass


def script(path: str) -> ModuleType:
    """Import a script of the repository that is in no package, such as ``tools/speed.py``."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def module_names() -> list[str]:
    """Every module of the package."""
    import paraply

    found = (module.name for module in pkgutil.walk_packages(paraply.__path__, "paraply."))
    return ["paraply", *(name for name in found if name.split(".")[-1] not in {"__main__", "_native"})]


def module_of(name: str) -> ModuleType:
    """A module by its name; the test skips where an extra that it needs is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as absent:
        if (absent.name or "").startswith("paraply"):
            raise
        missing(f"{absent.name} is not installed")
