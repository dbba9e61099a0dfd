"""Files: not too long, and in the words of the field."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from conventions.repository import ROOT, defined_names, files, name

if TYPE_CHECKING:
    from pathlib import Path

MOST_LINES = 450
# The older pair of words for source and replica; names of server variables stand in strings, not in names.
OLDER_PAIR = re.compile(r"(?:^|_)(?:master|slave)s?(?:_|$)", re.IGNORECASE)
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# Constants are left out: those are the servers' own names of event types.
RUST_NAME = re.compile(r"\bpub(?:\([a-z]+\))?\s+(?:const\s+)?(?:fn|struct|enum|trait|type|mod)\s+(\w+)")
# Written with a gap, so that this file does not hold them.
FOREIGN = re.compile(
    "|".join((
        r"\bTO~DO\b", r"\bFIX~ME\b", r"\bHA~CK\b", r"\bX~XX\b",
        "chat~gpt", "open~ai", "anthro~pic", "cla~ude", r"\bLL~M\b", "language mo~del",
        r"(?<![\w.-])/wo~rk/", "/tmp/tr~uth", r"(?<![\w.-])/ro~ot/", "work~place", r"\bis~sue #?\d", "lorem ip~sum",
    )).replace("~", ""),
    re.IGNORECASE,
)  # fmt: skip
TEXTS = (
    ".py", ".pyi", ".rs", ".md", ".toml", ".yml", ".yaml", ".sh", ".sql", ".js", ".css", ".html", ".jinja", ".ipynb", ".json", ".txt",
    ".service", ".1", ".properties", ".dict",
)  # fmt: skip
FOLDERS = (".github", "packaging", "python", "rust", "tests", "docs", "benches", "tools")
#: Files whose names have no suffix.
NAMED = ("Dockerfile", "Makefile", ".dockerignore", ".gitignore", ".ci/mysql", ".ci/run", "packaging/oss-fuzz/Dockerfile")


def every_text() -> list[Path]:
    """Return the texts of the repository that somebody wrote."""
    top = [path for path in sorted(ROOT.iterdir()) if path.is_file() and path.suffix in TEXTS]
    return [*top, *(ROOT / named for named in NAMED), *files(*FOLDERS, suffixes=TEXTS)]


def test_no_file_is_too_long() -> None:
    # Not the stub: it mirrors the one native module.
    long = {
        name(path): lines
        for path in files("python", "rust", "tests", suffixes=(".py", ".rs"))
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > MOST_LINES
    }
    assert long == {}, f"files of more than {MOST_LINES} lines: find the second thing in each and give it its own file"


@pytest.mark.parametrize("text", [".ci/run", ".github/dependabot.yml", "docs/tutorial-spark.ipynb", "packaging/paraply-replicate.service"])
def test_the_words_of_every_kind_of_file_are_read(text: str) -> None:
    assert ROOT / text in every_text()


def test_no_word_is_foreign_to_a_product() -> None:
    found = [
        f"{name(path)}:{number}: {match[0]}"
        for path in every_text()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if (match := FOREIGN.search(line))
    ]
    assert found == []


@pytest.mark.parametrize("path", list(files("python", suffixes=(".py", ".pyi"))), ids=name)
def test_python_names_say_source_and_replica(path: Path) -> None:
    names = {defined for _, defined in defined_names(path.read_text(encoding="utf-8"))}
    assert [found for found in sorted(names) if OLDER_PAIR.search(CAMEL.sub("_", found))] == []


def test_rust_names_say_source_and_replica() -> None:
    found = [
        f"{name(path)}: {defined}"
        for path in files("rust", suffixes=(".rs",))
        for defined in RUST_NAME.findall(path.read_text(encoding="utf-8"))
        if OLDER_PAIR.search(CAMEL.sub("_", defined))
    ]
    assert found == []


def test_commands_and_options_say_source_and_replica() -> None:
    text = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
    assert not re.search(r"--[a-z-]*(?:master|slave)", text)
