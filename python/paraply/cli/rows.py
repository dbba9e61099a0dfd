"""``paraply rows``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from paraply._extras import require_extra
from paraply.cli.options import AsJson, Channel, Databases, Debug, DefaultsFile, Logs, Tables
from paraply.cli.process.secrets import hide_arguments
from paraply.cli.terminal import output
from paraply.errors import UsageError
from paraply.output_files import new_file, new_text_file
from paraply.wording import counted

if TYPE_CHECKING:
    from paraply.analysis.row_changes import ChangeFilter
    from paraply.schema.model import Table

__all__ = ["rows"]

EXAMPLES = """
[bold]Examples[/bold]

  paraply rows binlog.000041 --table shop.orders --key id=7
  paraply rows binlog.00004* --since 2026-03-01T14:00:00Z --until 2026-03-01T14:10:00Z
  paraply rows binlog.000041 --format jsonl | jq 'select(.operation == "delete")'
  paraply rows binlog.000041 --gtid 0-1-4711 --format sql
  paraply rows binlog.00004* --schema-from mysql://app@db1 -o rows.parquet
"""

PARQUET = ".parquet"
FORMS = {".txt": "text", ".jsonl": "jsonl", ".csv": "csv", ".sql": "sql", PARQUET: "parquet"}
"""Forms by the ending of the file's name."""


def rows(
    log: Logs,
    format_: Annotated[
        str | None,
        typer.Option("--format", metavar="text|jsonl|csv|sql", help="Form of the output; by default by the name of FILE, else text."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write to this file, in the form of its name's ending: .jsonl, .csv, .sql, .parquet."
        ),
    ] = None,
    database: Databases = None,
    table: Tables = None,
    since: Annotated[str | None, typer.Option(metavar="TIME", help="Commit time from which, such as 2026-03-01T14:07:00+01:00.")] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="Commit time before which.")] = None,
    gtid: Annotated[str | None, typer.Option("--gtid", "--transactions", metavar="SET", help="Only these transactions.")] = None,
    key: Annotated[list[str] | None, typer.Option(metavar="COLUMN=VALUE", help="Only rows with this value; may be repeated.")] = None,
    schema: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="A dump with the tables as they were at the start of the log.")
    ] = None,
    schema_from: Annotated[
        str | None, typer.Option(metavar="URL", help="A server that has the tables, for names that the log lacks.")
    ] = None,
    defaults_file: DefaultsFile = None,
    channel: Channel = "default",
    full: Annotated[bool, typer.Option("--full", help="Show long values whole in text.")] = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Show the row changes of logs: transactions with time, GTID, tables, and values before and after.

    Binary values are hexadecimal digits. In text, an update shows only what changed, and long values are shortened.
    """
    if schema_from is not None:
        hide_arguments()

    def body() -> tuple[int, Mapping[str, Any]]:
        from paraply.logs import log_paths
        from paraply.logs.archived import Wanted

        file = None if out is None or str(out) == "-" else out
        form = format_of(format_, file, as_json=as_json, key=bool(key))
        if form == "parquet":
            require_extra("arrow", "paraply rows")
        elif form != "sql":
            require_extra("arrow", "paraply rows", "or use --format sql, which works without")
        wanted = filter_of(database, table, since, until, gtid, key)
        paths = log_paths(log, Wanted(since=wanted.since, until=wanted.until))
        tables = tables_of(schema, schema_from, channel, defaults_file)
        count, finished = 0, False  # both stay so if the reader closes its end
        with sink_of(file) as sink:
            if form == "parquet":
                count = write_parquet(paths, wanted, tables, Path(str(file)))
            else:
                count = write_text(paths, wanted, tables, form, sink, full)
            finished = True
        if file is not None and not as_json:
            output.console.print(f"{counted(count, 'row change')} in {file}", soft_wrap=True)
        if finished and not count:
            for note in nothing_found(paths, wanted, tables):
                output.notice("note", note)
        return 0, {"rows": count, "output": None if file is None else str(file)}

    output.run("rows", body, as_json=as_json, debug=debug)


class Sink(Protocol):
    """File that text is written to."""

    def write(self, text: str, /) -> Any:
        """Write text."""


class Counted:
    """Row changes that are counted while they pass.

    Args:
        found: The row changes.
    """

    def __init__(self, found: Iterator[dict[str, Any]]) -> None:
        self._found = found
        self.count = 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for change in self._found:
            self.count += 1
            yield change


def nothing_found(paths: list[str], wanted: ChangeFilter, definitions: list[Table]) -> Iterator[str]:
    """Yield remarks about conditions that no row change of the logs meets."""
    from paraply._native import look_ahead
    from paraply.applier.selection.filters import names_not_in_logs

    if wanted == type(wanted)():
        return
    yield "no row change of these logs meets the conditions; names and values are compared as in the log"
    if wanted.filters:
        ahead = look_ahead(paths, wanted.filters.native())
        yield from names_not_in_logs(wanted.filters, ahead.unmatched_databases, ahead.unmatched_tables)
    yield from keys_not_found(paths, wanted, definitions)


def keys_not_found(paths: list[str], wanted: ChangeFilter, definitions: list[Table]) -> Iterator[str]:
    """Yield remarks about columns of ``--key`` that the tables of the logs lack, or whose names are not known."""
    from paraply.analysis.row_changes import column_names

    if not wanted.keys:
        return
    names, unnamed = column_names(paths, wanted, definitions)
    lacking = [name for name in wanted.keys if name not in names]
    if unnamed and not all(name.startswith("@") for name in wanted.keys):
        yield (
            f"the names of the columns of {', '.join(sorted(unnamed))} are not known from these logs: give --schema or --schema-from, name"
            " the log with the CREATE TABLE too, or count the columns, as in --key @1=7"
        )
    elif lacking and names:
        yield f"no table of these logs has a column {', '.join(lacking)}; names are compared with upper and lower case distinct"


def format_of(name: str | None, out: Path | None, *, as_json: bool, key: bool) -> str:
    """Return the form of the output: the one that is asked for, or else that of the file's name.

    Raises:
        UsageError: The form is unknown, or does not go with other options.
    """
    from paraply.analysis.row_texts import FORMATS

    by_name = FORMS.get(out.suffix) if out is not None else None
    if name is not None and name not in FORMATS:
        raise UsageError(f"--format {name}: give one of {', '.join(FORMATS)}, or -o FILE{PARQUET}")
    if name is not None and by_name == "parquet":
        raise UsageError(f"--format {name} does not go with a file whose name ends in {PARQUET}: leave one of the two out")
    if as_json and out is None:
        raise UsageError("--json prints one object about the run: give -o FILE for the rows, or --format jsonl without --json")
    form = name or by_name or "text"
    if key and form == "sql":
        raise UsageError("--key does not go with --format sql, whose statements may be about several rows")
    return form


def filter_of(
    database: list[str] | None, table: list[str] | None, since: str | None, until: str | None, gtid: str | None, key: list[str] | None
) -> ChangeFilter:
    """Return the conditions of the options."""
    from paraply.analysis.row_changes import ChangeFilter, parse_keys
    from paraply.applier.selection.filters import parse_filters
    from paraply.logs.stop_point import parse_moment
    from paraply.logs.transaction_set import TransactionSet

    return ChangeFilter(
        filters=parse_filters(database or [], table or []),
        since=None if since is None else parse_moment("--since", since),
        until=None if until is None else parse_moment("--until", until),
        gtids=None if gtid is None else TransactionSet.parse("--gtid", gtid),
        keys=parse_keys(key or []),
    )


def tables_of(schema: Path | None, url: str | None, channel: str, defaults_file: Path | None) -> list[Table]:
    """Return the definitions of a dump, and of a server for tables that the dump lacks."""
    from paraply.schema.readers.dump import read_dump

    tables = [] if schema is None else list(read_dump(schema))
    if url is not None:
        from paraply.targets.definitions import read_definitions

        known = {(table.database, table.name) for table in tables}
        found = read_definitions(url, channel=channel, defaults_file=defaults_file)
        tables += [table for table in found if (table.database, table.name) not in known]
    return tables


@contextmanager
def sink_of(out: Path | None) -> Iterator[Sink]:
    """Open the output for a ``with`` block; a reader that has closed its end, as ``head`` does, ends the block without an error."""
    if out is not None and out.suffix == PARQUET:
        yield sys.stdout
    elif out is not None:
        with new_text_file(out, "-o") as file:
            yield file
    else:
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(errors="surrogateescape")
        try:
            yield sys.stdout
            sys.stdout.flush()
        except BrokenPipeError:
            output.silence(sys.stdout)


def write_text(paths: list[str], wanted: ChangeFilter, tables: list[Table], form: str, sink: Sink, full: bool) -> int:
    """Write row changes in a form of text, and return their number; of SQL the number of pieces of text."""
    from paraply.analysis import row_texts
    from paraply.analysis.row_changes import SqlSource, TransactionStarts, changes

    found = Counted(changes(paths, wanted, tables))
    if form == "sql":
        source = SqlSource(paths, wanted, tables)
        for text in row_texts.as_sql(source):
            sink.write(text)
        return source.rows
    starts = TransactionStarts(paths, wanted)
    writers = {"text": lambda: row_texts.as_text(found, starts.of, full=full), "jsonl": lambda: row_texts.as_json_lines(found)}
    for text in writers.get(form, lambda: row_texts.as_csv(found))():
        sink.write(text)
    return found.count


def write_parquet(paths: list[str], wanted: ChangeFilter, tables: list[Table], out: Path) -> int:
    """Write row changes as Parquet with the columns of ``paraply.rows``, and return their number."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from paraply._native import row_schema
    from paraply.analysis.row_changes import batches, takes

    count = 0
    with new_file(out, "-o") as file, pq.ParquetWriter(file, row_schema()) as writer:
        for batch in batches(paths, wanted, tables, row_schema().names):
            chosen = batch if wanted.gtids is None and not wanted.keys else batch.filter(pa.array(takes(batch, wanted)))
            if chosen.num_rows:
                writer.write_batch(chosen)
                count += chosen.num_rows
    return count


rows.__doc__ = (rows.__doc__ or "") + "\n" + EXAMPLES
