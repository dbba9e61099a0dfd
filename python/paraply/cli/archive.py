"""``paraply archive``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from paraply.cli.options import AsJson, Debug, DefaultsFile, Quiet
from paraply.cli.process.secrets import hide_arguments
from paraply.cli.process.signals import stops_on_signal
from paraply.cli.terminal import output
from paraply.wording import counted

if TYPE_CHECKING:
    from paraply.archive import Archiver, ArchiveReport

__all__ = ["archive"]

EXAMPLES = """
[bold]Examples[/bold]

  paraply archive --from mysql://repl@db1.example.org --into /backup/db1

  paraply archive --from mariadb://repl@db1.example.org --into s3://backup/db1

  paraply archive --from mysql://repl@db1.example.org --into /backup/db1 --once

  paraply apply /backup/db1 --to mysql://root@127.0.0.1 --stop-at 2026-03-01T14:07:00Z

Passwords need not be part of the URL: PARAPLY_PASSWORD, ~/.my.cnf or --defaults-file.
Ctrl-C stops; the same command continues from there.
"""


def archive(
    source: Annotated[str, typer.Option("--from", metavar="URL", help="The source: mysql:// or mariadb://.")],
    into: Annotated[str, typer.Option("--into", metavar="DIR|URL", help="The archive: a folder, or an s3://, gs:// or az:// URL.")],
    defaults_file: DefaultsFile = None,
    compression: Annotated[
        str | None, typer.Option(metavar="zstd|gzip|xz|none", help="Compression of a new archive. Default: zstd.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="End at the source's present end, in place of copying until Ctrl-C.")] = False,
    flush_seconds: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.1, help="Longest time that a received transaction waits before it is stored.")
    ] = 5.0,
    source_timeout: Annotated[
        float,
        typer.Option(metavar="SECONDS", min=3.0, help="Reconnect to a source that has sent nothing for so long, not even a heartbeat."),
    ] = 30.0,
    quiet: Quiet = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Copy a live source's binlogs, byte for byte, into a folder or a cloud storage, without gaps."""
    hide_arguments()
    archiver: Archiver | None = None

    def body() -> tuple[int, Mapping[str, Any]]:
        from paraply.archive import Archiver

        nonlocal archiver
        with archive_line(quiet=quiet or as_json) as show:
            archiver = Archiver(
                source,
                into,
                compression=compression,
                once=once,
                flush_seconds=flush_seconds,
                source_timeout=source_timeout,
                defaults_file=str(defaults_file) if defaults_file is not None else None,
                on_event=lambda text: None if quiet else output.stderr.print(escape(output.one_line(text)), soft_wrap=True),
                on_progress=show,
            )
            with stops_on_signal(archiver.stop, "stopping ..."):
                report = archiver.run()
        if not as_json:
            output.console.print(escape(words(report)), soft_wrap=True)
        return 0, report_json(report)

    def so_far() -> Mapping[str, Any]:
        if archiver is None:
            return {}
        if not as_json and archiver.report.bytes:
            output.console.print(escape(words(archiver.report)), soft_wrap=True)
        return report_json(archiver.report)

    output.run("archive", body, as_json=as_json, debug=debug, so_far=so_far)


@contextmanager
def archive_line(*, quiet: bool) -> Iterator[Callable[[ArchiveReport], None]]:
    """Show the progress on a terminal during a ``with`` block."""
    if quiet or not output.stderr.is_terminal:
        yield lambda _report: None
        return
    with output.stderr.status("archive") as line:
        yield lambda report: line.update(escape(words(report)))


def words(report: ArchiveReport) -> str:
    """Return a report for people.

    >>> from paraply.archive import ArchiveReport
    >>> words(ArchiveReport("/backup/db1", "mysql://db1", 2, "binlog.000008", 4711, transactions=9, bytes=4700, stored_bytes=900))
    '/backup/db1: 2 files up to binlog.000008:4711; 9 transactions added, 4,700 bytes in 900'
    """
    if not report.file:
        return f"{report.archive}: nothing yet"
    return (
        f"{report.archive}: {counted(report.files, 'file')} up to {report.file}:{report.position};"
        f" {counted(report.transactions, 'transaction')} added, {counted(report.bytes, 'byte')} in {report.stored_bytes:,}"
    )


def report_json(report: ArchiveReport) -> Mapping[str, Any]:
    """Return a report as fields of the JSON object."""
    from paraply.logs.stop_point import moment_text

    return {
        "archive": report.archive,
        "source": report.source,
        "files": report.files,
        "file": report.file or None,
        "position": report.position,
        "executed": report.executed,
        "last_commit": None if report.last_commit is None else moment_text(report.last_commit),
        "transactions": report.transactions,
        "bytes": report.bytes,
        "stored_bytes": report.stored_bytes,
    }


archive.__doc__ = (archive.__doc__ or "") + "\n" + EXAMPLES
