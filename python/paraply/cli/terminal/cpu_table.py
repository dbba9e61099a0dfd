"""The table of a run's CPU time by stage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from paraply.cli.terminal import output

if TYPE_CHECKING:
    from paraply.observe.cpu_cost import CpuCost

__all__ = ["cpu_table"]


def cpu_table(cost: CpuCost) -> Table:
    """Return the table: seconds of CPU, and seconds per million row changes, of each stage and of the whole process."""
    columns = output.columns_of_numbers("CPU seconds", "per million row changes")
    table = Table("stage", *columns, title=f"paraply's own CPU time, {cost.rows:,} row changes")
    stages = {**cost.stages, "all stages": sum(cost.stages.values())}
    for name, seconds in stages.items():
        table.add_row(name, f"{seconds:.3f}", f"{cost.per_million(seconds):.2f}")
    for name, seconds in {"start": cost.start, "other": cost.other, "process": cost.process}.items():
        table.add_row(name, f"{seconds:.3f}", "")
    return table
