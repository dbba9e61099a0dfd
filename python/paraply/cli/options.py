"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["DefaultsFile", "TargetUrl"]

TargetUrl = Annotated[
    str | None,
    typer.Option("--to", metavar="URL", help="mysql://, mariadb:// or postgresql://; none: an embedded PostgreSQL in ./paraply-data."),
]
"""The target's URL."""

DefaultsFile = Annotated[
    Path | None, typer.Option(metavar="FILE", dir_okay=False, help="A MySQL option file for what the URL lacks. Default: ~/.my.cnf.")
]
"""Where the rest of a URL comes from."""
