"""``paraply group``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from paraply.cli.options import AsJson, Debug
from paraply.cli.process.signals import interrupted_by_signal
from paraply.cli.terminal import output
from paraply.cli.terminal.progress import progress_line
from paraply.wording import counted

if TYPE_CHECKING:
    from paraply.group import LiveGroup, MemberStats
    from paraply.group.load import Load
    from paraply.group.parallelism import Parallelism

__all__ = ["group"]

EXAMPLES = """
[bold]Examples[/bold]

  paraply group --members 3 --seconds 20

  paraply group --members 5 --hot-share 0.5 --latency 2 --json

  paraply group --mode single-primary --data ./group
"""


@dataclass(frozen=True, slots=True)
class Result:
    """Result of a run."""

    seconds: float
    committed: int
    conflicts: int
    unavailable: int
    members: list[MemberStats]
    parallelism: dict[str, Parallelism]
    differing: list[str]
    stopped: bool

    def as_json(self) -> dict[str, Any]:
        """Return the fields of the JSON object."""
        sent = self.committed + self.conflicts
        return {
            "transactions": sent,
            "committed": self.committed,
            "conflicts": self.conflicts,
            "unavailable": self.unavailable,
            "load_seconds": round(self.seconds, 3),
            "transactions_per_second": round(self.committed / self.seconds, 1) if self.seconds else 0.0,
            "conflict_share": round(self.conflicts / sent, 4) if sent else 0.0,
            "equal": not self.differing,
            "differing_tables": self.differing,
            "members": [
                row.as_json()
                | {
                    "relay_transactions": self.parallelism[row.member_name].transactions,
                    "relay_steps": self.parallelism[row.member_name].steps,
                    "apply_parallelism": round(self.parallelism[row.member_name].average, 2),
                }
                for row in self.members
            ],
        }


def group(
    members: Annotated[int, typer.Option(min=1, max=9, help="Members.")] = 3,
    seconds: Annotated[float, typer.Option(min=0, help="Duration of the load.")] = 20.0,
    sessions: Annotated[int, typer.Option(min=1, max=64, help="Client sessions, spread over the members.")] = 8,
    hot_share: Annotated[float, typer.Option(min=0, max=1, help="Share of the transactions that write one of four hot rows.")] = 0.1,
    latency: Annotated[float, typer.Option(min=0, metavar="MS", help="Delay of each message of the group, in milliseconds.")] = 0.0,
    mode: Annotated[str, typer.Option(help="[bold]multi-primary[/bold] or [bold]single-primary[/bold].")] = "multi-primary",
    workers: Annotated[int, typer.Option(min=1, max=64, help="Workers of each member's applier.")] = 4,
    consistency: Annotated[
        str, typer.Option(metavar="LEVEL", help="Order of the appliers' commits: any-time, most-of-the-time or eventual.")
    ] = "any-time",
    seed: Annotated[int, typer.Option(help="Seed of the choice of rows.")] = 1,
    data: Annotated[
        Path | None, typer.Option(file_okay=False, help="Keep databases and logs in this folder; by default they are removed at the end.")
    ] = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Run a group of members under load; show conflicts and figures, and compare the members at the end."""

    def body() -> tuple[int, Mapping[str, Any]]:
        from paraply.errors import ApplyFailed, Stopped
        from paraply.group import GroupOptions, LiveGroup
        from paraply.group.load import SCHEMA, Load, LoadOptions

        options = GroupOptions(mode=mode, workers=workers, consistency=consistency, latency=latency / 1000)
        plan = LoadOptions(sessions=sessions, hot_share=hot_share, seed=seed)
        with LiveGroup(members, options, SCHEMA, folder=data) as live:
            load = Load(live, plan)
            load.fill()
            result = measure(live, load, seconds, quiet=as_json)
        fields.update(result.as_json())
        if not as_json:
            show(result)
        if result.differing:
            raise ApplyFailed(f"the members differ in {', '.join(result.differing)}")
        if result.stopped:
            raise Stopped("the load was stopped on request; all members have applied everything and are equal")
        return 0, fields

    fields: dict[str, Any] = {}
    output.run("group", body, as_json=as_json, debug=debug, so_far=lambda: fields)


def measure(live: LiveGroup, load: Load, seconds: float, *, quiet: bool) -> Result:
    """Run the load, wait until the members have applied everything, and compare them; Ctrl-C ends the load early."""
    from paraply.group.parallelism import relay_parallelism

    stopped = False
    ran = 0.0
    with progress_line("group", int(seconds * 10), quiet=quiet) as line:

        def tick() -> None:
            nonlocal ran
            ran += 0.1
            line.update(int(ran * 10), f"{load.committed:,} committed, {counted(load.conflicts, 'conflict')}")

        try:
            with interrupted_by_signal():
                ran = load.run(seconds, tick)
        except KeyboardInterrupt:
            stopped = True
    live.settle()
    names = [member.name for member in live.membership.view.members]
    contents = [live.contents(name) for name in names]
    differing = sorted({table for held in contents[1:] for table in contents[0] if held.get(table) != contents[0][table]})
    parallelism = {name: relay_parallelism(live.relay_files(name)) for name in names}
    stats = [row for row in live.statistics() if row.member_name in names]
    return Result(ran, load.committed, load.conflicts, load.unavailable, stats, parallelism, differing, stopped)


def show(result: Result) -> None:
    """Print the result for people."""
    columns = ("checked", "conflicts", "sent", "refused", "applied", "parallel")
    single = any(row.member_role == "SECONDARY" for row in result.members)
    title = "The group, member by member" + (" (* the primary)" if single else "")
    table = Table("member", *output.columns_of_numbers(*columns), title=title)
    for row in result.members:
        found = result.parallelism[row.member_name]
        numbers = (
            row.count_transactions_checked,
            row.count_conflicts_detected,
            row.count_transactions_local_proposed,
            row.count_transactions_local_rollback,
            row.count_transactions_remote_applied,
        )
        name = row.member_name + (" *" if single and row.member_role == "PRIMARY" else "")
        table.add_row(name, *(f"{number:,}" for number in numbers), f"{found.average:.1f}")
    output.console.print(table)
    sent = result.committed + result.conflicts
    share = result.conflicts / sent if sent else 0.0
    rate = result.committed / result.seconds if result.seconds else 0.0
    output.console.print(
        f"{counted(result.committed, 'transaction')} committed in {result.seconds:.1f} seconds ({rate:,.0f} a second), "
        f"{result.conflicts:,} rolled back (conflict), {share:.1%}",
        soft_wrap=True,
    )
    if not result.differing:
        output.console.print("[green]all members are equal[/green]")


group.__doc__ = (group.__doc__ or "") + "\n" + EXAMPLES
