"""Extras: without their packages the base works, and every message that recommends an extra names one that mends it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from paraply._extras import EXTRAS, PACKAGES

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OPTIONAL: dict[str, list[str]] = PROJECT["optional-dependencies"]
ADVICE = re.compile(r"pip install '?paraply\[([\w,]+)\]'?")
RELAY_LOG = ROOT / "tests" / "data" / "xa-group.relay"
MODULES = {package: module for module, package in PACKAGES.items()}
EVERY_MODULE = {module for modules in EXTRAS.values() for module in modules}
LEFT_OUT = {*EVERY_MODULE, "py4j", "psycopg_binary", "psycopg_c", "psycopg_pool", "pymysql"}
COMMAND = "from paraply.cli import main; main()"

Run = Callable[..., subprocess.CompletedProcess[str]]


def brought_by(extra: str) -> set[str]:
    """Return the modules that an extra brings, by the requirements in pyproject.toml."""
    modules: set[str] = set()
    for requirement in OPTIONAL[extra]:
        if own := re.fullmatch(r"paraply\[([\w,]+)\]", requirement):
            modules |= {module for name in own[1].split(",") for module in brought_by(name)}
        else:
            package = re.split(r"[\[<>=]", requirement)[0]
            modules.add(MODULES.get(package, package.replace("-", "_")))
    return modules


@pytest.fixture
def without(tmp_path: Path) -> Run:
    """Run a program in which the packages of the extras, but for some, cannot be imported."""

    def run(program: str, *arguments: object, having: Iterable[str] = ()) -> subprocess.CompletedProcess[str]:
        block = f"import sys; sys.modules.update(dict.fromkeys({sorted(LEFT_OUT.difference(having))!r})); "
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")])}
        command = [sys.executable, "-c", block + program, *map(str, arguments)]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False)

    return run


def advised(text: str) -> str:
    """Return the one extra that a text recommends."""
    (extra,) = set(ADVICE.findall(text))
    return str(extra)


def test_each_extra_brings_the_modules_that_the_code_expects_of_it() -> None:
    assert set(OPTIONAL) == {*EXTRAS, "all"}
    assert {extra: brought_by(extra) for extra in EXTRAS} == {extra: set(modules) for extra, modules in EXTRAS.items()}
    assert brought_by("all") == EVERY_MODULE


def test_the_base_needs_nothing_but_the_terminal() -> None:
    assert [re.split(r"[<>=]", requirement)[0] for requirement in PROJECT["dependencies"]] == ["rich", "typer"]


def test_every_extra_that_code_or_docs_recommend_is_there() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").rglob("*.ipynb"), *(ROOT / "python").rglob("*.py")]
    named = re.compile(r"paraply\[([\w,]+)\]")
    found = {extra for page in pages for names in named.findall(page.read_text(encoding="utf-8")) for extra in names.split(",")}
    assert {"arrow", "embedded", "metrics", "postgres", "report", "spark"} <= found
    assert found <= set(OPTIONAL)


def test_the_base_alone_has_all_that_logs_and_mysql_need(without: Run) -> None:
    read = "import paraply; print(len(list(paraply.open_log(sys.argv[1])))); "
    target = "from paraply.targets import open_target; open_target('mysql://x@127.0.0.1:1').__enter__(); "
    done = without(read + target + "from paraply.group import Group; import paraply.replication", RELAY_LOG)
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > 0


def test_verify_needs_no_extra(without: Run) -> None:
    done = without(COMMAND, "verify", ROOT / "tests" / "data" / "xa-group.relay", "--json")
    assert json.loads(done.stdout)["transactions"] > 0, done.stderr


def test_apply_to_mysql_needs_no_extra(without: Run) -> None:
    done = without(COMMAND, "apply", RELAY_LOG, "--to", "mysql://nobody@127.0.0.1:1", "--json")
    error = json.loads(done.stdout)["error"]
    assert (done.returncode, error["class"]) == (1, "ConnectionFailed"), done.stderr


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (["apply", RELAY_LOG], "embedded"),
        (["apply", RELAY_LOG, "--to", "postgresql://nobody@127.0.0.1:1/x"], "postgres"),
        (["apply", RELAY_LOG, "--to", "mysql://nobody@127.0.0.1:1", "--metrics", "0"], "metrics"),
        (["replicate", "--from", "mysql://nobody@127.0.0.1:1"], "embedded"),
        (["status"], "embedded"),
        (["undo", RELAY_LOG, "--between", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"], "embedded"),
        (["status", "--to", "postgresql://nobody@127.0.0.1:1/x"], "postgres"),
        (["trace", RELAY_LOG, "-o", "trace.parquet"], "arrow"),
        (["analyze", RELAY_LOG, "--html", "report.html"], "report"),
        (["demo"], "embedded"),
        (["group", "--seconds", "1"], "embedded"),
        (["bench", "--kernels"], "arrow"),
    ],
    ids=lambda value: " ".join(map(str, value)).replace(f"{RELAY_LOG}", "LOG") if isinstance(value, list) else value,
)
def test_a_command_says_which_extra_it_needs(without: Run, arguments: list[object], extra: str) -> None:
    done = without(COMMAND, *arguments, "--json")
    report = json.loads(done.stdout)
    assert (done.returncode, report["exit_code"], report["error"]["class"]) == (2, 2, "UsageError"), done.stderr
    assert done.stderr.count("\n") == 1
    assert advised(done.stderr) == advised(report["error"]["message"]) == extra


@pytest.mark.parametrize("form", [["--format", "text"], ["--format", "jsonl"], ["--format", "csv"], ["-o", "rows.parquet"]])
def test_row_changes_as_sql_need_no_extra_and_the_other_forms_say_so(without: Run, form: list[str]) -> None:
    done = without(COMMAND, "rows", RELAY_LOG, *form)
    assert (done.returncode, advised(done.stderr), "--format sql" in done.stderr) == (2, "arrow", form[0] == "--format")
    as_sql = without(COMMAND, "rows", RELAY_LOG, "--format", "sql")
    assert (as_sql.returncode, as_sql.stderr) == (0, "")
    assert as_sql.stdout == without(COMMAND, "rows", RELAY_LOG, "--format", "sql", having=brought_by("arrow")).stdout
    assert "INSERT INTO" in as_sql.stdout


@pytest.mark.parametrize(
    ("program", "extra"),
    [
        ("from paraply.targets import make_target; make_target(None)", "embedded"),
        ("from paraply.targets import make_target; make_target('postgresql://nobody@127.0.0.1:1/x')", "postgres"),
        ("from paraply.group import LiveGroup", "embedded"),
        ("from paraply.targets.postgres.embedded import EmbeddedPostgres; EmbeddedPostgres('x').start()", "embedded"),
        ("import paraply.spark", "spark"),
        ("from paraply.observe.metrics_server import MetricsServer; MetricsServer('127.0.0.1', 0, None)", "metrics"),
        ("from paraply.group.delivery.transfer import pack; pack(None)", "arrow"),
        ("import paraply; paraply.trace([sys.argv[1]])", "arrow"),
        ("from paraply.cli.app import invoke; sys.exit(invoke(['trace', sys.argv[1], '-o', 'x.parquet']) == 2)", "arrow"),
        ("import paraply; paraply.rows([sys.argv[1]])", "arrow"),
        ("import pathlib; from paraply.analysis.report import check_report; check_report(pathlib.Path('report.html'))", "report"),
        ("import paraply; paraply.events([sys.argv[1]])", "arrow"),
    ],
)
def test_a_program_is_told_which_extra_it_needs_and_has_enough_with_it(without: Run, program: str, extra: str) -> None:
    done = without(program, RELAY_LOG)
    assert done.returncode == 1
    assert advised(done.stderr.splitlines()[-1]) == extra
    done = without(program, RELAY_LOG, having={*brought_by(extra), "psycopg_binary", "py4j"})
    assert "pip install" not in done.stderr


def test_an_unforeseen_import_is_a_mistake_of_use_too(without: Run) -> None:
    body = "import psycopg.sql"
    program = f"from paraply.cli.terminal import output; output.run('x', lambda: exec({body!r}), as_json=False)"
    assert "paraply[postgres]" in without(program).stderr


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("PARAPLY_SLOW"), reason="makes a virtual environment: set PARAPLY_SLOW")
def test_an_environment_with_the_base_alone(tmp_path: Path) -> None:
    """Install rich and typer, and nothing else, beside the package; what lacks is found by the real import system."""
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True, timeout=300)
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *PROJECT["dependencies"]], check=True, timeout=300)
    (site,) = (tmp_path / "venv" / "lib").glob("python3*/site-packages")
    shutil.copytree(ROOT / "python" / "paraply", site / "paraply")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def paraply(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [str(python), "-m", "paraply", *map(str, arguments)]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False)

    assert paraply("verify", RELAY_LOG).returncode in (0, 1)
    applied = paraply("apply", RELAY_LOG)
    assert (applied.returncode, advised(applied.stderr)) == (2, "embedded")
    assert advised(paraply("apply", RELAY_LOG, "--to", "postgresql://nobody@127.0.0.1:1/x").stderr) == "postgres"
    subprocess.run([*pip, *OPTIONAL["postgres"]], check=True, timeout=300)
    reached = paraply("apply", RELAY_LOG, "--to", "postgresql://nobody@127.0.0.1:1/x")
    assert (reached.returncode, "pip install" in reached.stderr) == (1, False)
