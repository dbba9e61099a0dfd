"""Simulated against measured: `paraply analyze --calibrate` beside the server's own applier and paraply, with 1, 2, 4 and 8 workers.

    python benches/simulated_appliers.py [--to URL --data FOLDER] [--transactions N] [--rounds N] [-o FILE]

Without a URL a MariaDB is started. The server must be empty: its logs are reset. Run it on a machine that does nothing else: the
calibration measures what the machine has left.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from paraply.analysis.analyze import AnalyzeOptions, CostModel, analyze
from paraply.analysis.analyze.calibrate import calibrate
from paraply.bench.loads import DATABASE, LOADS, Load
from paraply.bench.made_load import MadeLoad, make_load
from paraply.bench.own_applier import OwnApplier
from paraply.bench.peers import Way, measure_ways, replay_by_paraply, replay_by_server
from paraply.bench.server import BenchServer, bench_server

if TYPE_CHECKING:
    from collections.abc import Sequence

WORKERS = (1, 2, 4, 8)
ROW = "{:14} {:8} {:>28} {:>28} {:>6}"


def measured(server: BenchServer, own: OwnApplier, made: MadeLoad, rounds: int) -> dict[str, list[float]]:
    """Return the median seconds of both appliers by number of workers."""
    ways = []
    for count in WORKERS:
        options = ("--gtid", "record", "--workers", str(count), "--merge", "auto")
        ways.append(Way(f"own {count}", partial(replay_by_server, own, [made.log], count)))
        ways.append(Way(f"paraply {count}", partial(replay_by_paraply, server, [made.log], *options)))
    found: dict[str, list[float]] = {}
    for _ in range(rounds):
        for one in measure_ways(server, ways, [DATABASE], made.checksums):
            found.setdefault(one.name, []).append(one.seconds)
    return {name: [median(found[f"{name} {count}"]) for count in WORKERS] for name in ("own", "paraply")}


def simulated(log: Path, model: CostModel, mariadb: bool) -> dict[str, list[float]]:
    """Return the simulated seconds of both appliers by number of workers."""
    result = analyze(log, AnalyzeOptions(workers=WORKERS, costs=model))
    own = ("mariadb", "fine") if mariadb else ("mysql", "stamped")
    curves = {(str(curve.applier), curve.numbers): curve for curve in result.curves if curve.ordered}
    return {name: [point.seconds for point in curves[key].points] for name, key in (("own", own), ("paraply", ("paraply", "fine")))}


def speed_ups(seconds: Sequence[float]) -> list[float]:
    """Return the speed-ups over the first one."""
    return [round(seconds[0] / one, 2) for one in seconds]


def compare(server: BenchServer, own: OwnApplier, load: Load, model: CostModel, arguments: argparse.Namespace) -> list[dict[str, object]]:
    """Measure and simulate one load, and print its rows."""
    found: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory(prefix="paraply-simulated-") as folder:
        server.empty([DATABASE])
        made = make_load(server, load, transactions=load.count(arguments.transactions), seed=1, folder=Path(folder))
        real, model_times = measured(server, own, made, arguments.rounds), simulated(made.log, model, server.mariadb)
    for name, seconds in real.items():
        simulated_speed_ups, measured_speed_ups = speed_ups(model_times[name]), speed_ups(seconds)
        worst = max(max(a / b, b / a) for a, b in zip(simulated_speed_ups, measured_speed_ups, strict=True))
        row: dict[str, object] = {"load": load.name, "applier": name, "seconds": seconds}
        found.append(row | {"measured": measured_speed_ups, "simulated": simulated_speed_ups, "worst": round(worst, 2)})
        print(ROW.format(load.name, name, str(measured_speed_ups), str(simulated_speed_ups), f"{worst:.2f}"), flush=True)
    return found


def main() -> int:
    """Print a table of speed-ups, and write it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--to")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--transactions", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).parent / "results" / "simulated.json")
    arguments = parser.parse_args()
    with bench_server(arguments.to, reset=True, data=arguments.data) as server:
        if server.data is None:
            parser.error("--data is missing: the server's own applier reads the log in its data folder")
        own, model = OwnApplier(server, server.data), calibrate(server.url)
        print(server.version, model)
        print(ROW.format("load", "applier", "measured", "simulated", "worst"))
        rows = [row for load in LOADS.values() for row in compare(server, own, load, model, arguments)]
        capacity = [[one.connections, one.rows, one.commit] for one in model.capacity.measured]
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        arguments.output.write_text(json.dumps({"server": server.version, "capacity": capacity, "rows": rows}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
