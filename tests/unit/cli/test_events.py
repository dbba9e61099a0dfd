"""``--log-format``: each line on stderr is an event with time and level, without colours, as text or as JSON."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from command_line import paraply

from paraply.cli.apply import show
from paraply.cli.terminal import events, output
from paraply.cli.terminal.events import ProgressEvents, begin_events
from paraply.cli.terminal.progress import apply_line
from paraply.errors import ApplyFailed, ConnectionFailed
from paraply.observe.counters import ApplyReport, Counters


@pytest.fixture(autouse=True)
def restored(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(output, "write_event", None)
    monkeypatch.setattr(output, "as_lines", False)
    monkeypatch.setattr(output, "as_objects", False)
    yield
    logger = logging.getLogger("paraply")
    logger.setLevel(logging.NOTSET)
    for handler in [one for one in logger.handlers if isinstance(one, events.EventHandler)]:
        logger.removeHandler(handler)


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().err.splitlines()


def test_an_event_is_an_object(capsys: pytest.CaptureFixture[str]) -> None:
    begin_events("json", quiet=True)
    logging.getLogger("paraply.replication").info("connected to mysql://app:secret@db", extra={"event": "connected"})
    output.notice("stopping", "stopping at a transaction boundary ...")
    output.show_failure(ConnectionFailed("the server [db] went away\nfor good"), debug=False)
    found = [json.loads(line) for line in lines(capsys)]
    assert [(one["level"], one["event"]) for one in found] == [("info", "connected"), ("info", "stopping"), ("error", "error")]
    assert found[0]["text"] == "connected to mysql://app:***@db"
    assert found[2]["text"] == "the server [db] went away for good"
    assert all(datetime.fromisoformat(one["at"]).tzinfo is not None for one in found)


def test_an_error_has_its_place_and_the_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    begin_events("json", quiet=True)
    output.show_failure(ApplyFailed("the row is not there", file="relay-bin.000001", position=325, gtid="0-1-7"), debug=False)
    output.show_end("error", "red", "no space left", OSError("no space left"))
    found = [json.loads(line) for line in lines(capsys)]
    assert [[one[name] for name in ("event", "gtid", "file", "position", "exit_code")] for one in found] == [
        ["error", "0-1-7", "relay-bin.000001", 325, 1],
        ["error", None, None, None, 1],
    ]


def test_an_event_is_a_line_with_time_and_level(capsys: pytest.CaptureFixture[str]) -> None:
    begin_events("text", quiet=False)
    logging.getLogger("paraply.replication").warning("the source was lost: %s", "gone")
    (line,) = lines(capsys)
    moment, level, text = line.split(" ", 2)
    assert datetime.fromisoformat(moment).tzinfo is not None
    assert (level, text) == ("warning", "the source was lost: gone")


@pytest.mark.parametrize(("form", "shown"), [(None, 1), ("text", 2)])
def test_a_quiet_command_writes_warnings_and_all_events_if_a_form_is_asked_for(
    form: str | None, shown: int, capsys: pytest.CaptureFixture[str]
) -> None:
    begin_events(form, quiet=True)
    logging.getLogger("paraply.replication").info("connected")
    logging.getLogger("paraply.replication").warning("lost")
    assert len(lines(capsys)) == shown


def test_progress_is_an_event_every_ten_seconds_while_something_is_committed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 0.0
    monkeypatch.setattr(events.time, "monotonic", lambda: now)
    begin_events("json", quiet=False)
    with apply_line() as line:
        assert isinstance(line, ProgressEvents)
        for now in (1.0, 9.0, 10.5, 11.0, 21.0, 31.0, 41.0):
            line.update(Counters(transactions=min(int(now), 21), rows=7, rate=1.23456))
    found = [json.loads(text) for text in lines(capsys)]
    assert [one["transactions"] for one in found] == [10, 21]
    assert (found[0]["event"], found[0]["rows"], found[0]["rate"]) == ("progress", 7, 1.235)


@pytest.mark.parametrize(("form", "objects"), [("json", True), ("text", False)])
def test_the_report_of_a_run_is_an_event_where_events_are_objects(form: str, objects: bool, capsys: pytest.CaptureFixture[str]) -> None:
    begin_events(form, quiet=True)
    show(ApplyReport(transactions=25, rows=27, commits=3, seconds=0.5, notes=["a note"]))
    printed = capsys.readouterr()
    if not objects:
        assert printed.out.startswith("25 transactions (27 rows) in 0.50 s")
        return
    event = json.loads(printed.err)
    assert printed.out == ""
    assert (event["level"], event["event"], event["transactions"], event["notes"]) == ("info", "report", 25, ["a note"])
    assert event["text"].startswith("25 transactions (27 rows) in 0.50 s")


def test_a_quiet_command_has_no_progress() -> None:
    with apply_line(quiet=True) as line:
        assert line is None


def test_the_command_writes_objects_only(tmp_path: Path) -> None:
    done = paraply("apply", "/no/such/log", "--log-format", "json", environment={"FORCE_COLOR": "1"})
    (line,) = done.stderr.splitlines()
    assert (done.returncode, json.loads(line)["level"]) == (2, "error")
    assert "\x1b" not in done.stderr
    done = paraply("apply", "/no/such/log", "--log-format", "text")
    assert done.stderr.split(" ", 2)[1:] == ["error", "there is no log file /no/such/log\n"]
    assert "give one of text, json" in paraply("apply", "/no/such/log", "--log-format", "xml").stderr
