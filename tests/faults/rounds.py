"""One round: a log is applied while faults strike, until a command comes to its end; then the tables are compared."""

from __future__ import annotations

import contextlib
import random
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from server.replay import Outcome, end, start

from paraply import open_log
from tests.faults.kinds import FAULTS, LOG_FAULTS, Fault, ServerErrors, grow
from tests.faults.servers import ServerLost, Target

__all__ = ["Broken", "Matrix", "Round"]

#: A command may end with a failure (1), with what it found in the log (3), or killed.
ENDS_AFTER_FAULT = (0, 1, 3, -9)
COMMANDS = 60
#: Strikes against one command, if it lives so long.
STRIKES = 4


class Broken(AssertionError):
    """The tables are not the source's, or a command ended as none may."""


@dataclass
class Matrix:
    """Faults that struck, and their counts.

    Attributes:
        strikes: By target, consistency, merge and fault.
        rounds: Replays that came to their end and were compared.
    """

    strikes: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)
    rounds: int = 0

    @property
    def faults(self) -> int:
        """Number of faults that struck in all."""
        return sum(self.strikes.values())


@dataclass(frozen=True)
class Round:
    """One replay with one setting.

    Attributes:
        target: Where to.
        log: What.
        expected: The source's tables.
        consistency: As the command takes it.
        merge: As the command takes it.
        via: As the command takes it.
    """

    target: Target
    log: Path
    expected: dict[str, Any]
    consistency: str
    merge: str
    via: str = "sessions"

    def run(self, matrix: Matrix, draw: random.Random, folder: Path) -> None:
        """Applies the log from nothing, with a fault for every command but the last.

        Raises:
            Broken: The state is wrong afterwards, or a command ended as none may.
        """
        self.target.ensure_up()
        self.target.empty()
        log, content = folder / self.log.name, self.log.read_bytes()
        answer: tuple[str, ...] = ()
        for _ in range(COMMANDS):
            log.write_bytes(content)
            outcome = self._command(matrix, draw, log, content, answer)
            self.target.ensure_up()
            answer = ()
            if outcome.code == 0 and log.read_bytes() == content and outcome.report.get("status") == "done":
                self._compare(outcome)
                matrix.rounds += 1
                return
            if outcome.code not in ENDS_AFTER_FAULT:
                raise Broken(f"{self}: exit code {outcome.code}: {outcome.stderr}")
            error = outcome.report.get("error") or {}
            if error.get("class") == "DdlUndecided":
                answer = self._look(outcome)
            self.target.obey(error.get("message", ""))
        raise Broken(f"{self}: not done after {COMMANDS} commands; the last: {outcome}")

    def __str__(self) -> str:
        return f"{self.target.name}, {self.consistency}, merge {self.merge}" + (f", via {self.via}" if self.via != "sessions" else "")

    def _command(self, matrix: Matrix, draw: random.Random, log: Path, content: bytes, answer: tuple[str, ...]) -> Outcome:
        options = ("--workers", "4", "--consistency", self.consistency, "--merge", self.merge, "--via", self.via, *answer)
        kinds = [fault for fault in FAULTS if self.target.can(fault.name)]
        if draw.random() < 0.25:
            spoiled = draw.choice(LOG_FAULTS)
            self._count(matrix, spoiled.name)
            log.write_bytes(spoiled.spoil(content, draw))
            process = start(log, self.target.url, *options)
            if spoiled.grows:
                grow(log, content, process, draw)
            return end(process)
        process = start(log, self.target.url, *options)
        try:
            for fault in draw.choices(kinds, k=STRIKES):
                self._strike(matrix, draw, process, fault)
        except ServerLost:
            process.kill()
            raise
        finally:
            outcome = end(process)
        return outcome

    def _strike(self, matrix: Matrix, draw: random.Random, process: subprocess.Popen[str], fault: Fault) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(draw.uniform(0.2, 1.0))
            return  # through before anything could strike
        self._count(matrix, fault.name)
        try:
            fault.strike(self.target, process, draw)
        except ServerErrors:
            time.sleep(0.5)  # an earlier fault's server is still coming up
        self.target.ensure_up()

    def _count(self, matrix: Matrix, fault: str) -> None:
        matrix.strikes[
            self.target.name, self.consistency, self.merge if self.via == "sessions" else f"{self.merge}, via {self.via}", fault
        ] += 1

    def _compare(self, outcome: Outcome) -> None:
        found = self.target.state()
        for table in self.expected.keys() | found.keys():
            wanted, there = self.expected.get(table), found.get(table)
            if wanted != there:
                raise Broken(
                    f"{self}: table {table} has {len(there or ())} rows, the source {len(wanted or ())}; the last command: {outcome}"
                )

    def _look(self, outcome: Outcome) -> tuple[str, ...]:
        """Answers whether a statement has been done, as an operator would: by a look at the target."""
        error = outcome.report["error"]
        statements = [
            statement.sql.decode()
            for transaction in open_log(self.log)
            if transaction.end_offset == error["position"]
            for statement in transaction.statements
        ]
        if len(statements) != 1:
            raise Broken(f"{self}: a question about {statements}: {outcome}")
        return ("--ddl-done",) if self.target.shows(statements[0]) else ("--ddl-not-done",)
