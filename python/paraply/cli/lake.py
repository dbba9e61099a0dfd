"""``paraply lake``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from paraply._extras import require_extra
from paraply.cli.options import AsJson, Databases, Debug, DefaultsFile, ExcludedDatabases, ExcludedTables, Logs, Quiet, StartAfter, Tables
from paraply.cli.process.secrets import hide_arguments
from paraply.cli.process.signals import stops_on_signal
from paraply.cli.terminal import output
from paraply.cli.terminal.progress import progress_line
from paraply.wording import counted

if TYPE_CHECKING:
    from paraply.lake import LakeReport, LakeWriter

__all__ = ["lake"]

EXAMPLES = """
[bold]Examples[/bold]

  paraply lake /var/lib/mysql/binlog.00004* --into /lake --format delta

  paraply lake /backup/db1 --into s3://lake/shop --format delta --database shop

  paraply lake binlog.00004* --into /lake --format iceberg --batch-rows 500000

The same command continues after the last published state, with newer logs too.
"""


def lake(
    log: Logs,
    into: Annotated[str, typer.Option("--into", metavar="URL", help="The lake: a folder or URL, or catalog:NAME for Iceberg.")],
    format_: Annotated[str, typer.Option("--format", metavar="delta|iceberg", help="Format of the tables.")],
    database: Databases = None,
    table: Tables = None,
    exclude_database: ExcludedDatabases = None,
    exclude_table: ExcludedTables = None,
    schema: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="A dump with the tables as they were at the start of the log.")
    ] = None,
    schema_from: Annotated[
        str | None, typer.Option(metavar="URL", help="A server that has the tables, for tables that the log does not create.")
    ] = None,
    defaults_file: DefaultsFile = None,
    start_after: StartAfter = None,
    batch_rows: Annotated[int, typer.Option(metavar="N", min=1, help="Row changes after which a state is published.")] = 100_000,
    batch_megabytes: Annotated[
        int, typer.Option(metavar="N", min=1, help="Megabytes of row changes after which they are written, and a state is published.")
    ] = 256,
    quiet: Quiet = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Write the tables of a log into a lake, Delta or Iceberg, so that readers see one state of the source in all tables."""
    hide_arguments()
    writer: LakeWriter | None = None

    def body() -> tuple[int, Mapping[str, Any]]:
        nonlocal writer
        require_extra("lake", "paraply lake")
        from paraply.applier.selection.filters import parse_filters
        from paraply.cli.rows import tables_of
        from paraply.lake import LakeOptions, LakeWriter
        from paraply.logs import log_paths

        options = LakeOptions(
            logs=log,
            into=into,
            form=format_,
            filters=parse_filters(database or [], table or [], exclude_database or [], exclude_table or []),
            definitions=tables_of(schema, schema_from, "default", defaults_file),
            start_after=start_after,
            batch_rows=batch_rows,
            batch_bytes=batch_megabytes << 20,
        )
        total = sum(Path(path).stat().st_size for path in log_paths(log))
        with progress_line("lake", total, quiet=quiet or as_json) as line:
            writer = LakeWriter(options, lambda report: line.update(report.read_bytes, counted(report.rows, "row change")))
            with stops_on_signal(writer.stop, "stopping after the next published state ..."):
                report = writer.run()
        if not as_json:
            for note in report.notes:
                output.console.print(escape(f"note     {note}"), soft_wrap=True)
            output.console.print(escape(words(report)), soft_wrap=True)
        return 0, report.as_json()

    def so_far() -> Mapping[str, Any]:
        return {} if writer is None else writer.report.as_json()

    output.run("lake", body, as_json=as_json, debug=debug, so_far=so_far)


def words(report: LakeReport) -> str:
    """Return a report for people.

    >>> from paraply.lake import LakeReport
    >>> words(LakeReport("/lake", "delta", 7, "0-1-41", 3, transactions=20, rows=400, merged=310))
    '/lake: published state 7 with 3 tables at 0-1-41; 20 transactions added, 400 row changes, 310 after merging'
    """
    if not report.publication:
        return f"{report.into}: nothing is published, as the logs have no transaction"
    return (
        f"{report.into}: published state {report.publication} with {counted(report.tables, 'table')}"
        f" at {report.executed or 'no transaction'};"
        f" {counted(report.transactions, 'transaction')} added, {counted(report.rows, 'row change')}, {report.merged:,} after merging"
    )


lake.__doc__ = (lake.__doc__ or "") + "\n" + EXAMPLES
