"""``paraply demo``."""

from __future__ import annotations

import lzma
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.table import Table

from paraply._extras import require_extra
from paraply.cli.options import AsJson, Debug
from paraply.cli.terminal import output
from paraply.cli.terminal.progress import progress_line
from paraply.wording import counted

if TYPE_CHECKING:
    import psycopg

    from paraply.applier import ApplyReport
    from paraply.targets.postgres.embedded import EmbeddedPostgres

__all__ = ["demo"]

EXAMPLES = """
[bold]Examples[/bold]

  paraply demo

  paraply demo --workers 8 --json

  paraply demo --log relay.000002 --data ./demo-data
"""

SYSTEM_SCHEMAS = ("pg_catalog", "information_schema", "pg_toast", "paraply", "public")


@dataclass(frozen=True, slots=True)
class Run:
    """A way to apply the log."""

    name: str
    database: str
    workers: int
    merge: Literal["auto", "off"]


def demo(
    workers: Annotated[int, typer.Option(min=1, max=64, help="Workers of the parallel run.")] = 4,
    log: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="Another log, instead of the one that comes with paraply.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(file_okay=False, help="Keep the databases in this folder; by default they are removed at the end.")
    ] = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Apply a real group relay log to an embedded PostgreSQL, with one worker and in parallel, and compare."""

    def body() -> tuple[int, Mapping[str, Any]]:
        require_extra("embedded", "paraply demo")
        from paraply.targets.postgres.embedded import EmbeddedPostgres

        runs = (Run("1 worker", "serial", 1, "off"), Run(f"{workers} workers, merging", "parallel", workers, "auto"))
        with demo_log(log) as path, folder(data) as place, EmbeddedPostgres(place) as server:
            reports = {run.name: apply_once(server, path, run, quiet=as_json) for run in runs}
            differing = differing_tables(*(server.uri_of(run.database) for run in runs))
        serial, parallel = reports.values()
        ratio = serial.seconds / parallel.seconds if parallel.seconds else 0.0
        if not as_json:
            show(reports, ratio, differing)
        fields = {
            "transactions": parallel.transactions,
            "equal": not differing,
            "differing_tables": differing,
            "ratio": round(ratio, 2),
            "runs": [run_json(name, report) for name, report in reports.items()],
        }
        return (1 if differing else 0), fields

    output.run("demo", body, as_json=as_json, debug=debug)


@contextmanager
def demo_log(log: Path | None) -> Iterator[Path]:
    """Yield the log to apply: the given one, or the one in the package, unpacked to a temporary file."""
    if log is not None:
        yield log
        return
    with tempfile.TemporaryDirectory(prefix="paraply-demo-") as place:
        path = Path(place) / "demo.relay"
        with (
            resources.files("paraply.data").joinpath("demo.relay.xz").open("rb") as packed,
            lzma.open(packed) as plain,
            path.open("wb") as out,
        ):
            shutil.copyfileobj(plain, out)
        yield path


@contextmanager
def folder(data: Path | None) -> Iterator[Path]:
    """Yield the data folder: the given one, or a temporary one."""
    if data is not None:
        data.mkdir(parents=True, exist_ok=True)
        yield data
        return
    with tempfile.TemporaryDirectory(prefix="paraply-demo-", ignore_cleanup_errors=True) as place:
        yield Path(place)


def apply_once(server: EmbeddedPostgres, log: Path, run: Run, *, quiet: bool) -> ApplyReport:
    """Apply the log to a fresh database."""
    from paraply.applier import Applier
    from paraply.targets import open_target

    fresh_database(server.uri_of("postgres"), run.database)
    with open_target(server.uri_of(run.database)) as target, progress_line(run.name, log.stat().st_size, quiet=quiet) as line:
        applier = Applier(
            [log],
            target,
            workers=run.workers,
            merge=run.merge,
            on_progress=lambda counters: line.update(counters.read_bytes, counted(counters.transactions, "transaction")),
        )
        return applier.run()


def fresh_database(admin: str, name: str) -> None:
    """Make an empty database; drop an older one of that name."""
    import psycopg  # here, because every command imports this module, and few need ten megabytes more
    from psycopg import sql

    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))


def differing_tables(left: str, right: str) -> list[str]:
    """Return the tables whose rows differ between two databases, except the progress."""
    import psycopg

    with psycopg.connect(left) as one, psycopg.connect(right) as other:
        names = sorted(set(table_names(one)) | set(table_names(other)))
        present = set(table_names(one)) & set(table_names(other))
        return [
            f"{schema}.{table}"
            for schema, table in names
            if (schema, table) not in present or rows(one, schema, table) != rows(other, schema, table)
        ]


def table_names(connection: psycopg.Connection[Any]) -> list[tuple[str, str]]:
    """Return all tables with replicated rows."""
    query = "SELECT schemaname, tablename FROM pg_tables WHERE schemaname <> ALL(%s) ORDER BY 1, 2"
    return [(schema, table) for schema, table in connection.execute(query, [list(SYSTEM_SCHEMAS)]).fetchall()]


def rows(connection: psycopg.Connection[Any], schema: str, table: str) -> list[str]:
    """Return every row of a table as text, in the order of that text."""
    from psycopg import sql

    query = sql.SQL('SELECT t::text FROM {} t ORDER BY t::text COLLATE "C"').format(sql.Identifier(schema, table))
    return [text for (text,) in connection.execute(query).fetchall()]


def run_json(name: str, report: ApplyReport) -> dict[str, Any]:
    """Return one run as a JSON object."""
    return {
        "name": name,
        "seconds": round(report.seconds, 3),
        "transactions": report.transactions,
        "commits": report.commits,
        "waits": report.waits,
        "retries": report.retries,
        "younger_rolled_back": report.rollbacks,
    }


def show(reports: Mapping[str, ApplyReport], ratio: float, differing: list[str]) -> None:
    """Print both runs side by side; waits are seconds, summed over the workers."""
    count = max(report.transactions for report in reports.values())
    numbers = output.columns_of_numbers("seconds", "tx/s", "commits", "wait rows", "wait turn", "retries")
    table = Table("run", *numbers, title=f"A group's relay log of {counted(count, 'transaction')}, applied to the embedded PostgreSQL")
    for name, report in reports.items():
        rate = report.transactions / report.seconds if report.seconds else 0.0
        waits = [f"{report.waits.get(kind, 0.0):.2f}" for kind in ("dependency", "turn")]
        table.add_row(name, f"{report.seconds:.2f}", f"{rate:,.0f}", f"{report.commits:,}", *waits, str(report.retries))
    output.console.print(table)
    if differing:
        output.console.print(f"[red]the databases differ[/red] in {', '.join(differing)}")
    else:
        output.console.print(f"[green]both databases are equal[/green], the parallel run is {ratio:.1f} times as fast")


demo.__doc__ = (demo.__doc__ or "") + "\n" + EXAMPLES
