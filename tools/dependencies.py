"""Print the project's dependencies and those of the extras and dependency groups that are named, one a line, for pip."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

DOCUMENT = tomllib.loads(Path(__file__).parent.parent.joinpath("pyproject.toml").read_text(encoding="utf-8"))
PROJECT = DOCUMENT["project"]
NAMED = {**PROJECT["optional-dependencies"], **DOCUMENT["dependency-groups"]}
OWN_EXTRAS = re.compile(rf"{PROJECT['name']}\[([\w,-]+)\]")


def requirements(listed: list[str]) -> Iterator[str]:
    """Return requirements with those of the project's own extras in the place of their names."""
    for requirement in listed:
        if own := OWN_EXTRAS.fullmatch(requirement):
            for extra in own[1].split(","):
                yield from requirements(NAMED[extra])
        else:
            yield requirement


def main(names: list[str]) -> None:
    """Print the requirements of the project and of these extras and groups.

    Args:
        names: Extras and groups; ``--only`` in front leaves the project's own dependencies out.
    """
    listed = [] if names[:1] == ["--only"] else list(PROJECT["dependencies"])
    for name in names[names[:1] == ["--only"] :]:
        listed += NAMED[name]
    print("\n".join(dict.fromkeys(requirements(listed))))


if __name__ == "__main__":
    main(sys.argv[1:])
