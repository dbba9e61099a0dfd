"""Write ``docs/reference/speed.md`` and its charts, and ``speed-workers.md``, from the results in ``benches/figures``.

Run as ``python tools/speed.py [--machine TEXT FILE...]``. A FILE is what ``paraply bench --loads`` or ``--scale`` wrote with ``--output``.
Its results replace those of the same server; TEXT says on what machine they were measured.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from paraply.bench.chart import bars

ROOT = Path(__file__).resolve().parent.parent
FIGURES = ROOT / "benches" / "figures"
DOCS = ROOT / "docs" / "reference"
TARGETS = {"mysql": "MySQL", "mariadb": "MariaDB", "postgresql": "PostgreSQL"}
PIPELINE = "the client pipeline"
FLOOR = "the floor"
CHARTED = re.compile(r"paraply, (record, .*|preserve, 8 workers, merge off|.*via replication|8 workers, .*)$")
"""The replays of paraply that a chart shows; the table has the others too."""

HEAD = """# Speed

Seconds that one log takes to be replayed: by paraply, by the server's own tools, and by the server's own parallel applier. `tools/speed.py`
writes this page from the results in `benches/figures`. Other machines give other seconds; compare the ratios.
[How speed is measured](speed-method.md) describes the loads and the rows of the tables.
"""

NOTES = {
    "mysql": """
With merged commits a replay needs few forced writes, so the server's CPU limits it. Without merging, level `any-time` forces each commit to
disk alone; the weaker levels and the server's own applier share a forced write between commits
([Order of commits](../adr/0010-order-of-commits.md)). Large transactions leave little to merge.
""",
    "mariadb": """
The server's own applier {logged}. A MariaDB log does not name sessions, so
all transactions of one server are committed in order and level `eventual` is applied as `any-time`.
MariaDB's own applier is faster than paraply for large transactions, and where nothing is merged.
""",
    "postgresql": """
The client pipeline and the server's own applier do not exist for this target.
""",
}

NOT_LOGGED = "does not write its binary log here (`log_slave_updates=OFF`, the default)"

SCALE = """# Speed by number of workers

`paraply bench --scale` replays {transactions:,} transactions without conflicts, not merged, at level `eventual`. A proxy on loopback delays
every request, as a distant target would. A cell holds the speed-up over one worker, and in parentheses the speed-up of as many *plain
clients*: connections that run the same prepared statements without a log, an order or any coordination. What plain clients miss, this
machine cannot give to any applier. *Linear needs* in the last row is the share of the two cores that a linear speed-up with the largest
number of workers would take: above 100 % it is impossible.
"""
SCALE_NOTE = """
While a core is free the speed-up is near linear. A commit needs one forced write, and with many workers it waits for the one that is under
way. With the data in memory no commit waits for a disk, and the cores are the limit.
"""
SEE_ALSO = """
## See also

[Merged commits](../adr/0003-merged-commits.md), [Size of a merged commit](../adr/0007-size-of-a-merged-commit.md),
[Early rows](../adr/0008-early-rows.md), [Foreign keys once a block](../adr/0009-foreign-keys-once-a-block.md) and
[Order of commits](../adr/0010-order-of-commits.md) tell which designs were measured, and which were given up.
[Speed by number of workers](speed-workers.md) has the figures for distant targets, [Speed on Spark](spark-speed.md) those of the Spark
functions.
"""


def main(arguments: list[str]) -> int:
    """Take in new results, if there are any, and write the page and the charts."""
    parser = argparse.ArgumentParser(description="Write docs/reference/speed.md from benches/figures.")
    parser.add_argument("results", nargs="*", type=Path, metavar="FILE", help="new results of `paraply bench --output`")
    parser.add_argument("--machine", help="what machine the new results were measured on")
    options = parser.parse_args(arguments)
    if options.results and not options.machine:
        parser.error("say with --machine on what machine these were measured")
    for path in options.results:
        take_in(json.loads(path.read_text(encoding="utf-8")), options.machine, datetime.date.today().isoformat())
    for name, text in pages():
        (DOCS / name).write_text(text, encoding="utf-8")
    return 0


def take_in(results: dict[str, Any], machine: str, measured: str) -> None:
    """Keep the loads and the scale of a results file in ``benches/figures``."""
    about = {"measured": measured, "machine": machine}
    if "loads" in results:
        version = results["load_server"]
        keep_loads("mariadb" if "mariadb" in version.lower() else "mysql", results, version, results["loads"], about)
    if "postgresql_loads" in results:
        keep_loads("postgresql", results, results["postgresql_server"], results["postgresql_loads"], about)
    if "scale" in results:
        keep("scale", about | {"scale": results["scale"]})


def keep_loads(name: str, results: dict[str, Any], version: str, loads: list[dict[str, Any]], about: dict[str, Any]) -> None:
    """Keep the loads of a target: those of a brief run only in the table of the floor, others in all tables."""
    about = about | {"load_server": version, "rounds": rounds_text(results.get("rounds", 1))}
    found = figures(name) if results.get("brief") else about | {"loads": [table_figures(load) for load in loads]}
    if any(replay.get("floors") for load in loads for replay in load["replays"]):
        about |= {"cores": results["machine"]["cores"]}
        found["floor"] = about | {"loads": [floor_figures(load) for load in loads]}
    elif "floor" in (kept := figures(name)):
        found["floor"] = kept["floor"]
    keep(name, found)


def rounds_text(rounds: int) -> str:
    """Return the number of runs of each replay.

    >>> rounds_text(1), rounds_text(5)
    ('One round', 'Medians of 5 rounds')
    """
    return "One round" if rounds == 1 else f"Medians of {rounds} rounds"


def table_figures(load: dict[str, Any]) -> dict[str, Any]:
    """Return a load without the client of the floor and without the CPU time by stage."""
    left_out = ("cpu", "checksums")
    replays = [{name: value for name, value in replay.items() if name not in left_out} for replay in load["replays"]]
    return load | {"replays": [replay for replay in replays if replay["name"] != FLOOR]}


def floor_figures(load: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of a load that the table of the floor shows."""
    kept = ("name", "seconds", "per_second", "rows_per_second", "megabytes_per_second", "floors", "connections", "server_cpu", "client_cpu")
    shown = [replay for replay in load["replays"] if is_in_floor_table(replay["name"])]
    replays = [{name: replay.get(name) for name in kept} for replay in shown]
    return {"load": load["load"], "title": load["title"], "transactions": load["transactions"], "rows": load["rows"], "replays": replays}


def is_in_floor_table(name: str) -> bool:
    """Return True if the table of the floor shows the replay: the floor, the server's own applier, and the default settings of paraply."""
    return name == FLOOR or name.startswith("the server's own applier") or name.endswith("workers, merge auto")


def keep(name: str, results: dict[str, Any]) -> None:
    """Write one file of figures, with one line for each replay."""
    text = re.sub(r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)?\}", lambda found: re.sub(r"\n *", " ", found[0]), json.dumps(results, indent=1))
    (FIGURES / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def figures(name: str) -> dict[str, Any]:
    """Return the kept figures of a target, or of the scale."""
    found: dict[str, Any] = json.loads((FIGURES / f"{name}.json").read_text(encoding="utf-8"))
    return found


def pages() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each file that is written: the charts, then the pages."""
    parts = [HEAD]
    for name, title in TARGETS.items():
        found = figures(name)
        loads = found["loads"]
        server = f"{title} {version(found['load_server'])}"
        yield f"speed-{name}.svg", chart(server, loads)
        parts += [f"\n## {server}\n\nMeasured {found['measured']} on {found['machine']}.\n{rounds(found)}. Seconds:\n\n", table(loads)]
        parts += [f"\n![{server}: how many times as fast as the first row of the table](speed-{name}.svg)\n", note(name, loads)]
        parts += floor_section(found)
    yield "speed.md", "".join([*parts, SEE_ALSO])
    scale = figures("scale")
    parts = [SCALE.format(transactions=scale["scale"][0]["transactions"]), f"\nMeasured {scale['measured']} on {scale['machine']}.\n\n"]
    yield "speed-workers.md", "".join([*parts, scale_table(scale["scale"]), SCALE_NOTE])


def note(name: str, loads: list[dict[str, Any]]) -> str:
    """Return the text below a table. A MariaDB that logs what its replication applies is measured with ``--via replication``."""
    logs = any("via replication" in replay["name"] for replay in loads[0]["replays"])
    logged = "writes its binary log too (`log_slave_updates=ON`)" if logs else NOT_LOGGED
    return NOTES[name].replace("{logged}", logged)


def version(text: str) -> str:
    """Return the number in a server's version.

    >>> version("10.11.19-MariaDB-0+deb12u1-log")
    '10.11.19'
    """
    return text.removeprefix("PostgreSQL ").split("-")[0]


def rounds(found: dict[str, Any]) -> str:
    """Return the number of runs of each replay."""
    return str(found.get("rounds", "One round"))


def table(loads: list[dict[str, Any]]) -> str:
    """Return the table of a target: one row for each way of replaying, one column for each load."""
    names = [replay["name"] for replay in loads[0]["replays"]]
    seconds = {(load["load"], replay["name"]): replay["seconds"] for load in loads for replay in load["replays"]}
    lines = [f"| replay | {' | '.join(load['title'] for load in loads)} |", f"|---|{'---:|' * len(loads)}"]
    if "transactions" in loads[0]:
        lines.append(italic("transactions of the log", (f"{load['transactions']:,}" for load in loads)))
        lines.append(italic("size of the log, MB", (f"{load['log_bytes'] / 1e6:.1f}" for load in loads)))
    lines += [f"| {code(name)} | {' | '.join(shown(seconds.get((load['load'], name))) for load in loads)} |" for name in names]
    return "\n".join(lines) + "\n"


def floor_section(found: dict[str, Any]) -> list[str]:
    """Return the table of the floor of a target with its heading; nothing if the floor was not measured."""
    floor = found.get("floor")
    if floor is None:
        return []
    head = f"\nThe [floor](speed-method.md#the-floor), measured {floor['measured']} on {floor['machine']}. {floor['rounds']}.\n\n"
    return [head, floor_table(floor["loads"], floor["cores"])]


def floor_table(loads: list[dict[str, Any]], cores: int) -> str:
    """Return the table of the floor: one row for each load."""
    heads = ["the floor, s", "its connections", "server CPU / cores, s", "own applier, times the floor"]
    heads += ["paraply, s", "paraply, times the floor", "transactions/s", "rows/s", "MB/s"]
    lines = [f"| load | {' | '.join(heads)} |", f"|---|{'---:|' * len(heads)}"]
    for load in loads:
        replays = {replay["name"]: replay for replay in load["replays"]}
        floor, own = replays[FLOOR], next((one for name, one in replays.items() if name.startswith("the server's")), None)
        best = min((one for name, one in replays.items() if name.startswith("paraply")), key=lambda one: one["seconds"])
        server = f"{floor['server_cpu'] / cores:.2f}" if floor["server_cpu"] is not None else ""
        cells = [f"{floor['seconds']:.2f}", str(floor["connections"]), server, f"{own['floors']:.2f}" if own is not None else ""]
        cells += [f"{best['seconds']:.2f}", f"**{best['floors']:.2f}**", f"{best['per_second']:,}", f"{best['rows_per_second']:,}"]
        lines.append(f"| {load['title']} | {' | '.join([*cells, format(best['megabytes_per_second'], '.1f')])} |")
    return "\n".join(lines) + "\n"


def italic(head: str, cells: Iterable[str]) -> str:
    """Return a row of a table that is no measurement."""
    return "|".join(["", *(f" *{cell}* " for cell in (head, *cells)), ""])


def shown(seconds: float | None) -> str:
    """Return a cell of seconds."""
    return "" if seconds is None else f"{seconds:.1f}"


def label(name: str) -> str:
    """Return a replay's name as the page has it: the options of paraply, or the peer.

    >>> label("paraply, preserve, 8 workers, merge off, eventual")
    '--gtid preserve --workers 8 --merge off --consistency eventual'
    >>> label("paraply, preserve, 16 workers, merge off, via replication")
    '--gtid preserve --workers 16 --via replication'
    """
    if " | " in name:
        return PIPELINE
    if not name.startswith("paraply"):
        return name
    parts = name.split(", ")[1:]
    options = [option(part) for part in parts]
    return " ".join(one for one in options if one != "--merge off" or "via replication" not in parts)


def option(part: str) -> str:
    """Return the option that a part of a replay's name stands for."""
    if part.startswith(("merge ", "via ")):
        return f"--{part}"
    if part.endswith(" workers"):
        return f"--workers {part.split()[0]}"
    return f"--gtid {part}" if part in {"record", "preserve", "none"} else f"--consistency {part}"


def code(name: str) -> str:
    """Return a replay's label as Markdown."""
    text = label(name)
    return f"`{text}`" if text.startswith("--") else text


def chart(title: str, loads: list[dict[str, Any]]) -> str:
    """Return the chart of a target: how many times as fast as the first replay."""
    drawn = [
        load | {"replays": [replay | {"name": label(replay["name"])} for replay in load["replays"] if is_charted(replay["name"])]}
        for load in loads
    ]
    first = label(loads[0]["replays"][0]["name"])
    return bars(f"Replays into {title}", drawn, figure="ratio", caption=f"times as fast as {first}; each load has a scale of its own")


def is_charted(name: str) -> bool:
    """Return True if the chart shows the replay: all peers, and the main ways of paraply."""
    return not name.startswith("paraply") or CHARTED.match(name) is not None


def scale_table(rows: list[dict[str, Any]]) -> str:
    """Return the table of the scale: one row for each number of workers, one column for each server and distance."""
    series: dict[tuple[str, str, float], dict[int, dict[str, Any]]] = {}
    for row in rows:
        series.setdefault((row["server"], row["storage"], row["round_trip"]), {})[row["workers"]] = row
    heads = [scale_head(*key) for key in series]
    lines = [f"| workers | {' | '.join(heads)} |", f"|---:|{'---:|' * len(heads)}"]
    for workers in sorted({row["workers"] for row in rows}):
        lines.append(f"| {workers} | {' | '.join(scale_cell(found, workers) for found in series.values())} |")
    needs = [found[max(found)]["linear_needs"] for found in series.values()]
    lines.append(italic("linear needs", (f"{need:.0%}" for need in needs)))
    return "\n".join(lines) + "\n"


def scale_head(server: str, storage: str, round_trip: float) -> str:
    """Return the head of a column of the scale."""
    family = "MariaDB" if "mariadb" in server.lower() else "MySQL"
    place = {"disk": ", data on disk", "memory": ", data in memory"}.get(storage, "")
    return f"{family} {version(server)}{place}, round trip {round_trip:.1f} ms"


def scale_cell(found: dict[int, dict[str, Any]], workers: int) -> str:
    """Return the speed-ups with one number of workers: of paraply, and of the plain clients."""
    if workers not in found:
        return ""
    first, row = found[min(found)], found[workers]
    return f"{first['seconds'] / row['seconds']:.1f} ({first['plain'] / row['plain']:.1f})"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
