"""``paraply pause``, ``paraply resume`` and ``paraply forget``."""

from __future__ import annotations

import getpass
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from paraply.cli.options import AsJson, Channel, Debug, DefaultsFile, TargetUrl
from paraply.cli.terminal import output
from paraply.errors import AlreadyRunning, ChannelTrouble, Stopped, UsageError

if TYPE_CHECKING:
    from paraply.targets.channel_status import ChannelStatus
    from paraply.targets.protocol import ChannelControl, Target

__all__ = ["forget", "pause", "resume"]

PAUSE_EXAMPLES = """
[bold]Examples[/bold]

  paraply pause --to mysql://app@db.example.org

  paraply pause --to postgresql://app@db.example.org/copy --channel shop --json

Source and relay log are received meanwhile. paraply resume ends the pause; a restart does not.
"""
RESUME_EXAMPLES = """
[bold]Examples[/bold]

  paraply resume --to mysql://app@db.example.org

  paraply resume --to postgresql://app@db.example.org/copy --channel shop
"""
FORGET_EXAMPLES = """
[bold]Examples[/bold]

  paraply forget --to mysql://app@db.example.org --channel old

  paraply forget --to postgresql://app@db.example.org/copy --channel old --yes --json

Rows and GTIDs of the target stay as they are.
"""

_LOOK_SECONDS = 0.25

Timeout = Annotated[
    float, typer.Option("--timeout", metavar="SECONDS", min=0, help="Seconds to wait until the transactions in progress are committed.")
]


def pause(
    to: TargetUrl = None,
    defaults_file: DefaultsFile = None,
    channel: Channel = "default",
    timeout: Timeout = 30.0,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Let a running apply or replicate commit what it has begun, and apply nothing more until it is resumed."""

    def body() -> tuple[int, Mapping[str, Any]]:
        with opened(to, defaults_file) as (target, control):
            found = channel_of(target, channel)
            if found.state != "running":
                raise ChannelTrouble(f"no apply or replicate of channel {channel} runs on this target ({found.state}); nothing is paused")
            control.pause(channel, f"{getpass.getuser()}@{socket.gethostname()}")
            found = await_pause(target, control, channel, timeout)
        if not as_json:
            report(f"channel {channel} is paused{after(found)}; paraply resume ends the pause")
        return 0, fields_of(found)

    output.run("pause", body, as_json=as_json, debug=debug)


def resume(
    to: TargetUrl = None,
    defaults_file: DefaultsFile = None,
    channel: Channel = "default",
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """End a pause."""

    def body() -> tuple[int, Mapping[str, Any]]:
        with opened(to, defaults_file) as (target, control):
            found = channel_of(target, channel)
            was_paused = control.resume(channel)
        runs = found.state == "running"
        if not as_json:
            rest = "" if runs else "; nothing runs there now, the next start applies again"
            report(f"channel {channel} is resumed{rest}" if was_paused else f"channel {channel} was not paused")
        return 0, {"channel": channel, "was_paused": was_paused, "running": runs}

    output.run("resume", body, as_json=as_json, debug=debug)


def forget(
    to: TargetUrl = None,
    defaults_file: DefaultsFile = None,
    channel: Channel = "default",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask; needed where there is no terminal.")] = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Remove a channel's progress from the target. The next apply of this name begins anew."""

    def body() -> tuple[int, Mapping[str, Any]]:
        with opened(to, defaults_file) as (target, control):
            found = channel_of(target, channel)
            check_ended(found)
            if not yes:
                ask(found, as_json=as_json)
                check_ended(channel_of(target, channel))
            control.forget(channel)
        if not as_json:
            report(f"channel {channel} is forgotten{after(found)}")
        return 0, {"channel": channel, "executed": found.executed, "file": found.file, "position": found.position}

    output.run("forget", body, as_json=as_json, debug=debug)


@contextmanager
def opened(to: str | None, defaults_file: Path | None) -> Iterator[tuple[Target, ChannelControl]]:
    """Open a target that exists, and its control connection, during the ``with`` block.

    Raises:
        UsageError: The target has no channel.
    """
    from paraply.targets import open_target

    with open_target(to, defaults_file=defaults_file) as target:
        if not target.read_channels():
            raise UsageError("no apply has kept its progress in this target")
        with closing(target.open_control()) as control:
            yield target, control


def channel_of(target: Target, name: str) -> ChannelStatus:
    """Return the state of a channel.

    Raises:
        UsageError: The target has no channel of this name.
    """
    channels = {found.name: found for found in target.read_channels()}
    if name not in channels:
        raise UsageError(f"the target has no channel {name!r}; its channels are {', '.join(channels)}")
    return channels[name]


def await_pause(target: Target, control: ChannelControl, name: str, seconds: float) -> ChannelStatus:
    """Return the state of the channel once its run reports that everything it has begun is committed.

    The pause is taken back if the run came to its end meanwhile. It stays if the run was killed, because a service starts again.

    Raises:
        ChannelTrouble: The run has ended, cannot be paused, or has not come that far in time.
    """
    end = time.monotonic() + seconds
    while True:
        found = channel_of(target, name)
        run = found.sign.status if found.sign is not None and found.state == "running" else None
        if found.state == "complete":
            control.resume(name)
            raise ChannelTrouble(f"the run of channel {name} has come to its end; nothing is paused")
        if run is None:
            raise ChannelTrouble(f"the run of channel {name} has ended ({found.state}); the pause is noted and holds its next start")
        if run.get("paused") == "paused":
            return found
        if time.monotonic() >= end:
            why = "its transactions in progress are not committed yet" if run.get("paused") else "its process does not answer"
            raise ChannelTrouble(f"the pause of channel {name} is noted, but {why} after {seconds:g} s; see paraply status")
        time.sleep(_LOOK_SECONDS)


def check_ended(channel: ChannelStatus) -> None:
    """Check that no run of the channel is active.

    Raises:
        AlreadyRunning: One is.
    """
    if channel.state == "running" and channel.sign is not None:
        run = channel.sign.status
        raise AlreadyRunning(f"process {run.get('pid')} on {run.get('host')} runs channel {channel.name}; end it before it is forgotten")


def ask(channel: ChannelStatus, *, as_json: bool) -> None:
    """Ask for a confirmation on the terminal.

    Raises:
        UsageError: There is no terminal.
        Stopped: The answer is no.
    """
    if as_json or not sys.stdin.isatty() or not output.stderr.is_terminal:
        raise UsageError(f"forgetting channel {channel.name} cannot be undone; add --yes")
    output.stderr.print(escape(f"channel {channel.name}: {channel.state}{after(channel)}"), soft_wrap=True)
    output.stderr.print("Its progress is lost: an apply of the same logs applies again what the target's own GTIDs do not hold.")
    try:
        agreed = typer.confirm("Forget it?", err=True)
    except typer.Abort:
        agreed = False
    if not agreed:
        raise Stopped("nothing was changed")


def after(channel: ChannelStatus) -> str:
    """Return the channel's progress, as the end of a sentence."""
    if channel.executed:
        return f" after {channel.executed}"
    return f" after {channel.file}:{channel.position}" if channel.file is not None else ""


def fields_of(channel: ChannelStatus) -> dict[str, Any]:
    """Return the JSON fields of a paused channel."""
    return {
        "channel": channel.name,
        "executed": channel.executed,
        "file": channel.file,
        "position": channel.position,
        **pause_json(channel),
    }


def pause_json(channel: ChannelStatus) -> dict[str, Any]:
    """Return the JSON field of a channel's pause."""
    return {"paused": None if channel.pause is None else {"by": channel.pause.by, "since": channel.pause.since}}


def report(text: str) -> None:
    """Print a line for people."""
    output.console.print(escape(text), soft_wrap=True)


pause.__doc__ = (pause.__doc__ or "") + "\n" + PAUSE_EXAMPLES
resume.__doc__ = (resume.__doc__ or "") + "\n" + RESUME_EXAMPLES
forget.__doc__ = (forget.__doc__ or "") + "\n" + FORGET_EXAMPLES
