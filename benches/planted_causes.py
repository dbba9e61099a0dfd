"""Planted causes: the gain that `paraply analyze` names beside that of a measured replay without the cause.

    python benches/planted_causes.py --to URL --data FOLDER [--causes NAMES] [--transactions N] [--rounds N] [-o FILE]

The server is a MySQL 8.0 or later and must be empty: its logs are reset. For each cause a log with it and one without it are made on the
server. Both are analyzed, and replayed by the server's own applier and by paraply, each with eight workers. *Twin* is the simulated time of
the log without the cause, which shows how good the simulation without a cause is, whatever the times of the server are. Run it on a machine
that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from planted_loads import PLANTED, make_planted

from paraply._native import Setup
from paraply.analysis.analyze import AnalyzeOptions, CostModel, analyze
from paraply.analysis.analyze.calibrate import calibrate
from paraply.analysis.analyze.capacity import settle
from paraply.bench.loads import DATABASE
from paraply.bench.own_applier import OwnApplier
from paraply.bench.peers import Replayed, Way, measure_ways, replay_by_server
from paraply.bench.server import BenchServer, bench_server
from paraply.errors import ApplyFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paraply._native import Costs, Recording
    from paraply.analysis.analyze import Analysis
    from paraply.bench.made_load import MadeLoad

WORKERS = 8
APPLIERS = ("own", "paraply")
OPTIONS = ("--gtid", "record", "--workers", str(WORKERS), "--merge", "auto")
ROW = "{:18} {:18} {:>5} {:7} {:>14} {:>6} {:>14} {:>11} {:>6}"


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds of a replay with the cause and without it."""

    planted: float
    without: float

    @property
    def gain(self) -> float:
        """Seconds that are saved without the cause."""
        return self.planted - self.without

    @property
    def part(self) -> float:
        """Part of the time that is saved without the cause."""
        return self.gain / self.planted if self.planted else 0.0


@dataclass(frozen=True, slots=True)
class Simulated:
    """Result of an analysis: the first cause and its part of the lost time, and the times of each applier."""

    first: str
    share: float
    times: dict[str, Times]


def simulated(log: Path, cause: str, model: CostModel) -> Simulated:
    """Analyze a log with a cause, and simulate paraply without it."""
    times: dict[str, Times] = {}

    def simulate_paraply(_: Analysis, recording: Recording) -> None:
        def seconds(without: Sequence[str]) -> float:
            def setup(costs: Costs) -> Setup:
                return Setup("paraply", WORKERS, costs, numbers="fine", without=without)

            return settle(recording, model.native(), model.capacity, setup)[0].total_ns / 1e9

        times["paraply"] = Times(seconds([]), seconds([cause]))

    found = analyze(log, AnalyzeOptions(replica_workers=WORKERS, costs=model), on_result=simulate_paraply).explanation
    planted = next((one for one in found.causes if one.cause == cause), None)
    gain = (planted.gain_seconds or 0.0) if planted else 0.0
    return Simulated(found.causes[0].cause, found.causes[0].share, {"own": Times(found.seconds, found.seconds - gain)} | times)


def replay_alone(server: BenchServer, log: Path) -> Replayed:
    """Replay by ``paraply apply``; the start of the process does not count."""
    command = [sys.executable, "-m", "paraply", "apply", str(log), "--to", server.url, *OPTIONS, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ApplyFailed(f"paraply apply ended with {done.returncode}: {done.stderr.strip()}")
    report = json.loads(done.stdout)
    return Replayed(float(report["apply_seconds"]), int(report["transactions"]), int(report["commits"]))


def measured(server: BenchServer, own: OwnApplier, made: Sequence[MadeLoad], rounds: int) -> dict[str, Times]:
    """Replay both logs in turn by both appliers; the median of the rounds counts."""
    found: dict[tuple[str, int], list[float]] = {}
    for _ in range(rounds):
        for place, one in enumerate(made):
            ways = [
                Way("own", partial(replay_by_server, own, [one.log], WORKERS)),
                Way("paraply", partial(replay_alone, server, one.log)),
            ]
            for result in measure_ways(server, ways, [DATABASE], one.checksums):
                found.setdefault((result.name, place), []).append(result.seconds)
    return {name: Times(median(found[name, 0]), median(found[name, 1])) for name in APPLIERS}


def compare(server: BenchServer, own: OwnApplier, cause: str, model: CostModel, arguments: argparse.Namespace) -> dict[str, object]:
    """Make, analyze and measure the logs of one cause, and print its rows."""
    made = []
    with tempfile.TemporaryDirectory(prefix="paraply-planted-") as folder:
        for planted in (True, False):
            server.empty([DATABASE])
            place = Path(folder) / str(planted)
            place.mkdir()
            made.append(make_planted(server, PLANTED[cause](arguments.transactions, planted=planted), place))
        of_model, twin = (simulated(one.log, cause, model) for one in made)
        real = measured(server, own, made, arguments.rounds)
    appliers: dict[str, object] = {}
    for name in APPLIERS:
        model_times, times, without = of_model.times[name], real[name], twin.times[name].planted
        ratio = model_times.part / times.part if times.part > 0 else None
        appliers[name] = {"simulated": asdict(model_times), "twin": without, "measured": asdict(times), "ratio_of_parts": ratio}
        shown = [f"{one.planted:.2f} -> {one.without:.2f}" for one in (model_times, times)]
        parts = f"{model_times.part:.0%} / {times.part:.0%}"
        ratio_text = f"{ratio:.2f}" if ratio is not None else "-"
        print(
            ROW.format(cause, of_model.first, f"{of_model.share:.0%}", name, shown[0], f"{without:.2f}", shown[1], parts, ratio_text),
            flush=True,
        )
    return {"cause": cause, "first": of_model.first, "share": of_model.share, "appliers": appliers}


def main() -> int:
    """Print a table of gains, and write it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--to", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--causes", default=",".join(PLANTED))
    parser.add_argument("--transactions", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).parent / "results" / "planted.json")
    arguments = parser.parse_args()
    with bench_server(arguments.to, reset=True, data=arguments.data) as server:
        own, model = OwnApplier(server, arguments.data), calibrate(server.url)
        print(server.version, model)
        print(ROW.format("cause", "named first", "share", "applier", "simulated", "twin", "measured", "part saved", "ratio"))
        rows = [compare(server, own, cause, model, arguments) for cause in arguments.causes.split(",")]
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps({"server": server.version, "costs": asdict(model), "rows": rows}, indent=1))
    return 0 if all(row["cause"] == row["first"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
