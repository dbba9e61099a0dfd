"""``paraply trace``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from paraply._extras import require_extra
from paraply.cli.options import AsJson, Debug, Logs
from paraply.cli.terminal import output
from paraply.cli.terminal.progress import progress_line
from paraply.wording import counted, fallback_words

if TYPE_CHECKING:
    from paraply.analysis.trace_files import TraceReport

__all__ = ["trace"]

EXAMPLES = """
[bold]Examples[/bold]

  paraply trace binlog.000001 -o trace.parquet
  paraply trace binlog.00000* -o traces --by-file
  paraply trace member3.relay -o trace.parquet --scheme group --schema before.sql
"""


def trace(
    log: Logs,
    out: Annotated[Path, typer.Option("--output", "-o", help="The Parquet file to write, or the folder with --by-file.")],
    scheme: Annotated[
        str,
        typer.Option(help="Which write sets: [bold]fine[/bold] (the applier's, with shared keys) or [bold]group[/bold] (the certifier's)."),
    ] = "fine",
    schema: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="A dump with the tables as they were at the start of the log.")
    ] = None,
    by_file: Annotated[bool, typer.Option("--by-file", help="Write a folder with one Parquet file for each log.")] = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Write a log's transactions and their write sets as Parquet, one row a transaction."""

    def body() -> tuple[int, Mapping[str, Any]]:
        require_extra("arrow", "paraply trace")
        from paraply.analysis.trace_files import write_trace
        from paraply.logs import log_paths

        total = sum(Path(path).stat().st_size for path in log_paths(log))
        with progress_line("trace", total, quiet=as_json) as line:
            report = write_trace(
                log,
                out,
                scheme=scheme,
                schema=schema,
                by_file=by_file,
                on_progress=lambda done, count: line.update(done, counted(count, "transaction")),
            )
        if not as_json:
            show(report)
        return 0, report.as_json()

    output.run("trace", body, as_json=as_json, debug=debug)


def show(report: TraceReport) -> None:
    """Print the report for people."""
    places = ", ".join(report.files)
    output.console.print(
        f"{counted(report.transactions, 'transaction')}, {report.bytes / 1e6:,.1f} MB in {places}; fallbacks {report.fallbacks:,}",
        soft_wrap=True,
    )
    for fallback in report.fallback_reasons:
        output.console.print(f"fallback: {escape(fallback_words(**fallback))}")


trace.__doc__ = (trace.__doc__ or "") + "\n" + EXAMPLES
