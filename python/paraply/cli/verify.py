"""``paraply verify``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from paraply.cli.options import AsJson, Debug
from paraply.cli.terminal import output
from paraply.cli.terminal.progress import progress_line
from paraply.wording import counted, fallback_words

if TYPE_CHECKING:
    from paraply.analysis.verify import VerifyReport

__all__ = ["verify"]

EXAMPLES = """
[bold]Examples[/bold]

  paraply verify member3.relay
  paraply verify relay-group_replication_applier.000002 --infer-gc
  paraply verify member1.relay --order member3.relay --local-server-id 1
  paraply verify binlog.000007 --scheme writeset --schema dump.sql
  paraply verify stamped/binlog.000007 --scheme fine --schema dump.sql
"""


def verify(
    log: Annotated[
        list[str],
        typer.Argument(metavar="LOG...", help="Relay logs of a group member, or binary logs of a source, in order."),
    ],
    scheme: Annotated[
        str,
        typer.Option(
            help="Origin of the log's numbers: [bold]group[/bold] (the certifier's, in a group member's relay log) or"
            " [bold]writeset[/bold] (a source's tracker's, in its binary log); [bold]auto[/bold] goes by the kind of the log."
            " [bold]fine[/bold] only checks that no number is below what"
            " the dependencies need."
        ),
    ] = "auto",
    server: Annotated[str | None, typer.Option(help="Rules of this server version (5.7, 8.0, 9.7); default: as in the log.")] = None,
    schema: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="A dump with the tables as they were at the start of the log.")
    ] = None,
    infer_gc: Annotated[bool, typer.Option("--infer-gc", help="Find the garbage collections that the log does not show.")] = False,
    order: Annotated[
        Path | None,
        typer.Option(
            help="A member's log that holds all transactions in certification order; the schema comes from it too.",
        ),
    ] = None,
    local_server_id: Annotated[
        int | None, typer.Option(help="With --order: the server id whose transactions were local on LOG's member.")
    ] = None,
    sessions: Annotated[
        str,
        typer.Option(
            help="With writeset: [bold]auto[/bold] takes each transaction's session from the log, [bold]single[/bold] if no two"
            " overlapped, [bold]many[/bold] to check only the upper bound."
        ),
    ] = "auto",
    history: Annotated[
        int | None,
        typer.Option(help="With writeset: the source's binlog_transaction_dependency_history_size; default: its version's default."),
    ] = None,
    tracking: Annotated[
        str,
        typer.Option(
            help="With writeset: the source's binlog_transaction_dependency_tracking, writeset, writeset-session or commit-order"
            " (5.7 and 8.0; newer servers always track write sets)."
        ),
    ] = "writeset",
    ignore_collations: Annotated[
        bool, typer.Option("--ignore-collations", hidden=True, help="Hash text bytewise; wrong on purpose.")
    ] = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Recompute both numbers of every transaction and compare them with the log's own."""
    from paraply.analysis.verify import require_equal
    from paraply.analysis.verify import verify as run_verify
    from paraply.logs import log_paths

    report: VerifyReport | None = None

    def body() -> tuple[int, Mapping[str, Any]]:
        nonlocal report
        total = sum(Path(path).stat().st_size for path in log_paths([order] if order else log))
        with progress_line("verify", total, quiet=as_json) as line:
            report = run_verify(
                log,
                scheme=scheme,
                server=server,
                schema=schema,
                infer_gc=infer_gc,
                order=order,
                local_server_id=local_server_id,
                sessions=sessions,
                history=history,
                tracking=tracking,
                bytewise=ignore_collations,
                on_progress=lambda done, count: line.update(done, counted(count, "transaction")),
            )
        if not as_json:
            show(report)
        require_equal(report)
        return 0, report.as_json()

    output.run("verify", body, as_json=as_json, debug=debug, so_far=lambda: report.as_json() if report is not None else {})


def show(report: VerifyReport) -> None:
    """Print the report for people."""
    colour = "green" if report.different == 0 else "red"
    output.console.print(
        f"{counted(report.transactions, 'transaction')}, [{colour}]{report.different:,} different[/{colour}],"
        f" fallbacks {report.fallbacks:,}"
    )
    if report.check == "bound":
        output.console.print(f"scheme {report.scheme}, check: bound ({report.checked_exactly:,} exactly; the others by bounds)")
    else:
        output.console.print(f"scheme {report.scheme}, check: exact")
    if report.gc_after:
        output.console.print("collections after " + ", ".join(str(number) for number in report.gc_after))
    if report.first_difference:
        first = report.first_difference
        output.console.print(
            f"first difference: {first['gtid']} at {first['file']}:{first['position']}: "
            f"the log has ({first['logged'][0]}, {first['logged'][1]}), the rules give ({first['computed'][0]}, {first['computed'][1]})"
        )
    for fallback in report.fallback_reasons:
        output.console.print(f"fallback: {escape(fallback_words(**fallback))}")


verify.__doc__ = (verify.__doc__ or "") + "\n" + EXAMPLES
