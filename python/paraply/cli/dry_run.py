"""Output of the plan of ``paraply apply`` and of ``--dry-run``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.markup import escape

from paraply.cli import output

if TYPE_CHECKING:
    from paraply.applier.preflight.dry_run import DryRun
    from paraply.applier.preflight.plan import Outline

__all__ = ["dry_run_json", "duration", "show_dry_run", "show_plan"]

_MOST_STATEMENTS = 40


def show_plan(outline: Outline) -> None:
    """Print the plan of a run, before its first write, on standard error."""
    for line in outline.lines():
        output.stderr.print(escape(line), soft_wrap=True)


def dry_run_json(found: DryRun | None) -> dict[str, Any]:
    """Return the JSON fields of a dry run."""
    if found is None:
        return {"dry_run": True, "transactions": 0, "rows": 0, "bytes": 0, "skipped": 0, "filtered": 0, "statements": [], "stops": []}
    return {
        "dry_run": True,
        "plan": found.outline.as_json(),
        "transactions": found.transactions,
        "rows": found.rows,
        "bytes": found.bytes,
        "skipped": found.skipped,
        "filtered": found.filtered,
        "first": found.first.as_json() if found.first is not None else None,
        "last": found.last.as_json() if found.last is not None else None,
        "stop": found.stop.as_json() if found.stop is not None else None,
        "statements": [statement.as_json() for statement in found.statements],
        "stops": [stop.as_json() for stop in found.stops],
        "estimated_seconds": list(found.estimate),
    }


def show_dry_run(found: DryRun | None) -> None:
    """Print a dry run for people."""
    if found is None:
        output.console.print("there is no transaction in the logs")
        return
    lines = [*found.outline.lines(), ""]
    lines.append(f"would apply {found.transactions:,} transactions ({found.rows:,} rows, {found.bytes:,} bytes of log)")
    if found.first is not None and found.last is not None:
        lines += [f"  first  {found.first}", f"  last   {found.last}"]
    if found.stop is not None:
        lines.append(f"  stops  {found.stop}")
    if found.skipped:
        lines.append(f"{found.skipped:,} transactions are already in the target")
    if found.filtered:
        lines.append(f"{found.filtered:,} transactions are left empty by the filters; they are recorded as done")
    lines += _statements(found)
    lines += _stops(found)
    low, high = found.estimate
    times = " to ".join(dict.fromkeys((duration(low), duration(high))))
    lines.append(f"time: about {times}, by measurements on other machines; the progress bar is more exact")
    lines.append("nothing was written")
    for line in lines:
        output.console.print(escape(line), soft_wrap=True)


def _statements(found: DryRun) -> list[str]:
    if not found.statements:
        return ["no DDL"]
    running = sum(statement.runs for statement in found.statements)
    lines = [
        f"{running:,} statements would be run"
        + (f", {len(found.statements) - running:,} left out" if running < len(found.statements) else "")
    ]
    for statement in found.statements[:_MOST_STATEMENTS]:
        mark = "  STOP  " if statement.problem else "  run   " if statement.runs else "  leave "
        lines.append(f"{mark}{statement.place.file}:{statement.place.position}  {statement.sql}")
        if statement.problem:
            lines.append(f"        {statement.problem}")
    if len(found.statements) > _MOST_STATEMENTS:
        lines.append(f"  ... {len(found.statements) - _MOST_STATEMENTS:,} more, with --json")
    return lines


def _stops(found: DryRun) -> list[str]:
    lines = []
    for stop in found.stops[:_MOST_STATEMENTS]:
        lines += [f"  STOP  {stop.place.file}:{stop.place.position}  {stop.sql}", f"        {stop.problem}"]
    if len(found.stops) > _MOST_STATEMENTS:
        lines.append(f"  ... {len(found.stops) - _MOST_STATEMENTS:,} more tables, with --json")
    return lines


def duration(seconds: float) -> str:
    """Return a duration in words.

    >>> duration(0.4), duration(90), duration(5400)
    ('1 s', '2 min', '1.5 h')
    """
    if seconds < 60:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"
