"""Signals that stop a command."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from paraply.cli.process.signals import interrupted_by_signal, stops_on_signal

if TYPE_CHECKING:
    from collections.abc import Callable


def send(*numbers: signal.Signals) -> Callable[[], None]:
    def to_self() -> None:
        for number in numbers:
            os.kill(os.getpid(), number)

    return to_self


@pytest.mark.parametrize(
    ("numbers", "stops"),
    [
        ([signal.SIGHUP], 1),
        ([signal.SIGTERM], 1),
        ([signal.SIGINT, signal.SIGINT], 2),
        ([signal.SIGHUP, signal.SIGHUP], 1),
        ([signal.SIGTERM, signal.SIGHUP], 1),
        ([signal.SIGHUP, signal.SIGTERM], 2),
    ],
)
def test_each_signal_stops_and_a_second_hangup_does_not_press(numbers: list[signal.Signals], stops: int) -> None:
    called: list[None] = []
    with stops_on_signal(lambda: called.append(None)):
        send(*numbers)()
    assert len(called) == stops


def test_a_hangup_that_nohup_ignores_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        called: list[None] = []
        with stops_on_signal(lambda: called.append(None)):
            send(signal.SIGHUP)()
        assert not called
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_read_is_interrupted_by_each_of_them(number: signal.Signals) -> None:
    with pytest.raises(KeyboardInterrupt), interrupted_by_signal():
        send(number)()
