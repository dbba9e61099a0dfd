"""Options and output of ``paraply bench``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from paraply._extras import require_extra
from paraply.cli.bench.loads import LoadOptions, LoadScale, LoadVariants, load_results
from paraply.cli.bench.scale import ScaleOptions, scale_results
from paraply.cli.demo import demo_log
from paraply.cli.options import AsJson, Debug
from paraply.cli.terminal import output
from paraply.errors import UsageError
from paraply.output_files import new_text_file

if TYPE_CHECKING:
    from paraply.bench.kernels import KernelResult
    from paraply.bench.peers import Measurement
    from paraply.bench.texts import TextResult

__all__ = ["bench"]

EXAMPLES = """
[bold]Examples[/bold]

  paraply bench binlog.000007

  paraply bench binlog.000007 --to mysql://root@127.0.0.1:3306 --reset -o results.json

  paraply bench --loads all --to mysql://root@127.0.0.1:3306 --reset --data /var/lib/mysql --chart loads.svg

  paraply bench --loads sysbench-write-only,tpcc --floor --brief --postgres embedded --rounds 5

  paraply bench --scale

  paraply bench --kernels
"""


def bench(
    log: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[LOG]...", exists=True, dir_okay=False, help="Binlogs to replay; none: the kernels alone."),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="URL", help="An empty MySQL or MariaDB server; none: a MariaDB is started on a temporary folder."),
    ] = None,
    reset: Annotated[
        bool, typer.Option("--reset", help="Allow to empty that server's binary logs and GTID state between the runs.")
    ] = False,
    workers: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,...", help="Worker counts to measure; 0,1,2,4,8, with --loads 1,8, and with --scale 1 to 64.", show_default=False
        ),
    ] = None,
    merge: Annotated[str, typer.Option(metavar="off,auto", help="Merge settings to measure; with --loads fixed sizes, too.")] = "off,auto",
    peer: Annotated[bool, typer.Option("--peer/--no-peer", help="Measure the server's own client pipeline too.")] = True,
    decode: Annotated[
        str | None, typer.Option(metavar="COMMAND", help="The peer's decoder, instead of mysqlbinlog or mariadb-binlog on PATH.")
    ] = None,
    client: Annotated[str | None, typer.Option(metavar="COMMAND", help="The peer's client, instead of mysql or mariadb on PATH.")] = None,
    scale: Annotated[
        bool, typer.Option("--scale", help="Measure how an apply scales with its workers: no conflicts, and a delay before the target.")
    ] = False,
    delay: Annotated[float, typer.Option(metavar="MS", min=0.0, help="With --scale: round trip to the target, in milliseconds.")] = 1.0,
    storage: Annotated[
        str | None,
        typer.Option(
            metavar="disk,memory",
            help="With --scale: storage of the bench's own server; by default both, one after the other, if memory is large enough.",
            show_default=False,
        ),
    ] = None,
    loads: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,...",
            help="Make these loads on the server and measure them: oltp, hot-rows, inserts, large, foreign-keys, sysbench-write-only,"
            " sysbench-update-index, sysbench-insert, tpcc; or all.",
        ),
    ] = None,
    floor: Annotated[
        bool,
        typer.Option(
            "--floor",
            help="With --loads: measure the floor too, a client that sends statements made beforehand and keeps no order of commits.",
        ),
    ] = False,
    brief: Annotated[
        bool, typer.Option("--brief", help="With --loads: of paraply only the default settings, without the client pipeline.")
    ] = False,
    postgres: Annotated[
        str | None,
        typer.Option(
            metavar="URL|embedded",
            help="With --loads: replay into this empty PostgreSQL too; embedded: one in a temporary folder.",
            show_default=False,
        ),
    ] = None,
    table_size: Annotated[
        int, typer.Option(metavar="ROWS", min=1, help="With --loads: rows of each of the eight tables of the sysbench loads at the start.")
    ] = 10_000,
    warehouses: Annotated[int, typer.Option(metavar="N", min=1, help="With --loads: warehouses of the load tpcc.")] = 2,
    transactions: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Transactions of a load; 25,000 with --loads, 24,000 with --scale. Large ones are fewer.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="With --loads: seed of the random choices.")] = 1,
    rounds: Annotated[
        int, typer.Option(metavar="N", min=1, help="With --loads and --scale: measure each variant this many times and take the median.")
    ] = 1,
    chart: Annotated[Path | None, typer.Option(metavar="FILE", help="With --loads: write a plot as SVG to this file.")] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="FOLDER",
            exists=True,
            file_okay=False,
            help="The server's data folder on this machine: measure its own parallel applier too, with the log as its relay log.",
        ),
    ] = None,
    kernels: Annotated[bool, typer.Option("--kernels", help="Measure certification, hashing and decoding.")] = False,
    results: Annotated[Path | None, typer.Option("-o", "--output", help="Write the results as JSON to this file.")] = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Measure replays of a log on a real server, single and parallel, beside the server's own client pipeline."""

    def body() -> tuple[int, Mapping[str, Any]]:
        fields: dict[str, Any] = {}
        if loads is None and (floor or brief or postgres is not None):
            raise UsageError("--floor, --brief and --postgres belong to loads: name some with --loads, or all of them with --loads all")
        if scale:
            most = numbers(workers) if workers else None
            options = ScaleOptions(to, reset, delay, transactions or 24_000, rounds, decode, most, data, storage)
            fields |= scale_results(options, as_json)
        if loads is not None:
            count, counts = transactions or 25_000, numbers(workers or "1,8")
            sizes = [one for one in merge.split(",") if one not in ("off", "auto")]  # these two are always measured
            scale_of = LoadScale(count, table_size, warehouses)
            variants = LoadVariants(counts, rounds, peer, sizes, floor, brief, postgres)
            asked = LoadOptions(loads, to, reset, scale_of, seed, variants, decode, client, data, chart)
            fields |= load_results(asked, as_json)
        if kernels or not (log or scale or loads is not None):
            fields["kernels"] = [result.as_json() for result in kernel_results(log, as_json)]
            fields["texts"] = [result.as_json() for result in text_results(as_json)]
        if log:
            ways = ReplayOptions(to, reset, numbers(workers or "0,1,2,4,8"), merge.split(","), peer, decode, client, data)
            fields |= replay_results(log, ways, as_json)
        if results is not None:
            results.parent.mkdir(parents=True, exist_ok=True)
            with new_text_file(results, "-o") as file:
                file.write(json.dumps(fields, indent=2) + "\n")
        return 0, fields

    output.run("bench", body, as_json=as_json, debug=debug)


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """Options of the replays."""

    to: str | None
    reset: bool
    workers: list[int]
    merges: list[str]
    peer: bool
    decode: str | None
    client: str | None
    data: Path | None = None


def numbers(text: str) -> list[int]:
    """Return the worker counts in a text.

    >>> numbers("0,8")
    [0, 8]
    """
    return [int(part) for part in text.split(",") if part.strip()]


def kernel_results(log: Sequence[Path] | None, quiet: bool) -> list[KernelResult]:
    """Measure the kernels on the given log, or on the one in the package."""
    require_extra("arrow", "paraply bench --kernels")
    from paraply.bench.kernels import measure_kernels

    with demo_log(log[0] if log else None) as path:
        found = list(measure_kernels(path))
    if not quiet:
        numbers = output.columns_of_numbers("native", "plain Python", "ratio")
        table = Table("kernel", "unit", *numbers, title="Kernels, one thread, beside plain Python")
        for result in found:
            table.add_row(result.name, result.unit, f"{result.native:,.1f}", f"{result.python:,.3f}", f"{result.ratio:,.0f}")
        output.console.print(table)
    return found


def text_results(quiet: bool) -> list[TextResult]:
    """Measure the hashing of text keys, with the format of the log in the package."""
    from paraply.bench.texts import measure_texts

    with demo_log(None) as path:
        found = list(measure_texts(path))
    if not quiet:
        title = "Rows whose key is text, one thread, beside a bytewise hash of the same rows"
        table = Table("script", "collation", *output.columns_of_numbers("MB/s", "million keys/s", "times slower"), title=title)
        for result in found:
            table.add_row(result.script, result.collation, f"{result.megabytes:,.0f}", f"{result.keys:,.1f}", f"{result.ratio:,.2f}")
        output.console.print(table)
    return found


def replay_results(log: Sequence[Path], options: ReplayOptions, quiet: bool) -> dict[str, Any]:
    """Measure the replays; each result is shown as soon as it is known."""
    from paraply.bench.own_applier import OwnApplier
    from paraply.bench.peers import measure_all, pipeline_for
    from paraply.bench.server import bench_server

    found: list[Measurement] = []
    with bench_server(options.to, reset=options.reset, data=options.data) as server:
        if not quiet:
            output.console.print(f"{server.version} at {server.parsed}")
        pipeline = pipeline_for(server, options.decode, options.client) if options.peer else None
        databases = databases_of(log)
        own = OwnApplier(server, server.data) if options.peer and server.data is not None else None
        replays = measure_all(server, log, pipeline=pipeline, workers=options.workers, merges=options.merges, databases=databases, own=own)
        for measurement in replays:
            found.append(measurement)
            if not quiet:
                output.console.print(f"  {measurement.name:<36} {measurement.seconds:8.2f} s")
    transactions = max(measurement.transactions for measurement in found)
    for measurement in found:
        measurement.transactions = transactions
    if not quiet:
        show(found)
    return {"server": server.version, "transactions": transactions, "replays": [one.as_json(found[0].seconds) for one in found]}


def databases_of(log: Sequence[Path]) -> list[str]:
    """Return the databases that the log writes to."""
    from paraply.logs import open_log

    names: set[str] = set()
    for transaction in open_log(log):
        names.update(table.split(".", 1)[0] for table in transaction.tables)
    return sorted(names)


def show(found: Sequence[Measurement]) -> None:
    """Print the table; ratios are to its first line."""
    numbers = output.columns_of_numbers("seconds", "transactions/s", "ratio")
    table = Table("replay", *numbers, title="Replays of one log; all end with the same CHECKSUM TABLE")
    for measurement in found:
        table.add_row(
            measurement.name, f"{measurement.seconds:.2f}", f"{measurement.rate:,.0f}", f"{found[0].seconds / measurement.seconds:.1f}"
        )
    output.console.print(table)


bench.__doc__ = (bench.__doc__ or "") + "\n" + EXAMPLES
