"""Print the shape of the code: import circles, upward imports, the largest folder, and long files.

``make graph`` runs it. ``tests/conventions/test_import_circles.py`` uses the same functions. Imports for type checkers only, and imports
inside functions, count like all others.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping
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
    """Print the figures; return 1 if there is a circle or an upward import."""
    graph = read_graph()
    found, arrows = circles(graph), upward(graph)
    folders = [PACKAGE, ROOT / "rust"]
    folder, count = largest_folder(folders)
    long = long_files(folders)
    print(f"modules            {len(graph)}, imports {sum(map(len, graph.values()))}")
    print(f"import circles     {len(found)}")
    for group in found:
        print(f"  {len(group)} modules: {', '.join(group)}")
        if "-v" in sys.argv:
            for module in group:
                print(f"    {module} -> {', '.join(sorted(graph[module] & set(group)))}")
    print(f"upward imports     {len(arrows)}")
    for module, other in arrows:
        print(f"  {module} -> {other}")
    print(f"largest folder     {folder.relative_to(ROOT)}, {count} files")
    print(f"files over {LINES} lines {len(long)}")
    for lines, path in long:
        print(f"  {lines} {path.relative_to(ROOT)}")
    return 1 if found or arrows else 0


if __name__ == "__main__":
    sys.exit(main())
