"""``paraply stamp``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from paraply.cli.options import AsJson, Debug
from paraply.cli.terminal import output
from paraply.cli.terminal.progress import progress_line
from paraply.wording import counted, fallback_words

if TYPE_CHECKING:
    from paraply.analysis.stamp import StampReport

__all__ = ["stamp"]

EXAMPLES = """
[bold]Examples[/bold]

  paraply stamp /var/lib/mysql/binlog.000007 -o stamped
  paraply stamp binlog.0000* -o stamped --schema dump.sql --workers 8
  paraply stamp replica-relay-bin.000012 replica-relay-bin.000013 -o stamped
  paraply verify stamped/binlog.000007 --scheme fine
"""


def stamp(
    log: Annotated[
        list[str], typer.Argument(metavar="LOG...", help="Binlogs or relay logs of MySQL 5.7 or later, in order, or folders with them.")
    ],
    out: Annotated[Path, typer.Option("--output", "-o", help="The folder for the new files; none in it is replaced.")],
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1024,
            help="The replica's replica_parallel_workers, so that its coordinator never searches for a free worker; default: 1024."
            " The numbers are safe for any.",
        ),
    ] = None,
    schema: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, help="A dump with the tables as they were at the start of the log, if it does not make them."
        ),
    ] = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Write a MySQL log again with wider numbers, so that a stock replica applies it in parallel.

    The numbers come from the rows that each transaction changed; nothing else changes but lengths, positions and checksums.
    """

    def body() -> tuple[int, Mapping[str, Any]]:
        from paraply.analysis.stamp import MOST_WORKERS
        from paraply.analysis.stamp import stamp as run_stamp
        from paraply.cli.process.signals import interrupted_by_signal
        from paraply.logs import log_paths

        total = sum(Path(path).stat().st_size for path in log_paths(log))
        with interrupted_by_signal(), progress_line("stamp", total, quiet=as_json) as line:
            report = run_stamp(
                log,
                out,
                workers=workers or MOST_WORKERS,
                schema=schema,
                on_progress=lambda done, count: line.update(done, counted(count, "transaction")),
            )
        if not as_json:
            show(report, advise=workers is None)
        return 0, report.as_json()

    output.run("stamp", body, as_json=as_json, debug=debug)


def show(report: StampReport, *, advise: bool) -> None:
    """Print the report for people; with ``advise`` also that the number of workers was not given."""
    places = ", ".join(report.files)
    output.console.print(
        f"{counted(report.transactions, 'transaction')}, {report.changed:,} with new numbers, {report.bytes / 1e6:,.1f} MB in {places}",
        soft_wrap=True,
    )
    output.console.print(
        f"may start beside the one before: {report.parallel_before:,} as logged, [green]{report.parallel_after:,}[/green] now;"
        f" barriers {report.barriers:,}; fallbacks {report.fallbacks:,}"
    )
    if advise:
        output.console.print(
            "the number of workers was not given: with --workers N, the replica's replica_parallel_workers, its coordinator needs less CPU",
            soft_wrap=True,
        )
    for fallback in report.fallback_reasons:
        output.console.print(f"fallback: {escape(fallback_words(**fallback))}")


stamp.__doc__ = (stamp.__doc__ or "") + "\n" + EXAMPLES
