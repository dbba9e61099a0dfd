"""``paraply analyze``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from paraply.cli.options import AsJson, Debug, DefaultsFile, Quiet
from paraply.cli.process.secrets import hide_arguments
from paraply.cli.terminal import output
from paraply.cli.terminal.progress import progress_line
from paraply.wording import counted

if TYPE_CHECKING:
    from paraply.analysis.analyze import CostModel

__all__ = ["analyze"]

EXAMPLES = """
[bold]Examples[/bold]

  paraply analyze binlog.000001 binlog.000002
  paraply analyze /var/lib/mysql/relay --replica-workers 16
  paraply analyze binlog.000001 --html report.html
  paraply analyze binlog.000001 --schema dump.sql --json > analysis.json
  paraply analyze binlog.000001 --calibrate mysql://app@replica:3306
  paraply analyze binlog.000001 --primaries 3 --latency 2
  paraply analyze trace.parquet --hide-values --trace schedule.json
"""


def analyze(
    logs: Annotated[
        list[str],
        typer.Argument(metavar="LOG...", help="Binlogs or relay logs in order, folders of them, or a trace in Parquet."),
    ],
    workers: Annotated[
        str, typer.Option(metavar="N,N,...", help="Numbers of workers to simulate; the largest is the ideal of the lost time.")
    ] = "1,2,4,8,16,32,64",
    replica_workers: Annotated[
        int, typer.Option(metavar="N", min=1, max=1024, help="Workers of the replica whose lost time is divided among its causes.")
    ] = 8,
    schema: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="A dump with the tables as they were at the start of the log.")
    ] = None,
    calibrate: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Measure the cost model on this server, in a database of its own that is dropped again."),
    ] = None,
    defaults_file: DefaultsFile = None,
    primaries: Annotated[
        int, typer.Option(metavar="N", help="Predict certification conflicts of a group with this number of primaries.")
    ] = 0,
    latency: Annotated[float, typer.Option(metavar="MS", help="With --primaries: latency of the group's messages in milliseconds.")] = 5.0,
    history: Annotated[
        int | None,
        typer.Option(help="The source's binlog_transaction_dependency_history_size; default: its version's, at most 2,000,000."),
    ] = None,
    hide_values: Annotated[
        bool, typer.Option("--hide-values", help="Replace key values by a hash with a random key, so that the result can be passed on.")
    ] = False,
    trace: Annotated[
        Path | None, typer.Option(metavar="FILE", dir_okay=False, help="Write the simulated schedule as a timeline for Perfetto.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", dir_okay=False, help="Write a report with charts, one file that needs no network.")
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Find out how parallel a log is, what makes its replay serial, and what a change would gain."""
    from paraply.analysis.analyze import AnalyzeOptions, CostModel
    from paraply.analysis.analyze import analyze as run_analyze
    from paraply.analysis.report import analyze_with_report
    from paraply.cli.terminal.analyze_summary import show
    from paraply.logs import log_paths

    if calibrate is not None:
        hide_arguments()

    def body() -> tuple[int, Mapping[str, Any]]:
        total = sum(Path(path).stat().st_size for path in log_paths(logs))
        options = AnalyzeOptions(
            workers=worker_numbers(workers),
            replica_workers=replica_workers,
            costs=CostModel() if calibrate is None else measured(calibrate, defaults_file),
            schema=schema,
            history=history,
            primaries=primaries,
            latency_ms=latency,
            hide_values=hide_values,
            timeline=trace,
        )
        with progress_line("analyze", total, quiet=as_json or quiet) as line:

            def show_progress(done: float, count: int) -> None:
                line.update(done, counted(count, "transaction"))

            if html is None:
                result = run_analyze(logs, options, on_progress=show_progress)
            else:
                result = analyze_with_report(html, logs, options, on_progress=show_progress)
        if not as_json:
            show(result, output.console)
            if html is not None:
                output.console.print(f"report: {escape(str(html))}", soft_wrap=True)
        return 0, result.as_json()

    output.run("analyze", body, as_json=as_json, debug=debug)


def worker_numbers(text: str) -> tuple[int, ...]:
    """Return the numbers of workers of an option.

    Raises:
        UsageError: The text is no list of numbers.

    >>> worker_numbers("1, 8,64")
    (1, 8, 64)
    """
    from paraply.errors import UsageError

    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"--workers {text}: give numbers with commas between them, such as 1,8,64") from None


def measured(url: str, defaults_file: Path | None) -> CostModel:
    """Return the cost model of a server."""
    from paraply.analysis.analyze.calibrate import calibrate

    return calibrate(url, defaults_file=None if defaults_file is None else str(defaults_file))


analyze.__doc__ = (analyze.__doc__ or "") + "\n" + EXAMPLES
