"""The report of ``analyze`` in HTML: what it holds, what it hides, and what it refuses."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from command_line import paraply
from required import required_module
from unit.analyze.made_log import MadeLog
from unit.analyze.planted import HOT, MARKUP_TABLE, MARKUP_VALUE, TRANSACTIONS, hot_row, text_keys

from paraply.analysis.analyze import AnalyzeOptions
from paraply.analysis.report import analyze_with_report
from paraply.analysis.report.lanes import Scheduler, sweep
from paraply.analysis.report.series import bounds_of
from paraply.errors import UsageError

required_module("jinja2")
required_module("vl_convert")

MOST_BYTES = 3_000_000
PANELS = ["speed", "lost", "keys", "parallelism", "path", "schedule", "schemes", "load", "model"]


class Reader(HTMLParser):
    """Elements and texts of a page, as a browser reads them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self._open = ""
        self.scripts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._open = tag

    def handle_data(self, data: str) -> None:
        if self._open == "script":
            self.scripts.append(data)
        elif data.strip():
            self.texts.append(data.strip())

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def of(self, tag: str) -> list[dict[str, str | None]]:
        """Return the attributes of all elements of a kind."""
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def data(self) -> Any:
        """Data of the charts."""
        return json.loads(self.scripts[0])


def report_of(logs: list[str], path: Path, **options: Any) -> str:
    """Return the text of a report."""
    analyze_with_report(path, logs, AnalyzeOptions(workers=(1, 4, 16), replica_workers=4, **options))
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def hot(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the files of a log with a hot row."""
    return hot_row(tmp_path_factory.mktemp("hot") / "log")


def test_the_report_has_every_panel_a_table_behind_each_and_no_address(hot: list[str], tmp_path: Path) -> None:
    text = report_of(hot, tmp_path / "report.html")
    page = Reader(text)
    assert len(text.encode()) < MOST_BYTES
    assert [section["id"] for section in page.of("section")] == PANELS
    assert len(page.of("table")) >= len(PANELS) - 1
    assert [link for link in page.of("a") if not str(link["href"]).startswith("#")] == []
    assert [script for script in page.of("script") if "src" in script] == []
    assert [link["href"] for link in page.of("link")] == ["data:,"]
    assert "url(" not in text.partition("<style>")[2].partition("</style>")[0]
    policy = next(str(meta["content"]) for meta in page.of("meta") if meta.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none';")
    assert f"d.item PRIMARY ({HOT})" in {row["name"] for row in page.data["charts"]["path-keys"]["data"]["values"]}


def test_the_schedule_has_every_transaction_of_a_small_log(hot: list[str], tmp_path: Path) -> None:
    schedules = Reader(report_of(hot, tmp_path / "report.html")).data["schedules"]
    own = schedules["each"][0]
    worker, start, applying, waiting, committing, first, count = own["slots"]
    assert (len(start), sum(count), set(first)) == (TRANSACTIONS + 1, TRANSACTIONS + 1, set(range(TRANSACTIONS + 1)))
    assert max(worker) < own["workers"] == len(own["cells"]) == 4
    assert own["exact_until"] == own["total"] == pytest.approx(start[-1] + applying[-1] + waiting[-1] + committing[-1], abs=2)
    assert len(schedules["transactions"]["columns"][0]) == TRANSACTIONS + 1


def test_shares_of_time_add_up_to_the_time_that_workers_are_busy(hot: list[str]) -> None:
    from paraply.analysis.analyze.names import KeyNames
    from paraply.analysis.analyze.run import record

    options = AnalyzeOptions()
    recording, costs = record(hot, options, KeyNames(), None).recording, options.costs
    scheduler = Scheduler("mysql", "fine", 4)
    found = sweep(recording, costs, scheduler, bounds_of(len(recording)), 0)
    outcome = recording.simulate(scheduler.setup(costs.native()))
    busy = sum(sum(lane[0]) + sum(lane[2]) for lane in found.cells)
    assert busy == pytest.approx(outcome.busy_ns)
    assert found.ends[-1] == outcome.total_ns
    along = found.busy_workers()
    times = [0, *found.ends]
    weighted = sum(number * (times[place + 1] - times[place]) for place, number in enumerate(along))
    assert weighted == pytest.approx(outcome.busy_ns, rel=1e-6)
    assert all(0 <= number <= 4 for number in along)


def test_names_of_tables_and_values_of_keys_are_no_markup(tmp_path: Path) -> None:
    text = report_of(text_keys(tmp_path / "log", MARKUP_TABLE, MARKUP_VALUE), tmp_path / "report.html")
    page = Reader(text)
    assert len(page.of("script")) == 3
    assert page.of("img") == []
    assert MARKUP_VALUE not in text
    assert f"d.{MARKUP_TABLE}" in page.texts
    assert MARKUP_VALUE in page.texts
    assert any(MARKUP_VALUE in row["name"] for row in page.data["charts"]["hot-keys"]["data"]["values"])


def test_hidden_values_are_nowhere_in_the_report(tmp_path: Path) -> None:
    logs = text_keys(tmp_path / "log", "account", "somebody@example.com")
    open_text = report_of(logs, tmp_path / "open.html")
    hidden = [report_of(logs, tmp_path / f"{name}.html", hide_values=True) for name in ("one", "other")]
    assert "somebody" in open_text
    assert [text for text in hidden if "somebody" in text.lower() or "example.com" in text] == []
    hashes = [set(re.findall(r"account</bdi>.*?(#[0-9a-f]{12})", text)) for text in hidden]
    assert [len(found) for found in hashes] == [1, 1]
    assert hashes[0] != hashes[1]
    assert "random key" in hidden[0]


def test_a_log_without_transactions_has_a_report(tmp_path: Path) -> None:
    page = Reader(report_of(MadeLog(tmp_path / "log").close(), tmp_path / "report.html"))
    assert "The log has no transactions." in page.texts
    assert "parallelism-over-time" not in page.data["charts"]


def test_the_command_replaces_a_report_and_no_other_file(hot: list[str], tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    analyze_with_report(report, hot, AnalyzeOptions(workers=(1,)))
    older = report.read_bytes()
    done = paraply("analyze", *hot, "--workers", "1,4", "--html", report)
    assert done.returncode == 0, done.stderr
    assert f"report: {report}" in done.stdout
    assert report.read_bytes() != older
    other = tmp_path / "other.html"
    other.write_text("mine", encoding="utf-8")
    refused = paraply("analyze", *hot, "--html", other)
    assert (refused.returncode, other.read_text(encoding="utf-8")) == (2, "mine")
    assert "is no report of paraply" in refused.stderr


def test_a_report_that_cannot_be_written_is_refused_before_the_log_is_read(hot: list[str], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="its folder does not exist"):
        analyze_with_report(tmp_path / "none" / "report.html", hot, on_progress=lambda *_: pytest.fail("read"))
