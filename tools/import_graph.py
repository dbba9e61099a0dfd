"""Print the shape of the code: import circles, upward imports, the largest folder, and long files.

``make graph`` runs it, and ``tools/rust_graph.py`` reads the files of Rust. ``tests/conventions/test_import_circles.py`` and
``tests/conventions/test_rust_modules.py`` use the same functions, and ``make lint`` runs them. Imports for type checkers only, and imports
inside functions, count like all others.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "paraply"
LINES = 400
"""Number of lines above which a file is listed."""

LAYERS: tuple[tuple[str, ...], ...] = (
    ("__main__",),
    ("cli",),
    ("spark", "bench", "group"),
    ("archive", "lake"),
    ("replication", "analysis", "undo"),
    ("applier",),
    ("observe",),
    ("targets",),
    ("logs",),
    ("explain",),
    ("hashing",),
    ("schema",),
    ("_extras", "cpu_time", "output_files"),
    ("errors",),
    ("runtime", "wording", "data", "_native", "_on_demand", "_version"),
)
"""Packages and modules of ``paraply``, the highest first. A module imports only from its own package and from lower layers."""

Graph = Mapping[str, frozenset[str]]


def read_graph(package: Path = PACKAGE) -> Graph:
    """Return the modules that each module of a package imports."""
    files = {_name_of(path, package): path for path in sorted(package.rglob("*.py"))}
    return {name: frozenset(_imports(path, name, files)) for name, path in files.items()}


def _name_of(path: Path, package: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(path: Path, name: str, modules: Mapping[str, Path]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        named: list[str] = []
        if isinstance(node, ast.Import):
            named = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None and not node.level:
            named = [_source(node.module, alias.name, modules) for alias in node.names]
        yield from (found for found in named if found in modules and found != name)


def _source(module: str, name: str, modules: Mapping[str, Path]) -> str:
    """Return the module that ``from module import name`` reads: a module of that name, or the module that defines it."""
    whole = f"{module}.{name}"
    return whole if whole in modules or name == "_native" else module


def circles(graph: Graph) -> list[list[str]]:
    """Return the groups of modules that import each other, directly or through others (Tarjan's algorithm).

    >>> circles({"a": frozenset({"b"}), "b": frozenset({"a"}), "c": frozenset({"a"})})
    [['a', 'b']]
    """
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            group = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(group) > 1:
                found.append(sorted(group))

    sys.setrecursionlimit(10_000)
    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def upward(graph: Graph) -> list[tuple[str, str]]:
    """Return the imports of a higher layer, or of another package of the same layer."""
    rank = {part: (number, part) for number, layer in enumerate(LAYERS) for part in layer}
    arrows = []
    for module, imported in sorted(graph.items()):
        for other in sorted(imported):
            here, there = (rank.get(name.split(".")[1]) if "." in name else None for name in (module, other))
            if here is None or there is None:
                wrong = "." in module  # nothing imports the package itself, which imports everything
            else:
                wrong = here[1] != there[1] and here[0] >= there[0] and there[0] != len(LAYERS) - 1
            if wrong:
                arrows.append((module, other))
    return arrows


def largest_folder(folders: Iterable[Path]) -> tuple[Path, int]:
    """Return the folder with the most source files, and their number."""
    counts: dict[Path, int] = {}
    for top in folders:
        for path in _sources(top):
            counts[path.parent] = counts.get(path.parent, 0) + 1
    folder = max(sorted(counts), key=lambda path: counts[path])
    return folder, counts[folder]


def long_files(folders: Iterable[Path]) -> list[tuple[int, Path]]:
    """Return the source files with more than ``LINES`` lines, the longest first."""
    sized = [(len(path.read_text(encoding="utf-8").splitlines()), path) for top in folders for path in _sources(top)]
    return sorted((entry for entry in sized if entry[0] > LINES), reverse=True)


def _sources(top: Path) -> Iterator[Path]:
    for path in sorted(top.rglob("*")):
        if path.suffix in (".py", ".rs") and "target" not in path.relative_to(top).parts:
            yield path


def main() -> int:
    """Print the figures of Python and Rust; return 1 if there is a circle or an upward import."""
    from rust_graph import crates
    from rust_graph import read_graph as read_crate

    python = read_graph()
    arrows = upward(python)
    rust = {f"{crate.name}::{name}": others for crate in crates() for name, others in _named(crate.name, read_crate(crate))}
    print("Python")
    found = _print_graph(python, [PACKAGE])
    print(f"  upward imports     {len(arrows)}")
    for module, other in arrows:
        print(f"    {module} -> {other}")
    print("Rust")
    found += _print_graph(rust, [ROOT / "rust"])
    return 1 if found or arrows else 0


def _named(crate: str, graph: Graph) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the files of a crate, with its name before those that they depend on."""
    for name, others in graph.items():
        yield name, frozenset(f"{crate}::{other}" for other in others)


def _print_graph(graph: Graph, folders: Sequence[Path]) -> int:
    """Print the figures of one language; return the number of circles."""
    found = circles(graph)
    folder, count = largest_folder(folders)
    long = long_files(folders)
    print(f"  files              {len(graph)}, imports {sum(map(len, graph.values()))}")
    print(f"  import circles     {len(found)}")
    for group in found:
        print(f"    {len(group)} files: {', '.join(group)}")
        if "-v" in sys.argv:
            for module in group:
                print(f"      {module} -> {', '.join(sorted(graph[module] & set(group)))}")
    print(f"  largest folder     {folder.relative_to(ROOT)}, {count} files")
    print(f"  files over {LINES} lines {len(long)}")
    for lines, path in long:
        print(f"    {lines} {path.relative_to(ROOT)}")
    return len(found)


if __name__ == "__main__":
    sys.exit(main())
