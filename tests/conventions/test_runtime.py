"""Threads, locks, clocks and sockets of the applier and the receiver are reached through ``paraply.runtime``."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest
from conventions.repository import ROOT, files, name

if TYPE_CHECKING:
    from pathlib import Path

SEAM = (
    "applier",
    "observe",
    "replication",
    "logs",
    "group/appliers",
    "group/delivery",
    "group/members/flow_control.py",
    "group/members/pending.py",
    "targets/progress",
    "targets/retrying.py",
    "targets/two_phase.py",
)
"""Packages and modules that a simulation drives."""
FORBIDDEN = (
    "threading",
    "time",
    "random",
    "socket",
    "socketserver",
    "select",
    "selectors",
    "queue",
    "asyncio",
    "concurrent",
    "multiprocessing",
)
NETWORK = "real servers connect to it, or it to them: a simulation does not run it"
ALLOWED = {
    "applier/via_replication/options.py": ({"socket"}, NETWORK),
    "observe/metrics_server.py": ({"socket", "socketserver", "threading"}, "Prometheus connects to it: a simulation does not run it"),
    "observe/status_json.py": ({"socket"}, "the name of this host, as part of the status"),
}
"""Modules that may import something of these, and why."""
PACKAGE = ROOT / "python" / "paraply"


def imported(text: str) -> set[str]:
    """Return the first parts of the names of all imported modules."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            found.add(node.module.partition(".")[0])
    return found


def modules() -> list[Path]:
    found = []
    for place in SEAM:
        path = PACKAGE / place
        found += [path] if path.is_file() else [*files(name(path), suffixes=(".py",))]
    return found


@pytest.mark.parametrize("path", modules(), ids=name)
def test_it_takes_threads_and_clocks_from_the_runtime(path: Path) -> None:
    allowed, _ = ALLOWED.get(path.relative_to(PACKAGE).as_posix(), (set[str](), ""))
    found = imported(path.read_text(encoding="utf-8")) & set(FORBIDDEN)
    assert found == allowed, "use `from paraply.runtime import runtime`; a module that cannot is in ALLOWED, with the reason"


def test_every_exception_is_a_module_of_these_packages() -> None:
    assert {PACKAGE / place for place in ALLOWED} <= set(modules())


def test_an_import_is_found_wherever_it_stands() -> None:
    lines = (
        "import os, time as clock",
        "from concurrent.futures import Future",
        "def late():",
        "    import threading",
        "from paraply import errors",
    )
    assert imported("\n".join(lines)) == {"os", "time", "concurrent", "threading", "paraply"}
