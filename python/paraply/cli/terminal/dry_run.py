"""Output of the plan of ``paraply apply`` and of ``--dry-run``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from paraply.cli.terminal import output
from paraply.wording import counted, table_for_people

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paraply.applier.preflight.dry_run import DryRun, PlannedStatement
    from paraply.applier.preflight.plan import RunPlan

__all__ = ["dry_run_json", "duration", "show_dry_run", "show_plan"]

_MOST_STATEMENTS = 40
_MOST_LARGE = 5
_MOST_TABLES = 3
#: Characters that a terminal takes as orders.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_UNCHECKED = (
    "not checked: values of rows (into PostgreSQL zero dates and text with NUL, into MariaDB before 11.5 times after 2038), and whether the"
    " target's rows are those that the log changes"
)


def show_plan(run_plan: RunPlan) -> None:
    """Print the plan of a run, before its first write, on standard error."""
    for line in run_plan.lines():
        if output.write_event is not None:
            output.write_event("info", "plan", printable(line), None)
            continue
        output.stderr.print(escape(printable(line)), soft_wrap=True)


def printable(line: str) -> str:
    r"""Return a line with its control characters in hexadecimal.

    >>> printable("a\x18b")
    'a\\x18b'
    """
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", line)


def dry_run_json(found: DryRun | None) -> dict[str, Any]:
    """Return the JSON fields of a dry run."""
    if found is None:
        counts = dict.fromkeys(("transactions", "rows", "bytes", "skipped", "filtered"), 0)
        return {"dry_run": True, **counts, "skip": None, "statements": [], "largest": [], "stops": []}
    return {
        "dry_run": True,
        "plan": found.run_plan.as_json(),
        "transactions": found.transactions,
        "rows": found.rows,
        "bytes": found.bytes,
        "skipped": found.skipped,
        "filtered": found.filtered,
        "first": found.first.as_json() if found.first is not None else None,
        "last": found.last.as_json() if found.last is not None else None,
        "stop": found.stop.as_json() if found.stop is not None else None,
        "skip": found.skip.as_json() if found.skip is not None else None,
        "statements": [statement.as_json() for statement in found.statements],
        "largest": [large.as_json() for large in found.largest],
        "stops": [stop.as_json() for stop in found.stops],
        "before_stop": found.before_stop,
        "complete": found.damage is None,
        "estimated_seconds": list(found.estimate),
    }


def show_dry_run(found: DryRun | None) -> None:
    """Print a dry run for people."""
    if found is None:
        output.console.print("there is no transaction in the logs")
        return
    lines = [*found.run_plan.lines(), ""]
    lines.append(
        f"would apply {counted(found.transactions, 'transaction')} ({counted(found.rows, 'row')}, {counted(found.bytes, 'byte')} of log)"
    )
    if found.refusal is not None:
        lines.append(f"STOP: the apply is refused before its first write: {found.refusal.message}")
    elif found.before_stop is not None:
        lines.append(f"STOP: it would end after {found.before_stop:,} of them; the others are judged as if it went on")
    if found.damage is not None:
        lines.append(f"STOP: the log cannot be read after them: {found.damage.message}")
    if found.first is not None and found.last is not None:
        lines += [f"  first  {found.first}", f"  last   {found.last}"]
    if found.stop is not None:
        lines.append(f"  stops  {found.stop}")
    if found.skipped > found.named:
        lines.append(f"{counted(found.skipped - found.named, 'transaction is', 'transactions are')} already in the target")
    if found.named:
        lines.append(f"{counted(found.named, 'transaction is', 'transactions are')} left out by --skip, and counted as executed")
    if found.filtered:
        by = "" if found.own_left_out else " by the filters"
        lines.append(f"{counted(found.filtered, 'transaction is', 'transactions are')} left empty{by}, and recorded as done")
    lines += _statements(found)
    lines += _largest(found)
    lines += _stops(found)
    low, high = found.estimate
    times = " to ".join(dict.fromkeys((duration(low), duration(high))))
    lines.append(f"time: about {times}, by measurements on other machines; the progress bar is more exact")
    lines += [_UNCHECKED, "nothing was written"]
    for line in lines:
        output.console.print(escape(printable(line)), soft_wrap=True)


def _statements(found: DryRun) -> list[str]:
    if not found.statements:
        return ["no DDL"]
    skipped = sum(statement.skipped for statement in found.statements)
    running = sum(statement.runs for statement in found.statements) - skipped
    left_out = len(found.statements) - running - skipped
    lines = [
        f"{counted(running, 'statement')} would be run"
        + (f", {skipped:,} skipped, because the target has no counterpart" if skipped else "")
        + (f", {left_out:,} left out" if left_out else "")
    ]
    shown = _shown(found.statements)
    for statement in shown:
        lines.append(f"{_mark(statement)}{statement.place.words}  {statement.sql}")
        if statement.problem:
            lines.append(f"        {statement.problem}")
    if len(found.statements) > len(shown):
        lines.append(f"  ... {len(found.statements) - len(shown):,} more, with --json")
    return lines


def _largest(found: DryRun) -> list[str]:
    """Return the lines of the largest transactions."""
    if not found.largest:
        return []
    most = found.largest[:_MOST_LARGE]
    lines = ["the largest transaction" if len(most) == 1 else f"the {len(most)} largest transactions"]
    for large in most:
        tables = ", ".join(map(table_for_people, large.tables[:_MOST_TABLES])) + (", ..." if len(large.tables) > _MOST_TABLES else "")
        lines.append(f"  rows   {large.place.words}  {counted(large.rows, 'row')} of {tables}")
    return lines


def _shown(statements: Sequence[PlannedStatement]) -> list[PlannedStatement]:
    """Return the first statements, and after them the first ones at which the apply would stop."""
    later = [statement for statement in statements[_MOST_STATEMENTS:] if statement.problem]
    return [*statements[:_MOST_STATEMENTS], *later[:_MOST_STATEMENTS]]


def _mark(statement: PlannedStatement) -> str:
    if statement.problem:
        return "  STOP  "
    if statement.named:
        return "  --skip "
    if not statement.runs:
        return "  leave "
    return "  skip  " if statement.skipped else "  run   "


def _stops(found: DryRun) -> list[str]:
    lines = []
    for stop in found.stops[:_MOST_STATEMENTS]:
        lines += [f"  STOP  {stop.place.words}  {stop.sql}", f"        {stop.problem}"]
    if len(found.stops) > _MOST_STATEMENTS:
        lines.append(f"  ... {counted(len(found.stops) - _MOST_STATEMENTS, 'more table')}, with --json")
    return lines


def duration(seconds: float) -> str:
    """Return a duration in words.

    >>> duration(0.4), duration(90), duration(5400)
    ('1 s', '2 min', '1.5 h')
    """
    if seconds < 60:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"
