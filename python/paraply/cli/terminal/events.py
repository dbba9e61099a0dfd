"""Events of a run as lines on standard error: for people with the time and the level, or as JSON."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from paraply.cli.terminal import output
from paraply.wording import counted

if TYPE_CHECKING:
    from paraply.observe.counters import Counters

__all__ = ["FORMATS", "PROGRESS_SECONDS", "EventHandler", "ProgressEvents", "begin_events", "event_line", "write_event"]

FORMATS = ("text", "json")

PROGRESS_SECONDS = 10.0
"""Seconds between two lines of progress."""
IDLE_SECONDS = 600.0
"""Seconds between two lines of progress while nothing is applied."""

_COUNTED = ("transactions", "commits", "skipped", "rows", "rate", "lag", "seconds_left", "retries", "reconnects", "queue")


class EventHandler(logging.Handler):
    """Handler that writes each record of paraply's loggers as an event.

    A record may name its event: ``extra={"event": "connected"}``. ``extra={"fields": ...}`` has further fields for JSON.
    """

    def __init__(self, form: str, level: int) -> None:
        super().__init__(level)
        self.form = form

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        name = getattr(record, "event", None) or ("warning" if record.levelno >= logging.WARNING else "note")
        self.write(record.created, record.levelname.lower(), name, record.getMessage(), getattr(record, "fields", {}))

    def write(self, at: float, level: str, event: str, text: str, fields: Mapping[str, Any] | None = None) -> None:
        """Write one event."""
        output.stderr.print(escape(event_line(self.form, at, level, event, text, fields or {})), soft_wrap=True)


def event_line(form: str, at: float, level: str, event: str, text: str, fields: Mapping[str, Any]) -> str:
    """Return the line of an event, without passwords.

    >>> event_line("text", 0.0, "info", "connected", "connected to the source", {})
    '1970-01-01T00:00:00.000Z info connected to the source'
    >>> event_line("json", 0.0, "info", "connected", "connected to the source", {"connections": 1})
    '{"at": "1970-01-01T00:00:00.000Z", "level": "info", "event": "connected", "text": "connected to the source", "connections": 1}'
    """
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + f".{int(at % 1 * 1000):03}Z"
    plain = output.one_line(text)
    if form == "json":
        return json.dumps({"at": moment, "level": level, "event": event, "text": plain, **fields})
    return f"{moment} {level} {plain}"


_handler: EventHandler | None = None


def begin_events(form: str | None, *, quiet: bool) -> None:
    """Write events of paraply's loggers from now on; the whole process has one form.

    Args:
        form: ``text`` or ``json``; None for text, without time and level in the command's last line.
        quiet: Write warnings only, if no form was asked for.
    """
    global _handler
    logger = logging.getLogger("paraply")
    if _handler is not None:
        logger.removeHandler(_handler)
    level = logging.WARNING if quiet and form is None else logging.INFO
    _handler = EventHandler(form or "text", level)
    logger.addHandler(_handler)
    logger.setLevel(level)
    output.write_event = write_event if form is not None else None
    output.as_lines, output.as_objects = form is not None, form == "json"


def write_event(level: str, event: str, text: str, fields: Mapping[str, Any] | None = None) -> None:
    """Write an event, whatever its level is. In the form ``text``, one with fields begins with its name, unless that is its level.

    Args:
        level: Its level.
        event: Its name.
        text: What happened.
        fields: Further fields for JSON.
    """
    if _handler is None:
        return
    named = text if _handler.form == "json" or fields is None or event == level else f"{event}: {text}"
    _handler.write(time.time(), level, event, named, fields)


class ProgressEvents:
    """Progress of an apply as an event every ten seconds, and rarely while nothing is applied."""

    def __init__(self) -> None:
        self._log = logging.getLogger("paraply.progress")
        self._at = time.monotonic()
        self._transactions = 0

    def update(self, counters: Counters) -> None:
        """Write an event, if it is time."""
        waited = time.monotonic() - self._at
        if waited < (PROGRESS_SECONDS if counters.transactions != self._transactions else IDLE_SECONDS):
            return
        self._at, self._transactions = time.monotonic(), counters.transactions
        fields = {name: rounded(getattr(counters, name)) for name in _COUNTED} | {"lag": rounded(waiting_lag(counters))}
        self._log.info("%s", progress_text(counters), extra={"event": "progress", "fields": fields})

    def complete(self) -> None:
        """Do nothing: the report of the run follows."""


def rounded(value: Any) -> Any:
    """Return a number with at most three decimals.

    >>> rounded(1.23456), rounded(7), rounded(None)
    (1.235, 7, None)
    """
    return round(value, 3) if isinstance(value, float) else value


def waiting_lag(counters: Counters) -> float | None:
    """Return the lag in seconds; None while nothing waits to be applied, since the last transaction's age says nothing then.

    >>> from paraply.observe.counters import Counters
    >>> waiting_lag(Counters(lag=3.0)), waiting_lag(Counters(lag=3.0, queue=2))
    (None, 3.0)
    """
    return counters.lag if counters.backlog or counters.queue or counters.running or counters.waiting_turn else None


def progress_text(counters: Counters) -> str:
    """Return the progress in words.

    >>> from paraply.observe.counters import Counters
    >>> progress_text(Counters(transactions=1200, rate=600.0, bytes_done=5, bytes_total=10, lag=3.0, queue=2))
    '1,200 transactions, 600/s, 50 % of the logs, lag 3 s'
    """
    share = f", {100 * counters.bytes_done / counters.bytes_total:.0f} % of the logs" if counters.bytes_total else ""
    behind = waiting_lag(counters)
    lag = f", lag {behind:,.0f} s" if behind is not None else ""
    retries = f", {counted(counters.retries, 'retry', 'retries')}" if counters.retries else ""
    return f"{counted(counters.transactions, 'transaction')}, {counters.rate:,.0f}/s{share}{lag}{retries}"
