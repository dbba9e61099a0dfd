"""``paraply undo``."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from paraply.cli.options import AsJson, Channel, Databases, Debug, DefaultsFile, Logs, Quiet, Tables, TargetUrl
from paraply.cli.process.secrets import hide_arguments
from paraply.cli.terminal import output
from paraply.cli.terminal.progress import progress_line
from paraply.errors import UsageError
from paraply.wording import counted, table_for_people

if TYPE_CHECKING:
    from paraply.undo.options import UndoOptions, UndoReport
    from paraply.undo.undo import Undo

__all__ = ["undo"]

EXAMPLES = """
[bold]Examples[/bold]

  paraply undo binlog.00004* --to mysql://root@db1 --transactions 0-1-4711 --dry-run
  paraply undo binlog.00004* --to mysql://root@db1 --transactions 0-1-4711
  paraply undo binlog.00004* --to mariadb://root@db1 --table shop.orders --dependents include
      --between 2026-03-01T14:00:00Z 2026-03-01T14:10:00Z
  paraply undo binlog.00004* --to postgresql://app@db2/copy --transactions 0-1-4711-4713 --sql undo.sql

Name all logs from the first of the transactions up to now. Exit code 1 with dependents, which are listed: nothing is changed then.
"""

_LISTED = 20


def undo(
    log: Logs,
    to: TargetUrl = None,
    transactions: Annotated[str | None, typer.Option(metavar="SET", help="GTIDs of the transactions to undo.")] = None,
    between: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="TIME TIME", help="Undo what was committed from the first time on and before the second."),
    ] = None,
    table: Tables = None,
    database: Databases = None,
    dependents: Annotated[
        str,
        typer.Option(metavar="stop|include|keep", help="Later transactions that depend on these: refuse, undo them too, or leave them."),
    ] = "stop",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Try it, roll it back, and show what would be undone.")] = False,
    sql: Annotated[
        Path | None, typer.Option(metavar="FILE", dir_okay=False, help="Write the statements to this file for review, and run nothing.")
    ] = None,
    schema: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="A dump with the tables as they were at the start of the log, if need be."),
    ] = None,
    channel: Channel = "default",
    defaults_file: DefaultsFile = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Take back the row changes of chosen transactions in a live target.

    The result is the state of a replay of the log without them. All changes are made in one transaction, newest first. Each finds its
    row only with exactly the values that the log left there, so that nobody's later change is overwritten.
    """
    hide_arguments()
    run: Undo | None = None

    def body() -> tuple[int, Mapping[str, Any]]:
        from paraply.cli.process.signals import interrupted_by_signal
        from paraply.logs import log_paths
        from paraply.undo.undo import Undo, open_writer

        nonlocal run
        options = options_of(transactions, between, table, database, dependents, channel, schema)
        total = 3 * sum(Path(path).stat().st_size for path in log_paths(log))
        with (
            interrupted_by_signal(),
            closing(open_writer(to, options, defaults_file=defaults_file)) as writer,
            progress_line("undo", total, quiet=as_json or quiet) as line,
        ):
            run = Undo(log, writer, options, on_progress=line.update)
            report = run.run(dry_run=dry_run, sql=sql)
        if not as_json:
            show(report, dependents, sql)
        return 0, report.as_json()

    def so_far() -> Mapping[str, Any]:
        if run is None:
            return {}
        if not as_json:
            show_refused(run.report)
        return run.report.as_json()

    output.run("undo", body, as_json=as_json, debug=debug, so_far=so_far)


def options_of(
    transactions: str | None,
    between: tuple[str, str] | None,
    table: list[str] | None,
    database: list[str] | None,
    dependents: str,
    channel: str,
    schema: Path | None,
) -> UndoOptions:
    """Return the options of the command line.

    Raises:
        UsageError: The transactions are not named in exactly one way, or a value is not known.
    """
    from paraply._native import TableFilter
    from paraply.applier.selection.filters import parse_filters
    from paraply.logs.stop_point import parse_moment
    from paraply.logs.transaction_set import TransactionSet
    from paraply.schema.readers.dump import read_dump
    from paraply.undo.options import UndoOptions

    if (transactions is None) == (between is None):
        raise UsageError("give either --transactions SET or --between TIME TIME")
    if dependents not in ("stop", "include", "keep"):
        raise UsageError(f"--dependents {dependents}: give stop, include or keep")
    times = None if between is None else (parse_moment("--between", between[0]), parse_moment("--between", between[1]))
    if times is not None and times[0] >= times[1]:
        raise UsageError(f"--between {between[0]} {between[1]}: the second time is not after the first" if between else "")
    filters = parse_filters(database or [], table or [])
    return UndoOptions(
        transactions=None if transactions is None else TransactionSet.parse("--transactions", transactions),
        between=times,
        tables=TableFilter(filters.databases, filters.tables, leaves_own_out=True) if filters else None,
        dependents="include" if dependents == "include" else "keep" if dependents == "keep" else "stop",
        channel=channel,
        schema=() if schema is None else tuple(read_dump(schema)),
    )


def show(report: UndoReport, dependents: str, sql: Path | None) -> None:
    """Print the report for people."""
    from paraply.undo.history import earlier_words

    done = "taken back" if report.applied else "to be taken back, nothing was changed"
    where = f", written to {sql}" if sql is not None else f" in {report.seconds:.2f} s" if report.applied else ""
    what = f"{counted(report.row_count, 'row change')} of {counted(report.transactions, 'transaction')}"
    output.console.print(f"{what} {done}{escape(where)}", soft_wrap=True)
    for table, rows in sorted(report.rows.items()):
        output.console.print(f"  {escape(table_for_people(table))}: {rows:,}", soft_wrap=True)
    if report.dependent_count:
        words = ("is", "are")[report.dependent_count > 1] + (" undone too" if dependents == "include" else " left")
        which = counted(report.dependent_count, "later transaction depends", "later transactions depend")
        output.console.print(f"{which} on what is undone, and {words}")
        show_dependents(report)
    if report.earlier:
        output.console.print(f"warning: {earlier_words(report.earlier)}", soft_wrap=True, markup=False, highlight=False)
    if report.kept_count:
        which = counted(report.kept_count, "row change stays", "row changes stay")
        output.console.print(f"{which}, because these transactions use the rows:")
        for table, key in report.kept_rows[:_LISTED]:
            output.console.print(f"  {escape(table_for_people(table))} {escape(key)}", soft_wrap=True)


def show_refused(report: UndoReport) -> None:
    """Print the dependents of transactions that were not undone, after the error."""
    if not report.dependent_count:
        return
    which = counted(report.dependent_count, "later transaction depends", "later transactions depend")
    output.console.print(f"{which} on what was to be undone:")
    show_dependents(report)


def show_dependents(report: UndoReport) -> None:
    """Print the first dependents, oldest first."""
    for dependent in report.dependents[:_LISTED]:
        output.console.print(f"  {escape(str(dependent))}", soft_wrap=True)
    more = report.dependent_count - _LISTED
    if more > 0:
        output.console.print(f"  and {more:,} more; --json lists the first thousand")


undo.__doc__ = (undo.__doc__ or "") + "\n" + EXAMPLES
