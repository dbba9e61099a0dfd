"""Prints the project's dependencies and those of the extras named on the command line, one a line, for pip."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

project = tomllib.loads(Path(__file__).parent.parent.joinpath("pyproject.toml").read_text(encoding="utf-8"))["project"]
for requirement in [*project["dependencies"], *(r for extra in sys.argv[1:] for r in project["optional-dependencies"][extra])]:
    print(requirement)
