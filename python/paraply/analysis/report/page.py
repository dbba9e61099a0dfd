"""Report of an analysis as one HTML file without access to a network."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paraply._extras import require_extra
from paraply._version import __version__
from paraply.analysis.analyze import AnalyzeOptions, analyze
from paraply.analysis.analyze.words import duration, scheduler_name, short, times
from paraply.analysis.report.lanes import Scheduler, sweep, transactions_of
from paraply.analysis.report.panels import panels_of
from paraply.analysis.report.series import along, bounds_of
from paraply.analysis.report.tables import file_name
from paraply.errors import UsageError
from paraply.logs import log_paths
from paraply.output_files import new_file

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paraply._native import Recording
    from paraply.analysis.analyze.costs import CostModel
    from paraply.analysis.analyze.result import Analysis
    from paraply.analysis.report.lanes import Sweep

__all__ = ["analyze_with_report", "check_report", "write_report"]

_HEAD = "<!doctype html>\n<!-- paraply analyze -->\n"
_MOST_EXACT = 15_000
_MOST_SCHEDULE_BYTES = 1_400_000


def analyze_with_report(
    path: Path,
    logs: Path | str | Sequence[Path | str],
    options: AnalyzeOptions | None = None,
    *,
    on_progress: Callable[[float, int], None] | None = None,
) -> Analysis:
    """Analyze logs, and write a report.

    Args:
        path: The file; an older report is replaced.
        logs: What ``paraply.analysis.analyze.analyze`` takes.
        options: The options.
        on_progress: Called with the bytes read and the transactions recorded.

    Returns:
        The result.

    Raises:
        UsageError: A file is missing, an option is not possible, or the report cannot be made or written.
        LogError: The log is damaged or not understood.
    """
    chosen = options or AnalyzeOptions()
    check_report(path)

    def write(result: Analysis, recording: Recording) -> None:
        write_report(path, log_paths(logs), result, recording, chosen.costs)

    return analyze(logs, chosen, on_progress=on_progress, on_result=write)


def check_report(path: Path) -> None:
    """Check before a long analysis that its report can be made and written.

    Raises:
        UsageError: A package is missing, the folder cannot be written to, or the file exists and is no report.
    """
    require_extra("report", "paraply analyze --html")
    try:
        with path.open("rb") as file:
            begin = file.read(len(_HEAD))
    except FileNotFoundError:
        if not path.parent.is_dir():
            raise UsageError(f"--html {path} cannot be written: its folder does not exist") from None
        return
    except OSError as error:
        raise UsageError(f"--html {path} cannot be written: {error.strerror}") from None
    if begin and begin != _HEAD.encode():
        raise UsageError(f"--html {path}: this file exists and is no report of paraply; give another name, or remove it")


def write_report(path: Path, logs: Sequence[str], result: Analysis, recording: Recording, model: CostModel) -> None:
    """Write the report of an analysis.

    Args:
        path: The file; an older report is replaced.
        logs: Files that were analyzed.
        result: The result.
        recording: The recorded log.
        model: The cost model.

    Raises:
        UsageError: The file cannot be made.
        ParaplyError: The file cannot be written.
    """
    text = report(logs, result, recording, model)
    with new_file(path, "--html") as file:
        file.write(text.encode("utf-8", "xmlcharrefreplace"))


def report(logs: Sequence[str], result: Analysis, recording: Recording, model: CostModel) -> str:
    """Return the page of a report."""
    import jinja2

    bounds = bounds_of(len(recording))
    shown, most = schedulers_of(result)
    sweeps = [sweep(recording, model, scheduler, bounds, _MOST_EXACT) for scheduler in shown]
    beside = [sweep(recording, model, scheduler, bounds, 0) for scheduler in most]
    panels = panels_of(result, along([sweeps[0], *beside], bounds, result.totals), sweeps)
    data = {
        "charts": {figure.id: figure.chart for panel in panels for figure in panel.figures},
        "schedules": schedules_of(recording, sweeps),
    }
    names = [file_name(log) for log in logs]
    script, library = text_of("page.js"), chart_library()
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return _HEAD + environment.from_string(text_of("page.html.jinja")).render(
        title=names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}" if names else "no log",
        files=names,
        result=result,
        facts=facts_of(result),
        panels=panels,
        schedules=[found.name for found in sweeps],
        data=script_json(data),
        style=text_of("page.css"),
        script=script,
        library=library,
        hashes=[script_hash(script), script_hash(library)],
        version=__version__,
    )


def schedulers_of(result: Analysis) -> tuple[list[Scheduler], list[Scheduler]]:
    """Return the appliers whose schedules are shown, and those with most workers whose parallelism is shown."""
    found = result.explanation
    own = Scheduler(found.applier, found.numbers, found.workers)
    keys = Scheduler("mysql", "fine", found.workers)
    schedules = [own, keys, Scheduler("paraply", "fine", found.workers)]
    most = [Scheduler(found.applier, found.numbers, found.ideal_workers), Scheduler("mysql", "fine", found.ideal_workers)]
    return list(dict.fromkeys(schedules)), [scheduler for scheduler in dict.fromkeys(most) if scheduler != own]


def schedules_of(recording: Recording, sweeps: Sequence[Sweep]) -> dict[str, Any]:
    """Return the schedules for the page, with exact times of so many transactions that the page stays small."""
    most = _MOST_EXACT
    while True:
        found = {"each": [each.as_json(most) for each in sweeps], "transactions": transactions_of(recording, most)}
        if most < 100 or len(json.dumps(found, separators=(",", ":"))) <= _MOST_SCHEDULE_BYTES:
            return found
        most //= 2


def facts_of(result: Analysis) -> list[tuple[str, str]]:
    """Return the facts at the head of a report: a name and a text each."""
    totals, found = result.totals, result.explanation
    facts = [
        ("transactions", f"{totals.transactions:,}"),
        ("rows", f"{totals.rows:,}"),
        ("size of the log", f"{totals.bytes / 1e6:,.1f} MB"),
    ]
    if totals.span_seconds:
        facts.append(("written in", duration(totals.span_seconds)))
    if totals.transactions_per_second:
        facts.append(("rate of the source", f"{totals.transactions_per_second:,.0f} transactions/s"))
    facts.append(("one worker", duration(result.serial_seconds)))
    facts.append((f"{scheduler_name(found.applier, found.numbers)}, {found.workers} workers", duration(found.seconds)))
    fine = next((scheme for scheme in result.schemes if scheme.name == "fine"), None)
    if fine is not None:
        facts.append(("the keys allow", f"{times(fine.parallelism)} as fast"))
    if found.causes and found.causes[0].seconds > 0:
        facts.append(("first cause of lost time", f"{found.causes[0].title} ({short(found.causes[0].seconds)} s)"))
    return facts


def script_json(data: dict[str, Any]) -> str:
    r"""Return JSON that can stand in a script element: no text in it ends the element or begins another.

    >>> script_json({"key": "</script><!--"})
    '{"key":"\\u003c/script\\u003e\\u003c!--"}'
    """
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def script_hash(script: str) -> str:
    """Return the hash by which the page's policy allows a script; it allows no other."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def text_of(name: str) -> str:
    """Return a file of this package."""
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


@functools.cache
def chart_library() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script."""
    import vl_convert

    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed=vegaEmbed;")
    return bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")
