"""Metrics: text that Prometheus reads, on a port that ends with the run."""

from __future__ import annotations

import gzip
import json
import re
import socket
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from unit.observe.busy_run import BUSY, IDENTITY

from paraply.errors import UsageError
from paraply.observe.counters import Counters
from paraply.observe.metrics import render_metrics
from paraply.observe.metrics_server import MetricsServer, parse_address
from paraply.observe.status_json import RunIdentity

SAMPLE = re.compile(r'(?P<name>[a-z_]+)(?:\{(?P<labels>(?:[a-z_]+="(?:[^"\\\n]|\\.)*",?)+)\})? (?P<value>-?[0-9.e+]+)')


RECEIVER: Mapping[str, Any] = {
    "connected": False, "connections": 3, "received_transactions": 40, "received_bytes": 4000, "heard_seconds_ago": 1.5,
    "lag_transactions": 7,
}  # fmt: skip


class Run:
    def counters(self) -> Counters:
        return BUSY

    def identity(self) -> RunIdentity:
        return IDENTITY

    def paused(self) -> str:
        return "pausing"


def samples(text: str) -> dict[str, float]:
    """The figures by name and labels; checks the format line by line."""
    found: dict[str, float] = {}
    described: dict[str, str] = {}
    current = ""
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("# HELP "):
            current = line.split(" ", 3)[2]
            assert current not in described, "each name once"
            assert line.split(" ", 3)[3]
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name == current
            assert kind in ("gauge", "counter")
            described[name] = kind
        else:
            match = SAMPLE.fullmatch(line)
            assert match is not None, line
            assert match["name"] == current, line
            key = line.rpartition(" ")[0]
            assert key not in found
            found[key] = float(match["value"])
    for name, kind in described.items():
        assert (kind == "counter") == name.endswith("_total"), name
    return found


def test_the_text_is_what_prometheus_reads() -> None:
    found = samples(render_metrics(BUSY, IDENTITY))
    assert found["paraply_transactions_committed_total"] == 800
    assert found["paraply_transactions_per_second"] == 320.123457
    assert found['paraply_workers{state="running"}'] == 1
    assert found['paraply_worker_applying_transaction_retries_count{worker="1"}'] == 2
    assert found['paraply_worker_last_applied_transaction_original_commit_timestamp_seconds{worker="2"}'] == 1_700_000_000.5
    assert 'paraply_worker_last_applied_transaction_original_commit_timestamp_seconds{worker="1"}' not in found
    assert found["paraply_lag_seconds"] == 12.5


def test_a_run_that_has_not_begun_has_metrics_too() -> None:
    assert samples(render_metrics(Counters()))["paraply_transactions_committed_total"] == 0


def test_labels_are_escaped() -> None:
    assert r'channel="odd \"name\"\\\n"' in render_metrics(BUSY, IDENTITY)


def test_names_have_units() -> None:
    for key in samples(render_metrics(BUSY)):
        name = key.partition("{")[0]
        assert not re.search(r"_(ms|micros|minutes|kb|mb)(_|$)", name), name


def get(url: str) -> tuple[int, str, str]:
    with urllib.request.urlopen(url, timeout=5) as answer:
        return answer.status, answer.headers["Content-Type"], answer.read().decode()


def test_the_server_answers_on_loopback_until_it_is_closed() -> None:
    with MetricsServer(*parse_address("0"), Run()) as server:
        assert server.url.startswith("http://127.0.0.1:")
        code, kind, text = get(server.url)
        assert (code, kind) == (200, "text/plain; version=0.0.4; charset=utf-8")
        assert text == render_metrics(BUSY, IDENTITY)
        status: dict[str, Any] = json.loads(get(server.url.replace("/metrics", "/status"))[2])
        assert status["coordinator"]["last_processed_transaction"] == "u:2"
        assert status["paused"] == "pausing"
        with pytest.raises(urllib.error.HTTPError, match="404"):
            get(server.url.replace("/metrics", "/other"))
    with pytest.raises(urllib.error.URLError):
        get(server.url)


def test_the_format_is_the_one_that_is_asked_for() -> None:
    with MetricsServer(*parse_address("0"), Run()) as server:
        request = urllib.request.Request(
            server.url, headers={"Accept": "application/openmetrics-text; version=1.0.0", "Accept-Encoding": "gzip"}
        )
        with urllib.request.urlopen(request, timeout=5) as answer:
            assert answer.headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
            assert answer.headers["Content-Encoding"] == "gzip"
            text = gzip.decompress(answer.read()).decode()
        families = {family.name: family for family in text_string_to_metric_families(text)}
        assert families["paraply_transactions_committed"].type == "counter"
        assert families["paraply"].samples[0].labels["channel"] == IDENTITY.channel
        sampled = {(sample.name, *sorted(sample.labels.items())): sample.value for family in families.values() for sample in family.samples}
        assert len(sampled) == len(samples(render_metrics(BUSY, IDENTITY)))
        assert sampled["paraply_lag_seconds",] == 12.5


def test_one_metric_can_be_asked_for() -> None:
    with MetricsServer(*parse_address("0"), Run()) as server:
        assert samples(get(f"{server.url}?name[]=paraply_lag_seconds")[2]) == {"paraply_lag_seconds": 12.5}


def test_a_client_that_says_nothing_does_not_keep_the_run() -> None:
    server = MetricsServer("127.0.0.1", 0, Run())
    port = int(server.url.rpartition(":")[2].partition("/")[0])
    with socket.create_connection(("127.0.0.1", port)):
        get(server.url)
        server.close()


def test_a_port_in_use_is_a_usage_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(UsageError, match=r"cannot listen on.*another port"):
        MetricsServer("127.0.0.1", taken.getsockname()[1], Run())


@pytest.mark.parametrize("text", ["", "x", "70000", "host:", "1:2:3", "-1", "9104:", "::1:9104"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(UsageError, match="--metrics"):
        parse_address(text)


def test_the_documentation_names_every_metric_and_no_other() -> None:
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "monitoring.md").read_text(encoding="utf-8")
    full = replace(BUSY, seconds_left=1.0, bytes_total=2, workers=(BUSY.workers[0], BUSY.workers[1]))
    shown = {key.partition("{")[0] for key in samples(render_metrics(full, IDENTITY, RECEIVER))}
    tables = "".join(line for line in page.splitlines() if re.match(r"\| `paraply_", line) and "rate(" not in line and "==" not in line)
    assert set(re.findall(r"`(paraply_[a-z_]+)`", tables)) == shown


def test_a_receiver_is_shown_with_its_lag() -> None:
    found = samples(render_metrics(BUSY, IDENTITY, RECEIVER))
    assert (found["paraply_source_connected"], found["paraply_lag_transactions"], found["paraply_transactions_received_total"]) == (
        0,
        7,
        40,
    )
    assert "paraply_lag_transactions" not in samples(render_metrics(BUSY, IDENTITY, {**RECEIVER, "lag_transactions": None}))
    assert "paraply_source_connected" not in samples(render_metrics(BUSY, IDENTITY))


@pytest.mark.parametrize(("pending", "lag"), [(0, 0.0), (7, 12.5), (None, 12.5)])
def test_an_idle_source_is_no_lag(pending: int | None, lag: float) -> None:
    assert samples(render_metrics(BUSY, IDENTITY, {**RECEIVER, "lag_transactions": pending}))["paraply_lag_seconds"] == lag
