"""``paraply status``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from paraply.cli.options import AsJson, Debug, DefaultsFile, TargetUrl
from paraply.cli.terminal import output
from paraply.cli.terminal.progress import time_left
from paraply.errors import ChannelTrouble, UsageError
from paraply.wording import counted

if TYPE_CHECKING:
    from paraply.targets.channel_status import ChannelStatus, LastSign

__all__ = ["channel_json", "status"]

EXAMPLES = """
[bold]Examples[/bold]

  paraply status

  paraply status --to mysql://app@db.example.org

  paraply status --to postgresql://app@db.example.org/copy --channel shop --json

  paraply status --to mysql://app@db.example.org --max-lag 60     # exit code 1 if something is wrong
"""

_LONGEST = 300


def status(
    to: TargetUrl = None,
    defaults_file: DefaultsFile = None,
    channel: Annotated[str | None, typer.Option(metavar="NAME", help="Only this channel.")] = None,
    max_lag: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", min=0, help="Exit with 1 if a channel lags more, is not connected, or does not run and is not complete."
        ),
    ] = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Show what a target holds, and what an apply running there is doing; writes nothing.

    The exit code is 1 if a channel has failed, or its process is gone; with --max-lag also if it lags more or is not connected.
    """
    report: dict[str, Any] = {}

    def body() -> tuple[int, Mapping[str, Any]]:
        from paraply.targets import open_target

        with open_target(to, defaults_file=defaults_file) as target:
            found = target.read_channels()
        if channel is not None:
            found = [one for one in found if one.name == channel]
            if not found:
                raise UsageError(f"the target has no channel {channel!r}; without --channel all of them are shown")
        if not as_json:
            show(found)
        troubles = {one.name: trouble for one in found if (trouble := trouble_of(one, max_lag)) is not None}
        printed = [] if as_json else [one.name for one in found if one.state == "failed"]
        report["channels"] = [channel_json(one) | {"trouble": troubles.get(one.name)} for one in found]
        if troubles:
            words = {name: "failed; its error is in the status" if name in printed else trouble for name, trouble in troubles.items()}
            raise ChannelTrouble("; ".join(f"channel {name}: {trouble}" for name, trouble in words.items()))
        return 0, report

    output.run("status", body, as_json=as_json, debug=debug, so_far=lambda: report)


def trouble_of(channel: ChannelStatus, max_lag: float | None) -> str | None:
    """Return the trouble of a channel, for monitoring; None without trouble.

    Args:
        channel: The channel.
        max_lag: Seconds that it may lag; None for any lag, and for a channel that does not run. A complete channel lags nowhere.
    """
    sign = channel.sign
    run: Mapping[str, Any] = sign.status if sign is not None and sign.epoch == channel.epoch else {}
    if channel.state == "failed":
        return f"failed: {(run.get('error') or {}).get('message')}"
    if channel.pending is not None:
        return "a crash inside a DDL is undecided"
    if channel.state == "incomplete" and run and run.get("outcome") is None:
        return "its process has stopped reporting"
    if max_lag is None:
        return None
    if channel.state == "complete":  # it came to the end of its logs, or to its stop
        return None
    if channel.state != "running":
        return "it does not run"
    receiver = run.get("receiver")
    if receiver and not receiver["connected"]:
        return "it is not connected to its source, so that its lag is not known"
    waiting = receiver["lag_transactions"] if receiver else None
    lag = 0.0 if waiting == 0 else run["counters"]["lag"] if run else None
    paused = f", paused by {channel.pause.by} since {channel.pause.since}" if channel.pause is not None else ""
    if lag is None and waiting:
        return f"{counted(waiting, 'transaction waits', 'transactions wait')}, and none was applied since its start{paused}"
    if lag is not None and lag > max_lag:
        return f"it lags {lag:,.0f} s, more than {max_lag:g} s{paused}"
    return None


def channel_json(channel: ChannelStatus) -> dict[str, Any]:
    """Return the JSON object of a channel."""
    sign = channel.sign
    return {
        "channel": channel.name,
        "state": channel.state,
        "epoch": channel.epoch,
        "executed": channel.executed,
        "file": channel.file,
        "position": channel.position,
        "ordinal": channel.ordinal,
        "gaps": channel.gaps,
        "ahead": channel.ahead,
        "paused": {"by": channel.pause.by, "since": channel.pause.since} if channel.pause is not None else None,
        "gtid_mode": channel.gtid_mode or None,
        "missing_gtids": channel.missing or None,
        "pending_statement": channel.pending,
        "fingerprint": channel.fingerprint,
        "updated_at": sign.at if sign is not None else None,
        "age_seconds": round(sign.age, 3) if sign is not None else None,
        "run": sign.status if sign is not None else None,
        "conflicts": channel.conflicts,
    }


def show(channels: list[ChannelStatus]) -> None:
    """Print the channels for people."""
    if not channels:
        output.console.print("no apply has kept its progress in this target")
    for channel in channels:
        for line in [f"channel {channel.name}: {_state(channel)}", *(f"  {line}" for line in _progress(channel))]:
            output.console.print(escape(line), soft_wrap=True)
        if channel.state == "running" and channel.sign is not None:
            for line in _live(channel.sign.status):
                output.console.print(escape(f"  {line}"), soft_wrap=True)
            output.console.print(_workers(channel.sign.status))


def _state(channel: ChannelStatus) -> str:
    sign = channel.sign
    if sign is None:
        return channel.state
    if sign.epoch != channel.epoch:
        return f"{channel.state}; the latest run has not reported yet"
    run = sign.status
    where = f"process {run.get('pid')} on {run.get('host')}, last sign of it {_age(sign)} ago"
    if channel.state == "failed":
        return f"failed: {(run.get('error') or {}).get('message')} ({where})"
    if channel.state == "incomplete" and run.get("outcome") is None:
        return f"incomplete, and its run has stopped reporting ({where}); the same command continues from here"
    return f"{channel.state} ({where})"


def _progress(channel: ChannelStatus) -> list[str]:
    lines = []
    run: Mapping[str, Any] = channel.sign.status if channel.sign is not None else {}
    counters = run.get("counters") or {}
    if counters.get("last_gtid") or counters.get("committed_at"):
        when = f", committed on the source {counters['committed_at']}" if counters.get("committed_at") else ""
        lines.append(f"last       {counters.get('last_gtid') or 'a transaction without GTID'}{when}")
    if channel.file is not None:
        lines.append(f"position   {channel.file}:{channel.position}, {counted(channel.ordinal, 'transaction')} of the logs committed")
    if channel.executed:
        lines.append(f"executed   {_shortened(channel.executed)}")
    if channel.missing:
        lines.append(
            f"incomplete the server's own GTID set lacks {_shortened(channel.missing)}, which are applied (GTID mode record):"
            " Ctrl-C or SIGTERM, a stop that was reached, or the end of the logs adds them"
        )
    ahead = counted(channel.ahead, "transaction")
    gaps = f"{_shortened(', '.join(channel.gaps))} ({ahead} committed after that)" if channel.gaps else "none"
    lines.append(f"gaps       {gaps}")
    lines.append(f"epoch      {channel.epoch}")
    if channel.pause is not None:
        rest = ", transactions in progress are being committed" if run.get("paused") == "pausing" else ""
        lines.append(f"paused     by {channel.pause.by} since {channel.pause.since}{rest}; paraply resume ends it")
    if channel.conflicts:
        lines.append(f"conflicts  {counted(channel.conflicts, 'row change')} did not fit this target: see paraply.conflict in it")
    if channel.pending is not None:
        lines.append(f"undecided  {channel.pending}: see --ddl-done of paraply apply")
    return lines


def _live(run: Mapping[str, Any]) -> list[str]:
    counters = run["counters"]
    received = _received(run["receiver"], counters) if run.get("receiver") else []
    share = f", {100 * counters['bytes_done'] / counters['bytes_total']:.0f} % of the logs" if counters["bytes_total"] else ""
    left = f", {time_left(counters['seconds_left'])}" if counters["seconds_left"] is not None else ""
    lag = f", lag {counters['lag']:,.0f} s" if counters["lag"] is not None and not received else ""
    blockers = counters["foreign_blockers"]
    return [
        *received,
        f"rate       {counters['rate']:,.0f} transactions/s{share}{left}{lag}",
        (
            f"done       {counted(counters['transactions'], 'transaction')} ({counters['merged']:,} merged)"
            f" in {counted(counters['commits'], 'commit')}, {counters['skipped']:,} skipped, {counted(counters['rows'], 'row')}"
        ),
        (
            f"queue      {counted(counters['queue'], 'job')}, {counted(counters['backlog'], 'transaction')} waiting after them,"
            f" low-water mark block {counters['low_water_mark']:,}, {counters['ahead']} ahead of it"
        ),
        (
            f"workers    {counters['running']} running, {counters['waiting_dependency']} blocked by dependency,"
            f" {counters['waiting_turn']} waiting to commit, {counters['waiting_input']} waiting for input"
            + (f", {counters['resting']} resting" if counters.get("resting") else "")
        ),
        f"retries    {counters['retries']:,}, younger rolled back {counters['rollbacks']:,}, reconnects {counters['reconnects']:,}"
        + ("; one block at a time after a storm of retries" if counters["serial"] else "")
        + (f"; blocked by connections {', '.join(map(str, blockers))}" if blockers else ""),
    ]


def _received(receiver: Mapping[str, Any], counters: Mapping[str, Any]) -> list[str]:
    """Return the lines about a replication: received transactions, and the lag of the apply."""
    since = f" since {receiver['disconnected_since']}" if receiver.get("disconnected_since") else ""
    state = "connected" if receiver["connected"] else f"not connected{since} ({receiver['last_error'] or 'not yet'})"
    heard = f", heard {receiver['heard_seconds_ago']:,.1f} s ago" if receiver["heard_seconds_ago"] is not None else ""
    pending = receiver["lag_transactions"] if receiver["connected"] else receiver.get("unapplied_transactions")
    seconds = 0.0 if pending == 0 else counters["lag"]
    time = "none applied since the start" if seconds is None else f"{seconds:,.0f} s"
    behind = f"{counted(pending, 'transaction')}, {time}" if pending is not None else time
    if not receiver["connected"]:
        received = "everything received is applied" if pending == 0 else f"{behind} of what was received"
        behind = f"not known while the source is not connected; {received}"
    return [
        f"source     {receiver['source']}: {state}{heard}{_semi_sync(receiver)}",
        f"received   {_last_received(receiver)}",
        f"lag        {behind}",
    ]


def _last_received(receiver: Mapping[str, Any]) -> str:
    """Return the number of received transactions, and the last one; its place is not known before the first one of this run."""
    last = receiver["last_received"]
    if not receiver["received_transactions"]:
        return f"nothing since the start{f'; the relay log goes up to {last}' if last else ''}"
    place = f"{receiver['source_file']}:{receiver['source_position']}"
    return f"{counted(receiver['received_transactions'], 'transaction')} up to {last or 'none'} ({place})"


def _semi_sync(receiver: Mapping[str, Any]) -> str:
    """Return the state of semi-synchronous replication; empty if it was not asked for."""
    match receiver.get("semi_sync"):
        case "on":
            return f", semi-synchronous ({counted(receiver['acknowledgements'], 'acknowledgement')})"
        case "refused":
            return f", asynchronous ({receiver['semi_sync_refusal']})"
    return ""


def _workers(run: Mapping[str, Any]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name, justify in (("worker", "right"), ("connection", "right"), ("state", "left"), ("applying", "left"), ("last applied", "left"),
                          ("transactions", "right"), ("retries", "right")):  # fmt: skip
        table.add_column(name, justify="right" if justify == "right" else "left", no_wrap=True)
    for worker in run["workers"]:
        table.add_row(
            str(worker["worker_id"]), str(worker["connection_id"]), worker["state"], _short(worker["applying_transaction"]),
            _short(worker["last_applied_transaction"]), f"{worker['transactions']:,}", f"{worker['retries']:,}",
        )  # fmt: skip
    return table


def _short(gtid: str) -> str:
    """Return a GTID shortened for a table: only the beginning of a UUID."""
    uuid, colon, number = gtid.partition(":")
    return f"{uuid[:8]}..:{number}" if colon else gtid


def _age(sign: LastSign) -> str:
    return f"{sign.age:.0f} s" if sign.age < 600 else f"{sign.age / 60:.0f} min" if sign.age < 36_000 else f"{sign.age / 3600:.0f} h"


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... (in full with --json)"


status.__doc__ = (status.__doc__ or "") + "\n" + EXAMPLES
