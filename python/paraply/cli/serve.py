"""``paraply serve``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paraply.cli.options import AsJson, Debug, Quiet
from paraply.cli.process.signals import stops_on_signal
from paraply.cli.terminal import output
from paraply.cli.terminal.events import write_event
from paraply.errors import UsageError
from paraply.wording import counted

if TYPE_CHECKING:
    from paraply.replication.renumbering import RenumberOptions
    from paraply.replication.retention import Retention
    from paraply.replication.serving import Event, LogService

__all__ = ["serve"]

EXAMPLES = """
[bold]Examples[/bold]

  paraply serve /backup/binlogs --user repl --password-file repl.password

  paraply serve --relay-log /var/lib/paraply/relay --listen 10.0.0.5:3307 --user repl --password-file repl.password --tls-cert cert.pem \
--tls-key key.pem

  paraply serve /backup/binlogs --stamp --workers 8 --schema schema.sql --user repl --password-file repl.password

  paraply serve binlog.000041 binlog.000042 --listen 127.0.0.1:3307 --user repl --password-file repl.password

On the replica: CHANGE REPLICATION SOURCE TO SOURCE_HOST = '10.0.0.5', SOURCE_PORT = 3307, SOURCE_USER = 'repl',
SOURCE_PASSWORD = '...', SOURCE_AUTO_POSITION = 1, SOURCE_SSL = 1; START REPLICA;
Ctrl-C ends all connections; the replicas come again when the same command runs again.
"""

DEFAULT_PORT = 3307


def serve(
    logs: Annotated[
        list[Path] | None, typer.Argument(metavar="DIR|LOG...", help="A folder with binlogs, also one that grows, or the logs in order.")
    ] = None,
    relay_log: Annotated[
        Path | None,
        typer.Option("--relay-log", metavar="DIR", file_okay=False, exists=True, help="The relay log of paraply replicate --no-apply."),
    ] = None,
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Address to listen on; one that other machines reach needs TLS.")
    ] = f"127.0.0.1:{DEFAULT_PORT}",
    user: Annotated[str | None, typer.Option(metavar="NAME", help="The user as whom replicas log in.")] = None,
    password_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File with the user's password in its first line, which not everybody may read.")
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option(metavar="FILE", help="Certificate in PEM form; TLS is then required.")] = None,
    tls_key: Annotated[Path | None, typer.Option(metavar="FILE", help="The certificate's private key in PEM form.")] = None,
    without_tls: Annotated[
        bool, typer.Option("--without-tls", help="Let everybody on the network between this machine and the replicas read the log.")
    ] = False,
    server_id: Annotated[
        int | None, typer.Option(min=1, max=4294967295, help="Server id of this source, which no replica may have. Default: derived.")
    ] = None,
    keep_hours: Annotated[
        float | None, typer.Option(metavar="HOURS", min=0, help="With --relay-log: remove files that were written longer ago.")
    ] = None,
    keep_bytes: Annotated[
        int | None, typer.Option(metavar="BYTES", min=0, help="With --relay-log: remove the oldest files when all together are larger.")
    ] = None,
    keep_needed: Annotated[
        bool, typer.Option("--keep-needed", help="With --relay-log: remove what every replica has that has ever come.")
    ] = False,
    stamp: Annotated[
        bool,
        typer.Option(
            "--stamp", help="Send wider numbers than the log has, as [bold]paraply stamp[/bold] writes them: replicas apply more at once."
        ),
    ] = False,
    workers: Annotated[
        int | None, typer.Option(min=1, max=1024, help="With --stamp: the replicas' replica_parallel_workers; default: 1024.")
    ] = None,
    schema: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="With --stamp: a dump with the tables as they were at the start of the oldest log."),
    ] = None,
    status_seconds: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=0.1, help="Write a line about each replica at this interval.")
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Be a source for stock MySQL replicas: by GTIDs or file and position, several at once."""
    service: LogService | None = None

    def report(event: Event) -> None:
        if not quiet:
            write_event(level_of(event.kind), event.kind, f"{event.address} {event.text}".strip(), {"address": event.address})

    def body() -> tuple[int, Mapping[str, Any]]:
        from paraply.replication.serving import LogService, ServeOptions, read_password, served_logs

        nonlocal service
        if user is None or password_file is None:
            raise UsageError("give --user and --password-file: nobody reads the log without a password")
        folder, named = named_logs(logs or [], relay_log)
        retention = wanted_retention(relay_log, keep_hours, keep_bytes, received=keep_needed)
        tls = tls_files(tls_cert, tls_key)
        address = listen_address(listen, tls=tls is not None or without_tls)
        options = ServeOptions(
            folder=folder,
            logs=served_logs(folder, named),
            listen=address,
            user=user,
            password=read_password(password_file),
            tls=tls,
            server_id=server_id,
            retention=retention,
            renumber=wanted_numbers(relay_log, workers, schema, stamp=stamp),
        )
        service = LogService(options, on_event=report, on_status=show_status, status_seconds=status_seconds)
        with stops_on_signal(service.stop, "stopping ..."):
            service.run()
        return 0, service.status()

    def show_status(status: Mapping[str, Any]) -> None:
        for replica in status["replicas"]:
            write_event("info", "status", replica_text(replica), replica)

    def so_far() -> Mapping[str, Any]:
        return service.status() if service is not None else {}

    output.run("serve", body, as_json=as_json, debug=debug, so_far=so_far)


def replica_text(replica: Mapping[str, Any]) -> str:
    """Return the state of a replica in words."""
    state = "has everything" if replica["waiting"] else "is being sent"
    return f"{replica['address']} {state} up to {replica['file']}:{replica['position']}, {counted(replica['transactions'], 'transaction')}"


def level_of(kind: str) -> str:
    """Return the level of an event.

    >>> level_of("refused"), level_of("replica")
    ('warning', 'info')
    """
    return "warning" if kind in ("failed", "refused") else "info"


def named_logs(logs: list[Path], relay_log: Path | None) -> tuple[Path | None, list[Path]]:
    """Return the folder to serve, or None and the files.

    Raises:
        UsageError: Both were given, or neither, or a folder and files.
    """
    if relay_log is not None:
        if logs:
            raise UsageError("give --relay-log DIR, or logs, and not both")
        return relay_log, []
    if len(logs) == 1 and logs[0].is_dir():
        return logs[0], []
    if any(log.is_dir() for log in logs):
        raise UsageError("give one folder, or logs in order, and not both")
    return None, logs


def tls_files(certificate: Path | None, key: Path | None) -> tuple[Path, Path] | None:
    """Return the files of certificate and key; None for no TLS.

    Raises:
        UsageError: Only one of them was given.
    """
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise UsageError("--tls-cert and --tls-key go together")
    return certificate, key


def listen_address(text: str, *, tls: bool) -> tuple[str, int]:
    """Return host and port of ``--listen``.

    Raises:
        UsageError: The text is no address, or other machines reach it and there is no TLS.

    >>> listen_address("127.0.0.1:3307", tls=False), listen_address("[::1]", tls=False)
    (('127.0.0.1', 3307), ('::1', 3307))
    """
    from paraply.applier.via_replication.options import parse_listen

    host, port = parse_listen(text)
    if not port and not text.endswith(":0"):
        port = DEFAULT_PORT
    if not tls and host not in ("127.0.0.1", "::1", "localhost"):
        raise UsageError(
            f"--listen {host}: other machines reach this address, so that the network would see the log: give --tls-cert and --tls-key,"
            " or say with --without-tls that it may"
        )
    return host, port


def wanted_retention(folder: Path | None, hours: float | None, most: int | None, *, received: bool) -> Retention | None:
    """Return the rule for removing files of a relay log; None if nothing is removed.

    Raises:
        UsageError: A rule was given without a relay log: other folders are not paraply's.
    """
    if hours is None and most is None and not received:
        return None
    if folder is None:
        raise UsageError("--keep-hours, --keep-bytes and --keep-needed remove files, and need --relay-log: other logs are only read")
    from paraply.replication.retention import Retention

    return Retention(folder, hours * 3600 if hours is not None else None, most, received)


def wanted_numbers(folder: Path | None, workers: int | None, schema: Path | None, *, stamp: bool) -> RenumberOptions | None:
    """Return the options of new numbers; None to send the log's own.

    Raises:
        UsageError: An option of new numbers was given without ``--stamp``.
    """
    if not stamp:
        if workers is not None or schema is not None:
            raise UsageError("--workers and --schema are about new numbers, and need --stamp")
        return None
    from paraply.replication.renumbering import RenumberOptions

    return RenumberOptions(schema=schema, relay_log=folder, **({"workers": workers} if workers is not None else {}))


serve.__doc__ = (serve.__doc__ or "") + "\n" + EXAMPLES
