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
    "DdlDone",
    "DdlNotDone",
    "Debug",
    "DefaultsFile",
    "ExcludedDatabases",
    "ExcludedTables",
    "GtidMode",
    "Listen",
    "Logs",
    "MaxRate",
    "Merge",
    "Metrics",
    "OnConflict",
    "Quiet",
    "RenamedDatabases",
    "RenamedTables",
    "Skip",
    "StartAfter",
    "StopBefore",
    "Tables",
    "TargetUrl",
    "TraceFile",
    "Via",
    "Workers",
]

Logs = Annotated[
    list[str],
    typer.Argument(
        metavar="LOG...",
        help="Binlogs or relay logs, in order: files, compressed too; folders; a binlog.index; - for standard input; s3://, gs://, az:// or"
        " https:// URLs.",
    ),
]
"""The logs."""

TargetUrl = Annotated[
    str | None,
    typer.Option("--to", metavar="URL", help="mysql://, mariadb:// or postgresql://; none: an embedded PostgreSQL in ./paraply-data."),
]
"""The target's URL."""

DefaultsFile = Annotated[
    Path | None, typer.Option(metavar="FILE", dir_okay=False, help="A MySQL option file for values missing in the URL. Default: ~/.my.cnf.")
]
"""Option file for values missing in a URL."""

Workers = Annotated[
    int | None,
    typer.Option(min=0, max=256, help="Parallel workers; 0 applies inline on one connection. Default: by the number of cores."),
]
"""Number of workers."""

ConsistencyLevel = Annotated[str, typer.Option(metavar="LEVEL", help=f"States that a reader may see: {', '.join(CONSISTENCIES)}.")]
"""The consistency level (R20)."""

Merge = Annotated[str, typer.Option(metavar="N|auto|off", help="Consecutive transactions that become one commit.")]
"""Number of transactions that share a commit (R21)."""

GtidMode = Annotated[str, typer.Option(metavar="MODE", help="GTIDs of the target after the apply: auto, preserve, record or none.")]
"""The GTID mode (R26)."""

Via = Annotated[
    str,
    typer.Option(metavar="WAY", help="Executor: sessions, paraply's own, or replication, MySQL's replica workers."),
]
"""Executor of the transactions."""

Listen = Annotated[str | None, typer.Option(metavar="HOST[:PORT]", help="With --via replication: this machine's address for the target.")]
"""Address at which the target's replication reads."""

StartAfter = Annotated[str | None, typer.Option(metavar="SET", help="GTIDs that the target already holds, such as those of the backup.")]
"""GTIDs to skip at the start."""

Skip = Annotated[
    str | None,
    typer.Option(metavar="SET", help="GTIDs of transactions to leave out; they count as executed."),
]
"""Transactions to leave out."""

StopBefore = Annotated[str | None, typer.Option(metavar="PLACE", help="Stop before this transaction: a GTID or FILE:POSITION.")]
"""The first transaction not to apply."""

Databases = Annotated[list[str] | None, typer.Option(metavar="D", help="Apply this database only; may be repeated.")]
"""Databases to apply."""

Tables = Annotated[list[str] | None, typer.Option(metavar="D.T", help="Apply this table only; may be repeated.")]
"""Tables to apply."""

ExcludedDatabases = Annotated[list[str] | None, typer.Option(metavar="D", help="Leave this database out; may be repeated.")]
"""Databases to leave out."""

ExcludedTables = Annotated[list[str] | None, typer.Option(metavar="D.T", help="Leave this table out; may be repeated.")]
"""Tables to leave out."""

RenamedDatabases = Annotated[
    list[str] | None,
    typer.Option("--rename-database", metavar="OLD=NEW", help="Apply this database under another name; may be repeated."),
]
"""Databases with another name on the target."""

RenamedTables = Annotated[
    list[str] | None,
    typer.Option("--rename-table", metavar="D.T=D.T", help="Apply this table under another name; may be repeated."),
]
"""Tables with another name on the target."""

Channel = Annotated[str, typer.Option(help="Name under which progress is kept in the target.")]
"""The channel."""

Metrics = Annotated[
    str | None, typer.Option(metavar="[HOST:]PORT", help="Serve metrics for Prometheus, on the loopback interface by default.")
]
"""Address of the metrics."""

TraceFile = Annotated[
    Path | None, typer.Option(metavar="FILE", dir_okay=False, help="Write a timeline of the workers that ui.perfetto.dev opens.")
]
"""File of the timeline."""

MaxRate = Annotated[int | None, typer.Option(metavar="ROWS", help="Apply at most so many rows a second, on average.")]
"""Limit of the rate."""

OnConflict = Annotated[
    str,
    typer.Option(
        metavar="MODE", help="A row that is missing or exists already: stop, log the change and leave it out, or overwrite the row."
    ),
]
"""Treatment of rows that do not fit the target."""

AllowNontransactional = Annotated[
    bool, typer.Option("--allow-nontransactional", help="Accept tables without transactions; they lose exactly-once.")
]
"""Permission to apply tables of engines without transactions."""

DdlDone = Annotated[
    bool,
    typer.Option("--ddl-done", help="The statement at which the last run ended, or that a crash interrupted, is done in the target."),
]
"""Answer that a statement took effect, or was made by hand."""

DdlNotDone = Annotated[bool, typer.Option("--ddl-not-done", help="The statement that a crash interrupted took no effect.")]
"""Answer that a statement did not take effect."""

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")]
"""Suppression of progress output."""

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
"""Output as one JSON object."""

Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
"""Output of tracebacks."""
