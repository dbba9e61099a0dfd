"""``paraply replicate --no-apply``, and the options that name places and hosts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paraply.cli.apply import NOTHING_DONE
from paraply.cli.process.signals import stops_on_signal
from paraply.cli.terminal import output
from paraply.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from paraply.replication import Reception

__all__ = ["ReceptionSettings", "parse_place", "parse_report_host", "receive"]

LONGEST_HOST = 60
"""Most characters of a host name that every server accepts."""
LARGEST_PORT = 65535
_REPORT_HOST = re.compile(r"(?:\[([0-9A-Za-z:.%]+)\]|([^:\[\]\s]+))(?::(\d{1,5}))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class ReceptionSettings:
    """Options of ``paraply replicate`` that concern the receiver, as they were given."""

    relay_log: Path
    relay_log_size: int
    start_after: str | None
    start_at: str | None
    server_id: int | None
    semi_sync: bool
    source_timeout: float
    report_host: str | None


def receive(
    source: str, settings: ReceptionSettings, unused: Mapping[str, object], *, defaults_file: Path | None, as_json: bool, debug: bool
) -> None:
    """Run ``paraply replicate --no-apply``, and exit with its exit code.

    Args:
        source: The source's URL.
        settings: Options of the receiver.
        unused: Options that need an apply; none of them may be given.
        defaults_file: Option file for values missing in the URL.
        as_json: Print one JSON object on stdout.
        debug: Show the traceback of any error.
    """
    reception: Reception | None = None

    def body() -> tuple[int, Mapping[str, Any]]:
        from paraply.replication import Reception, ReceptionOptions, parse_source

        nonlocal reception
        for name, value in unused.items():
            if value is not None:
                raise UsageError(f"{name} needs an apply: leave it out, or --no-apply")
        options = ReceptionOptions(
            relay_folder=settings.relay_log,
            start_after=settings.start_after,
            start_at=parse_place(settings.start_at) if settings.start_at is not None else None,
            server_id=settings.server_id,
            relay_file_bytes=settings.relay_log_size,
            semi_sync=settings.semi_sync,
            source_timeout=settings.source_timeout,
            report=parse_report_host(settings.report_host) if settings.report_host is not None else ("", 0),
        )
        reception = Reception(
            parse_source(source, defaults_file=str(defaults_file) if defaults_file is not None else None),
            options,
        )
        with stops_on_signal(reception.stop):
            reception.run()
        return 0, so_far()

    def so_far() -> Mapping[str, Any]:
        return {**NOTHING_DONE, "receiver": reception.received() if reception is not None else None}

    output.run("replicate", body, as_json=as_json, debug=debug, so_far=so_far)


def parse_place(text: str) -> tuple[str, int]:
    """Return file and position of ``--start-at``.

    Raises:
        UsageError: The text is not a file and a position.

    >>> parse_place("binlog.000041:157")
    ('binlog.000041', 157)
    """
    file, colon, position = text.rpartition(":")
    if not colon or not file or not position.isdecimal() or int(position) < 4:
        raise UsageError(f"--start-at {text}: give FILE:POSITION, such as binlog.000041:157; a log's first event is at 4")
    return file, int(position)


def parse_report_host(text: str) -> tuple[str, int]:
    """Return host and port of ``--report-host``; port 0 if there is none.

    Raises:
        UsageError: The text is not a host with or without a port.

    >>> parse_report_host("db2.example.org:3306")
    ('db2.example.org', 3306)
    >>> parse_report_host("[2001:db8::2]"), parse_report_host("db2")
    (('2001:db8::2', 0), ('db2', 0))
    """
    matched = _REPORT_HOST.fullmatch(text)
    host, port = (matched[1] or matched[2], int(matched[3] or 0)) if matched is not None else ("", 0)
    if not host or len(host) > LONGEST_HOST or port > LARGEST_PORT:
        raise UsageError(
            f"--report-host {text}: give HOST or HOST:PORT, such as db2.example.org:3306; a host has at most {LONGEST_HOST} characters"
        )
    return host, port
