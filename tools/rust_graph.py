"""The dependencies between the files of a Rust crate.

``tools/import_graph.py`` prints them, and ``tests/conventions/test_rust_modules.py`` uses the same functions. A file depends on the file
that defines a name, however the name is written: by ``use`` or in the middle of the code, with ``crate``, ``super`` or ``self`` before it,
or through a parent that only re-exports it. A parent's ``mod`` and ``pub use`` of its children are no dependency: they make the folder's
surface, and no code of the parent needs them. A name that the parent's own code takes from a child is one, so a file whose children
depend on it must not use them. Code of tests, and imports that only documentation needs, are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

__all__ = ["Module", "crates", "graph_of", "read_graph", "read_modules"]

ROOT = Path(__file__).resolve().parent.parent
CRATE = "crate"
"""Name of a crate's root in paths."""

_TEXT = re.compile(r"""r(#*)".*?"\1|"(?:\\.|[^"\\])*"|'(?:\\[^']+|[^'\\])'|//[^\n]*|/\*.*?\*/""", re.DOTALL)
_TEST_MODULE = re.compile(r"#\[cfg\(test\)\]\s*mod \w+ \{.*", re.DOTALL)
_LEFT_OUT = re.compile(r"#\[cfg\((?:test|doc)\)\]\s*[^;{]*(?:;|\{[^}]*\}(?:;|\n))")
_TEST_FILE = re.compile(r"(^|::|_)tests?(_|::|$)")
_USE = re.compile(r"(?:^|(?<=[;{}\]\n]))\s*(?P<public>pub(?:\([^)]*\))?\s+)?use\s+(?P<tree>[^;]+);")
_VISIBILITY = re.compile(r"\bpub\(in [^)]*\)")
_GROUP = re.compile(r"^([\w:]*)\{(.*)\}$", re.DOTALL)
_PATH = re.compile(r"(?<![\w:$])((?:crate|super|self)(?:::\w+)+)")
_CHILD_PATH = re.compile(r"(?<![\w:.$])([a-z]\w*(?:::\w+)+)")


class Module:
    """A file of a crate: the names that it takes from elsewhere, and the paths that its code uses."""

    def __init__(self) -> None:
        self.names: dict[str, tuple[str, ...]] = {}
        """Path of each name that a ``use`` of the file brings in, from the crate's root on."""
        self.surface: set[str] = set()
        """Names that the file re-exports from its children and does not use itself."""
        self.globs: list[tuple[str, ...]] = []
        """Files all of whose names are brought in; those of children that are re-exported are left out."""
        self.paths: list[tuple[str, ...]] = []
        """Paths in the code itself."""


def crates(root: Path = ROOT) -> list[Path]:
    """Return the folders of the crates that are libraries."""
    return sorted(path.parent for path in (root / "rust").glob("*/Cargo.toml") if (path.parent / "src" / "lib.rs").exists())


def read_graph(crate: Path) -> dict[str, frozenset[str]]:
    """Return the files of a crate, each with those that it depends on; they are named by the path of their module."""
    source = crate / "src"
    return graph_of({_name_of(source, path): path.read_text(encoding="utf-8") for path in sorted(source.rglob("*.rs"))})


def graph_of(texts: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """Return the modules of a crate, each with those that it depends on, from their texts.

    >>> graph = graph_of({"crate": "mod a; mod b;", "a": "pub mod c; pub use c::C;", "a::c": "pub struct C;", "b": "use crate::a::C;"})
    >>> sorted(graph["b"]), sorted(graph["a"])
    (['a::c'], [])
    """
    modules = read_modules(texts)
    graph = {}
    for name, module in modules.items():
        taken = [path for known, path in module.names.items() if known not in module.surface] + module.paths
        found = {_definition(path, modules) for path in taken} | {_longest(path, modules) for path in module.globs}
        graph[name] = frozenset(found - {name})
    return graph


def read_modules(texts: Mapping[str, str]) -> dict[str, Module]:
    """Return the modules of a crate from their texts, without those of tests."""
    kept = {name: text for name, text in texts.items() if not _TEST_FILE.search(name)}
    return {name: _read_module(name, text, kept) for name, text in kept.items()}


def _name_of(source: Path, path: Path) -> str:
    parts = path.relative_to(source).with_suffix("").parts
    return "::".join(parts[:-1] if parts[-1] in {"lib", "mod"} else parts) or CRATE


def _read_module(name: str, text: str, known: Mapping[str, str]) -> Module:
    text = _LEFT_OUT.sub("", _TEST_MODULE.sub("", _TEXT.sub("", text)))
    here = () if name == CRATE else tuple(name.split("::"))
    module = Module()
    for use in _USE.finditer(text):
        for tree in _written_out(use["tree"]):
            path, _, alias = tree.partition(" as ")
            if (full := _from_root(path.split("::"), here, known)) is None:
                continue
            child = full[: len(here)] == here and len(full) > len(here)
            if full[-1] == "*":
                if not (use["public"] and child):
                    module.globs.append(full[:-1])
                continue
            local = alias.strip() or full[-1]
            module.names[local] = full
            if use["public"] and child:
                module.surface.add(local)
    code = _VISIBILITY.sub("", _USE.sub("", text))
    module.surface -= {local for local in module.surface if re.search(rf"\b{local}\b", code)}
    for path in _PATH.findall(code) + [path for path in _CHILD_PATH.findall(code) if path.split("::")[0] not in module.names]:
        if (full := _from_root(path.split("::"), here, known)) is not None:
            module.paths.append(full)
    return module


def _written_out(tree: str) -> Iterator[str]:
    """Yield the paths that an import names: its groups are written out."""
    tree = re.sub(r"\s*(::|[{},])\s*", r"\1", tree.strip())
    if (group := _GROUP.match(tree)) is None:
        yield tree.removesuffix("::self")
        return
    depth, start, inside = 0, 0, group[2]
    for index, letter in enumerate(inside + ","):
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            if part := inside[start:index].strip():
                yield from (_without_self(group[1] + path) for path in _written_out(part))
            start = index + 1


def _without_self(path: str) -> str:
    """Return the path of ``a::{self}``.

    >>> _without_self("a::self"), _without_self("a::self as b"), _without_self("self::a")
    ('a', 'a as b', 'self::a')
    """
    return re.sub(r"::self(?= |$)", "", path)


def _from_root(parts: list[str], here: tuple[str, ...], known: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return a path from the crate's root on; None if it leads out of the crate."""
    at = here
    if parts[0] == CRATE:
        at, parts = (), parts[1:]
    elif parts[0] in {"self", "super"}:
        while parts and parts[0] in {"self", "super"}:
            at, parts = (at[:-1] if parts[0] == "super" else at), parts[1:]
    elif "::".join((*here, parts[0])) not in known:
        return None
    return (*at, *parts)


def _longest(path: tuple[str, ...], modules: Mapping[str, Module]) -> str:
    """Return the file of the longest beginning of a path that has one."""
    while path and "::".join(path) not in modules:
        path = path[:-1]
    return "::".join(path) or CRATE


def _definition(path: tuple[str, ...], modules: Mapping[str, Module]) -> str:
    """Return the file that defines the name of a path, through files that take it from elsewhere."""
    seen = set()
    while path not in seen:
        seen.add(path)
        file = _longest(path, modules)
        length = 0 if file == CRATE else file.count("::") + 1
        onward = modules[file].names.get(path[length]) if len(path) > length else None
        if onward is None:
            break
        path = onward + path[length + 1 :]
    return _longest(path, modules)
