"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from paraply.applier.schedule.policy import CONSISTENCIES

__all__ = [
    "AllowNontransactional",
    "AsJson",
    "Channel",
    "ConsistencyLevel",
    "Databases",
    "Debug",
    "DefaultsFile",
    "ExcludedDatabases",
    "ExcludedTables",
    "GtidMode",
    "Listen",
    "Merge",
    "Quiet",
    "StartAfter",
    "Tables",
    "TargetUrl",
    "Via",
    "Workers",
]

TargetUrl = Annotated[
    str | None,
    typer.Option("--to", metavar="URL", help="mysql://, mariadb:// or postgresql://; none: an embedded PostgreSQL in ./paraply-data."),
]
"""The target's URL."""

DefaultsFile = Annotated[
    Path | None, typer.Option(metavar="FILE", dir_okay=False, help="A MySQL option file for what a URL lacks. Default: ~/.my.cnf.")
]
"""Where the rest of a URL comes from."""

Workers = Annotated[
    int | None,
    typer.Option(min=0, max=256, help="Parallel workers; 0 applies inline on one connection. Default: by the number of cores."),
]
"""How many sessions apply."""

ConsistencyLevel = Annotated[str, typer.Option(metavar="LEVEL", help=f"What a reader may see meanwhile: {', '.join(CONSISTENCIES)}.")]
"""The consistency level (R20)."""

Merge = Annotated[str, typer.Option(metavar="N|auto|off", help="Consecutive transactions that become one commit.")]
"""Number of transactions that share a commit (R21)."""

GtidMode = Annotated[str, typer.Option(metavar="auto|preserve|record|none", help="What the target's own GTIDs say afterwards.")]
"""The GTID mode (R26)."""

Via = Annotated[
    str,
    typer.Option(metavar="sessions|replication", help="Who applies: sessions of paraply's, or MySQL's own workers, fed as a replica's."),
]
"""Through whom transactions reach the target."""

Listen = Annotated[
    str | None, typer.Option(metavar="HOST[:PORT]", help="With --via replication: this machine's address that the target reads from.")
]
"""Where the target's replication reads from."""

StartAfter = Annotated[str | None, typer.Option(metavar="SET", help="GTIDs that the target holds already, such as those of the backup.")]
"""What is skipped at the start."""

Databases = Annotated[list[str] | None, typer.Option(metavar="D", help="Apply this database only; may be repeated.")]
"""Databases to apply."""

Tables = Annotated[list[str] | None, typer.Option(metavar="D.T", help="Apply this table only; may be repeated.")]
"""Tables to apply."""

ExcludedDatabases = Annotated[list[str] | None, typer.Option(metavar="D", help="Leave this database out; may be repeated.")]
"""Databases to leave out."""

ExcludedTables = Annotated[list[str] | None, typer.Option(metavar="D.T", help="Leave this table out; may be repeated.")]
"""Tables to leave out."""

Channel = Annotated[str, typer.Option(help="Name under which progress is kept in the target.")]
"""The channel."""

AllowNontransactional = Annotated[
    bool, typer.Option("--allow-nontransactional", help="Take tables without transactions; gives up exactly-once for them.")
]
"""Whether tables of engines without transactions are taken."""

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")]
"""Whether nothing but the result is printed."""

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
"""Whether the result is one JSON object."""

Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks.", hidden=True)]
"""Whether an error shows its traceback."""
