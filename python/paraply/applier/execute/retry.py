"""When to try again, and when to go slower (R24)."""

from __future__ import annotations

import random
import threading
from dataclasses import dataclass

__all__ = ["Patience", "RetryPolicy", "StormGuard"]


@dataclass(frozen=True, slots=True)
class Patience:
    """How long the oldest block may take, in seconds, before something is done.

    Attributes:
        shortest: Least time before the target is asked who blocks the oldest block.
        factor: That time in median apply times.
        longest: Most time before the target is asked, and between two questions about the same attempt.
        coarse: Time after which all younger ones give way although no blocker was told.
        coarse_factor: That time is at least so many median apply times.
        trusted: How much longer it is for a target that was able to tell a blocker before.
        foreign: Time after which a blocker that is not ours is reported.
    """

    shortest: float = 0.005
    factor: float = 4.0
    longest: float = 0.25
    coarse: float = 0.5
    coarse_factor: float = 20.0
    trusted: float = 10.0
    foreign: float = 3.0


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How temporary errors and lost connections are met.

    Attributes:
        limit: Retries of one block after temporary errors before it counts as failed.
        base: Seconds before the first retry, at most; doubled for each further one.
        cap: Most seconds before a retry.
        reconnects: Tries to get a new connection, and most connections that one block may lose.
        reconnect_base: Seconds before the second try to connect; doubled for each further one.
        reconnect_cap: Most seconds between two tries to connect.
    """

    limit: int = 10
    base: float = 0.005
    cap: float = 1.0
    reconnects: int = 10
    reconnect_base: float = 0.1
    reconnect_cap: float = 5.0

    def delay(self, retry: int) -> float:
        """Seconds before this retry (from 1), drawn at random so that two which met do not meet again."""
        longest: float = min(self.cap, self.base * 2.0 ** (retry - 1))
        return longest * random.uniform(0.5, 1.0)

    def reconnect_delay(self, attempt: int) -> float:
        """Seconds before this further try to connect (from 1)."""
        longest: float = min(self.reconnect_cap, self.reconnect_base * 2.0 ** (attempt - 1))
        return longest * random.uniform(0.5, 1.0)


class StormGuard:
    """Sees storms of retries and says when to apply serially for a while (R24).

    The serial time doubles each time that the storm is back at once.

    Args:
        window: Commits that are looked at together; more retries than half of them are a storm.
        serial: Commits of the first serial time.
        longest: Most commits of a serial time.
    """

    def __init__(self, window: int = 32, serial: int = 64, longest: int = 4096) -> None:
        self._mutex = threading.Lock()
        self._window = window
        self._shortest = serial
        self._serial_commits = serial
        self._longest = longest
        self._commits = 0
        self._retries = 0
        self._calm = 0
        self.serial = False
        self.storms = 0

    def retried(self) -> bool:
        """Counts a retry; whether serial mode begins with it."""
        with self._mutex:
            self._retries += 1
            if self.serial or self._retries * 2 <= self._window:
                return False
            self.serial = True
            self.storms += 1
            if self._calm:
                self._serial_commits = self._shortest
            self._commits = 0
            return True

    def committed(self) -> bool:
        """Counts a commit; whether serial mode ends with it. Called by one thread at a time, in commit order."""
        self._commits += 1
        if self._commits < (self._serial_commits if self.serial else self._window):
            return False
        with self._mutex:
            ended = self.serial
            if ended:
                self._serial_commits = min(self._longest, self._serial_commits * 2)
                self._calm = 0
            else:
                self._calm += 1
            self.serial = False
            self._commits = self._retries = 0
            return ended
