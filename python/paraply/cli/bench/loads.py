"""``paraply bench --loads``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from paraply.cli.terminal import output
from paraply.errors import UsageError
from paraply.output_files import new_text_file
from paraply.wording import counted

if TYPE_CHECKING:
    from paraply.bench.load_bench import LoadResult
    from paraply.bench.peers import Measurement

__all__ = ["LoadOptions", "load_results"]


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """Options of ``--loads``."""

    loads: str
    to: str | None
    reset: bool
    workers: list[int]
    transactions: int
    seed: int
    rounds: int
    peer: bool
    decode: str | None
    client: str | None
    data: Path | None
    chart: Path | None
    sizes: list[str]


def load_results(options: LoadOptions, quiet: bool) -> dict[str, Any]:
    """Measure the loads; each replay is shown as soon as it is known, and each load's table after its replays."""
    from paraply.bench.load_bench import LoadBench
    from paraply.bench.loads import LOADS, load_names
    from paraply.bench.own_applier import OwnApplier
    from paraply.bench.peers import pipeline_for
    from paraply.bench.server import bench_server

    try:
        loads = [LOADS[name] for name in load_names(options.loads)]
    except ValueError as error:
        raise UsageError(str(error)) from None
    if options.to is not None and not options.reset:
        raise UsageError("--loads empties the server's binary logs and GTID state between the replays: allow it with --reset")

    def tell(title: str, one: Measurement) -> None:
        if not quiet:
            output.console.print(f"  {title:<20} {one.name:<70} {one.seconds:8.2f} s")

    results: list[LoadResult] = []
    with bench_server(options.to, reset=options.reset, data=options.data) as server:
        if not quiet:
            output.console.print(f"{server.version} at {server.parsed}")
        pipeline = pipeline_for(server, options.decode, options.client) if options.peer else None
        own = OwnApplier(server, server.data) if options.peer and server.data is not None else None
        bench = LoadBench(
            server, pipeline, own, options.workers, options.transactions, options.seed, options.rounds, options.decode, tell, options.sizes
        )
        for result in bench.measure(loads):
            results.append(result)
            if not quiet:
                show(result)
        version = server.version
    found = [result.as_json() for result in results]
    if options.chart is not None:
        write_chart(options.chart, version, found)
    return {"load_server": version, "loads": found}


def write_chart(path: Path, version: str, found: Sequence[dict[str, Any]]) -> None:
    """Write the plot."""
    from paraply.bench.chart import bars

    path.parent.mkdir(parents=True, exist_ok=True)
    with new_text_file(path, "--chart") as file:
        file.write(bars(f"Replays on {version}", found))


def show(result: LoadResult) -> None:
    """Print one load's table; ratios are to its first line."""
    columns = output.columns_of_numbers("seconds", "transactions/s", "ratio", "commits", "redo syncs", "binlog syncs", "a group")
    title = f"{result.title}: {counted(result.transactions, 'transaction')}; all tables as on the source; syncs for each transaction"
    table = Table("replay", *columns, title=title)
    for one in result.replays:
        syncs = one.syncs.as_json(result.transactions)
        table.add_row(
            one.name,
            f"{one.seconds:.2f}",
            f"{one.rate:,.0f}",
            f"{result.replays[0].seconds / one.seconds:.1f}",
            f"{one.commits:,}" if one.commits else "",
            f"{syncs['redo_per_transaction']:.2f}",
            f"{syncs['binlog_per_transaction']:.2f}",
            f"{syncs['group']:.1f}" if syncs["group"] else "",
        )
    output.console.print(table)
