"""``paraply bench --loads``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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
    from paraply.bench.machine import Machine
    from paraply.bench.peers import Measurement
    from paraply.bench.postgres_server import PostgresServer

__all__ = ["LoadOptions", "LoadScale", "LoadVariants", "load_results"]


@dataclass(frozen=True, slots=True)
class LoadScale:
    """Sizes of the loads."""

    transactions: int
    table_size: int
    warehouses: int


@dataclass(frozen=True, slots=True)
class LoadVariants:
    """Replays of each load."""

    workers: list[int]
    rounds: int
    peer: bool
    sizes: list[str]
    floor: bool
    brief: bool
    postgres: str | None


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """Options of ``--loads``."""

    loads: str
    to: str | None
    reset: bool
    scale: LoadScale
    seed: int
    variants: LoadVariants
    decode: str | None
    client: str | None
    data: Path | None
    chart: Path | None


def load_results(options: LoadOptions, quiet: bool) -> dict[str, Any]:
    """Measure the loads; each replay is shown as soon as it is known, and each load's tables after its replays."""
    from paraply.bench.floor.measure import FLOOR_CONNECTIONS
    from paraply.bench.load_bench import LoadBench
    from paraply.bench.loads import load_names, loads_of
    from paraply.bench.machine import machine, server_settings
    from paraply.bench.own_applier import OwnApplier
    from paraply.bench.peers import pipeline_for
    from paraply.bench.server import bench_server

    scale, variants = options.scale, options.variants
    known = loads_of(table_size=scale.table_size, warehouses=scale.warehouses)
    try:
        loads = [known[name] for name in load_names(options.loads)]
    except ValueError as error:
        raise UsageError(str(error)) from None
    if options.to is not None and not options.reset:
        raise UsageError("--loads empties the server's binary logs and GTID state between the replays: allow it with --reset")

    def report(title: str, one: Measurement) -> None:
        if not quiet:
            output.console.print(f"  {title:<24} {one.name:<70} {one.seconds:8.2f} s")

    results: list[LoadResult] = []
    with bench_server(options.to, reset=options.reset, data=options.data) as server, _postgres(variants.postgres) as postgres:
        here, settings = machine(), {server.version: server_settings(server)}
        if postgres is not None:
            settings[postgres.version] = postgres.settings()
        if not quiet:
            _show_place(here, str(server.parsed), settings)
        pipeline = pipeline_for(server, options.decode, options.client) if variants.peer and not variants.brief else None
        own = OwnApplier(server, server.data) if variants.peer and server.data is not None else None
        bench = LoadBench(
            server,
            pipeline,
            own,
            variants.workers,
            scale.transactions,
            options.seed,
            variants.rounds,
            options.decode,
            report,
            variants.sizes,
            FLOOR_CONNECTIONS if variants.floor else (),
            variants.brief,
            postgres,
        )
        for result in bench.measure(loads):
            results.append(result)
            if not quiet:
                show(result, here.cores)
        version = server.version
    found = [result.as_json() for result in results if result.server == version]
    fields: dict[str, Any] = {"load_server": version, "loads": found, "machine": here.as_json(), "settings": settings}
    fields |= {"rounds": variants.rounds, "brief": variants.brief}
    if postgres is not None:
        fields |= {"postgresql_server": postgres.version}
        fields |= {"postgresql_loads": [result.as_json() for result in results if result.server == postgres.version]}
    if options.chart is not None:
        write_chart(options.chart, version, found)
    return fields


@contextmanager
def _postgres(given: str | None) -> Iterator[PostgresServer | None]:
    if given is None:
        yield None
        return
    from paraply._extras import require_extra
    from paraply.bench.postgres_server import postgres_server

    require_extra("postgres", "paraply bench --postgres")
    with postgres_server(given) as server:
        yield server


def _show_place(here: Machine, place: str, settings: dict[str, dict[str, str]]) -> None:
    """Print the machine, and the settings of the servers."""
    output.console.print(f"{here}; the first server is at {place}", soft_wrap=True)
    for version, found in settings.items():
        output.console.print(f"{version}: {', '.join(f'{name}={value}' for name, value in found.items())}", soft_wrap=True)


def write_chart(path: Path, version: str, found: Sequence[dict[str, Any]]) -> None:
    """Write the plot."""
    from paraply.bench.chart import bars

    path.parent.mkdir(parents=True, exist_ok=True)
    with new_text_file(path, "--chart") as file:
        file.write(bars(f"Replays on {version}", found))


def show(result: LoadResult, cores: int) -> None:
    """Print one load's tables; ratios are to the first line."""
    megabytes = result.log_bytes / 1e6
    size = f"{counted(result.transactions, 'transaction')}, {counted(result.rows, 'row')}, {megabytes:.1f} MB"
    server = result.server if result.server.startswith("PostgreSQL") or "MariaDB" in result.server else f"MySQL {result.server}"
    title = f"{result.title} into {server}: {size}; all tables as on the source"
    names = ("seconds", "transactions/s", "rows/s", "MB/s", "ratio", "times the floor", "server CPU / cores", "client CPU")
    table = Table("replay", *output.columns_of_numbers(*names), title=title)
    for one in result.replays:
        rates = result.rates(one)
        table.add_row(
            f"{one.name}, {one.connections} connections" if one.connections else one.name,
            f"{one.seconds:.2f}",
            f"{one.rate:,.0f}",
            f"{rates['rows_per_second']:,}",
            f"{rates['megabytes_per_second']:.1f}",
            f"{result.replays[0].seconds / one.seconds:.1f}",
            f"{one.floors:.2f}" if one.floors is not None else "",
            f"{one.server_cpu / cores:.2f}" if one.server_cpu is not None else "",
            f"{one.client_cpu:.2f}" if one.client_cpu is not None else "",
        )
    output.console.print(table)
    if not result.server.startswith("PostgreSQL"):
        _show_commits(result)
    _show_stages(result)


def _show_stages(result: LoadResult) -> None:
    """Print paraply's own CPU time by stage."""
    costs = {one.name: one.cpu for one in result.replays if one.cpu is not None}
    if not costs:
        return
    stages = list(next(iter(costs.values()))["per_million_rows"])
    title = "paraply's own CPU time, seconds for a million row changes; start and other: seconds"
    table = Table("replay", *output.columns_of_numbers(*stages, "start", "other", "process"), title=title)
    for name, cost in costs.items():
        cells = [f"{cost['per_million_rows'][stage]:.2f}" for stage in stages]
        table.add_row(name, *cells, *(f"{cost[part]:.2f}" for part in ("start", "other", "process")))
    output.console.print(table)


def _show_commits(result: LoadResult) -> None:
    """Print the commits and forced writes of the replays."""
    columns = output.columns_of_numbers("commits", "redo syncs", "binlog syncs", "a group")
    table = Table("replay", *columns, title="Commits; syncs for each transaction")
    for one in result.replays:
        syncs = one.syncs.as_json(result.transactions)
        table.add_row(
            one.name,
            f"{one.commits:,}" if one.commits else "",
            f"{syncs['redo_per_transaction']:.2f}",
            f"{syncs['binlog_per_transaction']:.2f}",
            f"{syncs['group']:.1f}" if syncs["group"] else "",
        )
    output.console.print(table)
