"""The steps of a schedule, made on a real server."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable

from conformance.servers import Server, Session
from conformance.steps import KEYS_OF_A_SEED, MOST_SEEDS, Record, Schedule, Step

__all__ = ["play_server"]

SETTLE_SECONDS = 20.0
"""Time after which sessions that neither answer nor wait are an error."""
CYCLE_SECONDS = 1.0
"""Time that a server has to find a deadlock; InnoDB follows one blocker of each session, so it may not see one."""
KILL_SECONDS = 2.0
"""Time that a server has to end a statement that is killed."""
POLL_SECONDS = 0.003
QUIET_SECONDS = 0.04
"""Time without an answer after which sessions that wait are taken to wait on: one that has its lock counts itself out when it runs."""


class _Worker:
    """A thread with a session."""

    def __init__(self, number: int, open_session: Callable[[], Session], answers: queue.Queue[tuple[int, str]]) -> None:
        self.number = number
        self.session = open_session()
        self.running = False
        self._open = open_session
        self._answers = answers
        self._calls: queue.Queue[Step | None] = queue.Queue()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def send(self, step: Step) -> None:
        self.running = True
        self._calls.put(step)

    def reopen(self) -> None:
        self.session.close()
        self.session = self._open()

    def close(self) -> None:
        self._calls.put(None)
        self._thread.join(timeout=SETTLE_SECONDS)
        self.session.close()

    def _work(self) -> None:
        while (step := self._calls.get()) is not None:
            session = self.session
            try:
                if step.change is not None:
                    answer = "ok" if session.change(step.change) else "missing"
                else:
                    session.end(commit=step.kind == "commit")
                    answer = "ok"
            except Exception as error:
                answer = session.kind(error)
            self._answers.put((self.number, answer))


class _Player:
    def __init__(self, schedule: Schedule, server: Server) -> None:
        self.server = server
        self.first = schedule.seed % MOST_SEEDS * KEYS_OF_A_SEED
        self.answers: queue.Queue[tuple[int, str]] = queue.Queue()
        self.impatient = schedule.impatient
        self.workers = [
            _Worker(number, lambda number=number: server.session(impatient=number == schedule.impatient), self.answers)  # type: ignore[misc]
            for number in range(schedule.sessions)
        ]
        self.open: set[int] = set()
        self.waiting: dict[int, frozenset[int]] = {}
        self.records: list[Record] = []
        self.answered = 0.0
        """Time of the last answer."""

    def make(self, step: Step) -> None:
        """Make a step, unless its session waits or has nothing to end."""
        worker = self.workers[step.session]
        if step.kind in ("change", "commit", "rollback"):
            if worker.running or (step.kind != "change" and step.session not in self.open):
                return
            worker.send(step)
            self.open.add(step.session)
            if step.kind != "change":
                self.open.discard(step.session)
        elif step.kind == "interrupt":
            self.server.kill(worker.session.number, connection=False)
        elif step.kind == "disconnect":
            self._disconnect(worker)
        self._record(step)
        if self.impatient in self.waiting:
            self.records.append(Record(Step("time", self.impatient)))
            while self.workers[self.impatient].running:
                self._take(SETTLE_SECONDS)
            self._settled()

    def _disconnect(self, worker: _Worker) -> None:
        number = worker.session.number
        self.server.kill(number, connection=True)
        end = time.monotonic() + SETTLE_SECONDS
        while self.server.lives(number) and time.monotonic() < end:
            time.sleep(POLL_SECONDS)
        self.open.discard(worker.number)

    def _record(self, step: Step) -> None:
        self.records.append(Record(step))
        self._settled()

    def _settled(self) -> None:
        self._settle()
        record = self.records[-1]
        record.waits = dict(self.waiting)
        if record.step.kind == "disconnect":
            self.workers[record.step.session].reopen()
        if record.step.kind in ("commit", "disconnect"):
            record.content = self.server.content(self.first)

    def _take(self, seconds: float) -> bool:
        """Take an answer that is there; return False if none comes."""
        try:
            number, answer = self.answers.get(timeout=seconds)
        except queue.Empty:
            return False
        self.answered = time.monotonic()
        self.workers[number].running = False
        self.waiting.pop(number, None)
        record = self.records[-1]
        record.answers[number] = answer
        if answer in ("deadlock", "lost") or (answer not in ("ok", "missing") and self.server.locking == "postgresql"):
            self.open.discard(number)
        return True

    def _settle(self) -> None:
        """Wait until every session has answered, or waits for a lock."""
        begin = time.monotonic()
        stable = 0
        while running := {worker.session.number: worker.number for worker in self.workers if worker.running}:
            if self._take(0.02 if len(running) > len(self.waiting) and not stable else POLL_SECONDS):
                stable = 0
                continue
            known = [self.workers[number].session.number for number in self.waiting]
            found = self.server.waits(running, known)
            if isinstance(found, int):
                settled = found == len(running) and len(self.waiting) == len(running)
            else:
                settled = set(found) == set(running)
                self.waiting = {
                    running[waiter]: frozenset(worker.number for worker in self.workers if worker.session.number in (blockers or ()))
                    for waiter, blockers in found.items()
                }
                settled = settled and (not self._circular() or time.monotonic() - begin > CYCLE_SECONDS)
            step = self.records[-1].step
            if step.kind == "interrupt" and self.workers[step.session].running:
                settled = settled and time.monotonic() - begin > KILL_SECONDS
            settled = settled and time.monotonic() - self.answered > QUIET_SECONDS
            stable = stable + 1 if settled else 0
            if stable == 2:
                return
            if time.monotonic() - begin > SETTLE_SECONDS:
                raise RuntimeError(f"{self.server.name} does not settle: {self.records[-1]}, running {running}, waits {found}")
        self.waiting.clear()

    def _circular(self) -> bool:
        left = dict(self.waiting)
        while free := [waiter for waiter, blockers in left.items() if not blockers & set(left)]:
            for waiter in free:
                del left[waiter]
        return bool(left)

    def end(self) -> None:
        """Commit until no session has anything open."""
        while self.open or any(worker.running for worker in self.workers):
            free = sorted(number for number in self.open if not self.workers[number].running)
            if not free:
                raise RuntimeError(f"all sessions wait: {self.waiting}")
            self.make(Step("commit", free[0]))

    def close(self) -> None:
        for worker in self.workers:
            if worker.running:
                self.server.kill(worker.session.number, connection=True)
            worker.close()


def play_server(schedule: Schedule, server: Server) -> list[Record]:
    """Make the steps of a schedule on a server, and return what came of them."""
    server.fill(schedule.initial)
    player = _Player(schedule, server)
    try:
        for step in schedule.steps:
            player.make(step)
        player.end()
    finally:
        player.close()
    return player.records
