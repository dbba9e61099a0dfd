"""``paraply bench --scale``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from paraply.cli.terminal import output
from paraply.errors import UsageError

if TYPE_CHECKING:
    from paraply.bench.scale import ScaleResult

__all__ = ["ScaleOptions", "scale_results"]

PLACES = {"disk": "data on disk", "memory": "data in memory", "own": "data in its own place"}
"""Descriptions of the storages."""


@dataclass(frozen=True, slots=True)
class ScaleOptions:
    """Options of ``--scale``."""

    to: str | None
    reset: bool
    delay: float
    transactions: int
    rounds: int
    decode: str | None
    workers: list[int] | None = None
    data: Path | None = None
    storage: str | None = None


def scale_results(options: ScaleOptions, quiet: bool) -> dict[str, Any]:
    """Measure the speed-up over the numbers of workers, on each storage; each replay is shown as soon as it is known."""
    from paraply.bench.scale import SCALE_WORKERS

    workers = SCALE_WORKERS if options.workers is None else options.workers
    if not workers or min(workers) < 1:
        raise UsageError("--scale compares numbers of workers, from 1 on: --workers 1,8 for example")
    rows: list[dict[str, Any]] = []
    for storage, folder in folders(options, quiet):
        version, found = _measure(options, workers, storage, folder, quiet)
        rows += [{"server": version, "storage": storage} | one.as_json() for one in found]
    return {"scale": rows}


def folders(options: ScaleOptions, quiet: bool) -> Iterator[tuple[str, Path | None]]:
    """Yield each storage with the folder for the server's data; None for the default folder.

    Raises:
        UsageError: A storage is unknown or not available.
    """
    from paraply.bench.server import memory_folder

    if options.to is not None:
        if options.storage is not None:
            raise UsageError("--storage chooses the storage of the bench's own server: leave it out with --to")
        yield "own", None
        return
    asked = ["disk", "memory"] if options.storage is None else [name.strip() for name in options.storage.split(",")]
    for name in asked:
        if name not in {"disk", "memory"}:
            raise UsageError(f"--storage is disk, memory or both, not {name!r}")
    memory, why = memory_folder()
    if memory is None and options.storage is not None and "memory" in asked:
        raise UsageError(f"--storage memory: {why}")
    for name in asked:
        if name == "disk":
            yield name, None
        elif memory is not None:
            yield name, memory
        elif not quiet:
            output.console.print(f"not measured with the server's data in memory: {why}")


def _measure(
    options: ScaleOptions, workers: Sequence[int], storage: str, folder: Path | None, quiet: bool
) -> tuple[str, list[ScaleResult]]:
    """Measure on one server, and return its version and the results."""
    from paraply.bench.scale import measure_scale, summarize
    from paraply.bench.server import bench_server

    with bench_server(options.to, reset=options.reset, data=options.data, folder=folder) as server:
        if not quiet:
            output.console.print(f"{server.version}, {PLACES[storage]}")
        runs = []
        for run in measure_scale(
            server,
            workers=workers,
            milliseconds=options.delay,
            transactions=options.transactions,
            rounds=options.rounds,
            decode=options.decode,
        ):
            runs.append(run)
            if not quiet:
                output.console.print(f"  {run.workers:>2} workers {run.seconds:8.2f} s  (as many plain clients: {run.plain:.2f} s)")
        found = summarize(runs)
        if not quiet:
            _show(found, f"{server.version}, {PLACES[storage]}")
        return server.version, found


def _show(found: Sequence[ScaleResult], server: str) -> None:
    """Print the table of one server."""
    names = ("seconds", "transactions/s", "speed-up", "of linear", "CPUs busy", "linear needs", "plain clients", "of linear")
    columns = output.columns_of_numbers(*names)
    title = f"No conflicts, no merging, a round trip of {found[0].round_trip:.2f} ms, {server}"
    table = Table("workers", *columns, title=title)
    for one in found:
        rate = one.transactions / one.seconds
        shares = (f"{one.speed_up:.1f}", f"{one.of_linear:.0%}", f"{one.busy:.0%}", f"{one.linear_needs:.0%}")
        table.add_row(str(one.workers), f"{one.seconds:.2f}", f"{rate:,.0f}", *shares, f"{one.plain:.2f}", f"{one.plain_of_linear:.0%}")
    output.console.print(table)
