from __future__ import annotations

import socket
import threading
import time
from pathlib import Path

import pytest

from paraply.bench import server
from paraply.bench.cpu_ticks import CpuTicks
from paraply.bench.delay import delayed
from paraply.bench.scale import ScaleResult
from paraply.cli.bench.scale import ScaleOptions, folders, scale_results
from paraply.errors import UsageError


def answer_once(listener: socket.socket) -> None:
    end, _ = listener.accept()
    with end:
        while data := end.recv(100):
            end.sendall(data.upper())


def test_the_proxy_holds_requests_back_and_passes_everything_on():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=answer_once, args=(listener,), daemon=True).start()
        with delayed("127.0.0.1", listener.getsockname()[1], 20.0) as port, socket.create_connection(("127.0.0.1", port)) as client:
            for text in (b"one", b"two"):
                asked = time.perf_counter()
                client.sendall(text)
                assert client.recv(100) == text.upper()
                assert time.perf_counter() - asked >= 0.02


def test_a_package_without_the_proxy_states_how_to_get_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delattr("paraply._native.DelayingProxy")
    with pytest.raises(UsageError, match="checkout after `make build`"), delayed("127.0.0.1", 1, 1.0):
        pass


def test_the_speed_up_is_to_the_fewest_workers():
    result = ScaleResult(
        workers=8, seconds=2.0, transactions=100, round_trip=1.2, busy=0.5, plain=1.6, base=12.0, base_workers=1, plain_base=11.52
    )
    assert result.speed_up == 6.0
    assert result.of_linear == 0.75
    assert result.plain_of_linear == pytest.approx(0.9)
    assert result.as_json()["per_second"] == 50


def asked(to: str | None = None, **more: object) -> ScaleOptions:
    return ScaleOptions(to, reset=False, delay=1.0, transactions=10, rounds=1, decode=None, **more)


@pytest.mark.parametrize("workers", [[], [0, 8]])
def test_a_speed_up_is_of_workers(workers: list[int]):
    with pytest.raises(UsageError, match="from 1 on"):
        scale_results(asked(workers=workers), quiet=True)


def test_the_data_is_on_disk_and_in_memory_if_there_is_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(server, "MEMORY", tmp_path)
    monkeypatch.setattr(server, "MEMORY_NEEDED", 1)
    assert list(folders(asked(), quiet=True)) == [("disk", None), ("memory", tmp_path)]
    assert list(folders(asked(storage="memory"), quiet=True)) == [("memory", tmp_path)]
    monkeypatch.setattr(server, "MEMORY_NEEDED", 2**60)
    assert list(folders(asked(), quiet=True)) == [("disk", None)]
    with pytest.raises(UsageError, match=r"has \d+ MB free"):
        list(folders(asked(storage="disk,memory"), quiet=True))
    monkeypatch.setattr(server, "MEMORY", tmp_path / "none")
    with pytest.raises(UsageError, match="has no"):
        list(folders(asked(storage="memory"), quiet=True))


def test_a_storage_is_that_of_the_benchs_own_server():
    assert list(folders(asked("mysql://u@h"), quiet=True)) == [("own", None)]
    with pytest.raises(UsageError, match="leave it out with --to"):
        list(folders(asked("mysql://u@h", storage="disk"), quiet=True))
    with pytest.raises(UsageError, match="not 'tape'"):
        list(folders(asked(storage="tape"), quiet=True))


def write(stat: Path, *, idle: int, busy: int) -> None:
    new = stat.with_name("new")
    new.write_text(f"cpu {busy} 0 0 {idle} 0 0 0 0 0 0\n")
    new.replace(stat)


def test_only_the_last_part_of_the_time_counts_for_how_busy_the_machine_was(tmp_path: Path):
    file = tmp_path / "stat"
    write(file, idle=1000, busy=0)
    with CpuTicks(file) as ticks:
        time.sleep(0.5)
        write(file, idle=1900, busy=100)
        time.sleep(0.5)
        write(file, idle=1920, busy=180)
    assert ticks.busy(0.2) == 0.8
    assert ticks.busy(10.0) == pytest.approx(180 / 1100)


def test_a_system_that_does_not_tell_counts_as_idle(tmp_path: Path):
    with CpuTicks(tmp_path / "stat") as ticks:
        pass
    assert ticks.busy(1.0) == 0.0
