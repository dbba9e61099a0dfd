"""Rules for retries and for the change to serial apply (R24)."""

from __future__ import annotations

from dataclasses import dataclass

from paraply.runtime import runtime

__all__ = ["Patience", "RetryPolicy", "StormGuard"]


@dataclass(frozen=True, slots=True)
class Patience:
    """Limits, in seconds, for the time that the oldest block may take before the watchdog acts.

    Attributes:
        shortest: Least time before the target is asked for the blockers of the oldest block.
        factor: The same time as a multiple of the median apply time.
        longest: Most time before the target is asked, and between two questions during the same attempt.
        coarse: Time after which all younger transactions are rolled back although the target reported no blocker.
        coarse_factor: Least value of ``coarse`` as a multiple of the median apply time.
        trusted: Factor by which ``coarse`` grows for a target that has reported a blocker before.
        foreign: Time after which a blocker that does not belong to this process is reported.
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
    """Limits and delays for retries after temporary errors and lost connections.

    Attributes:
        limit: Retries of one block after temporary errors before it counts as failed.
        base: Seconds before the first retry, at most; doubled for each further one.
        cap: Most seconds before a retry.
        reconnects: Tries to get a new connection, and lost connections that one block may survive.
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
        """Return the seconds before this retry (from 1), partly random so that two transactions that met do not meet again."""
        longest: float = min(self.cap, self.base * 2.0 ** (retry - 1))
        return longest * runtime.uniform(0.5, 1.0)

    def reconnect_delay(self, attempt: int) -> float:
        """Return the seconds before this repeated try to connect (from 1)."""
        longest: float = min(self.reconnect_cap, self.reconnect_base * 2.0 ** (attempt - 1))
        return longest * runtime.uniform(0.5, 1.0)


class StormGuard:
    """Detection of retry storms, after which the run applies serially for a while (R24).

    The serial period doubles each time that the storm returns at once.

    Args:
        window: Number of commits that are judged together; more retries than half of them are a storm.
        serial: Commits in the first serial period.
        longest: Most commits in a serial period.
    """

    def __init__(self, window: int = 32, serial: int = 64, longest: int = 4096) -> None:
        self._mutex = runtime.lock()
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
        """Count a retry; return True if serial mode begins with it."""
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
        """Count a commit; return True if serial mode ends with it. Called by one thread at a time, in commit order."""
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
