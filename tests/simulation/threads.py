"""A runtime that runs one thread at a time, in an order that a seed decides.

Threads are real ones that hand a baton on: only its holder runs. Whatever a thread does with the runtime is a step, after which the seed
decides who runs next. The clock moves a little with each step, and to the next deadline when all threads wait.
"""

from __future__ import annotations

import random
import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from simulation.primitives import Condition, Event, Lock, Pool

from paraply.runtime import use

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

__all__ = ["Abandoned", "Deadlock", "Endless", "Schedule", "Simulation"]

STEP_SECONDS = 20e-6
BEGIN = 1_700_000_000.0
"""The simulated time of day at the start."""
NEVER = float("inf")


class Deadlock(AssertionError):
    """All threads wait, and none of them for a time."""


class Endless(AssertionError):
    """More steps than any run of this size takes."""


class Abandoned(BaseException):
    """The end of a thread of a simulation that has failed, or whose process is killed."""


@dataclass(frozen=True)
class Schedule:
    """Choice among threads by a seed.

    Attributes:
        switch: Chance that a step lets another thread run.
        changes: With ``priorities``: about how many times in a run the running thread becomes the last one.
        priorities: True if the thread with the highest priority always runs; the seed gives the priorities.
        lines: Chance that a line of the code under ``preempts`` is a step too; 0 for none. It takes some ten times as long.
    """

    switch: float = 1.0
    changes: int = 0
    priorities: bool = False
    lines: float = 0.0


class _Carrier:
    """A real thread that carries out one task after the other, because it takes long to start one."""

    free: ClassVar[list[_Carrier]] = []

    def __init__(self) -> None:
        self._given = threading.Lock()
        self._given.acquire()
        self._task: Task | None = None
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    @classmethod
    def carry(cls, task: Task) -> None:
        """Let a thread carry out a task."""
        carrier = cls.free.pop() if cls.free else cls()
        carrier._task = task
        task.thread = carrier._thread
        carrier._given.release()

    def _work(self) -> None:
        while True:
            self._given.acquire()
            task, self._task = self._task, None
            assert task is not None
            task.run()
            self.free.append(self)
            task.over.release()


class Task:
    """One thread of a simulation."""

    __slots__ = (
        "baton",
        "body",
        "deadline",
        "ended",
        "joining",
        "name",
        "over",
        "priority",
        "simulation",
        "started",
        "thread",
        "waits_for",
    )

    def __init__(self, simulation: Simulation, name: str, body: Callable[[], object] | None) -> None:
        self.simulation = simulation
        self.name = name
        self.body = body
        self.baton = threading.Lock()
        self.baton.acquire()
        self.over = threading.Lock()
        self.over.acquire()
        self.waits_for: str | None = None
        self.deadline: float | None = None
        self.started = body is None
        self.ended = False
        self.joining: list[Task] = []
        self.priority = simulation.random.random()
        self.thread = threading.current_thread()

    def start(self) -> None:
        assert not self.started
        self.started = True
        self.simulation.tasks.append(self)
        _Carrier.carry(self)
        self.simulation.step(f"start {self.name}")

    def join(self, timeout: float | None = None) -> None:
        self.simulation.step(f"join {self.name}")
        if not self.ended:
            self.simulation.wait_in(self.joining, f"the end of {self.name}", timeout)

    def is_alive(self) -> bool:
        return self.started and not self.ended

    def run(self) -> None:
        """Carry out the body when the baton comes."""
        self.baton.acquire()
        try:
            assert self.body is not None
            if not self.simulation.abandoned:
                self.simulation.trace_lines()
                self.body()
        except Abandoned:
            pass
        except BaseException as error:
            self.simulation.errors.append(error)
        finally:
            sys.settrace(None)
        self.ended = True
        if self.simulation.abandoned:
            return
        self.simulation.tasks.remove(self)
        self.simulation.wake(self.joining)
        self.simulation.pass_baton(f"end {self.name}")


class Simulation:
    """A ``paraply.runtime.Runtime`` whose thread that called ``run`` is the first one.

    ``trace`` has the thread and the kind of every step; the same seed makes the same trace.

    Args:
        seed: Decides everything.
        schedule: How it chooses among threads; by default any thread at every step.
        most_steps: Steps after which ``Endless`` is raised; None for no limit.
        traced: False if the trace is not needed.
        preempts: Parts of the paths of files whose lines may be steps.
    """

    def __init__(
        self,
        seed: int,
        schedule: Schedule | None = None,
        *,
        most_steps: int | None = None,
        traced: bool = True,
        preempts: tuple[str, ...] = ("/paraply/applier/",),
    ) -> None:
        self.random = random.Random(seed)
        self.schedule = schedule or Schedule()
        self.clock = 0.0
        self.steps = 0
        self.most_steps = most_steps or sys.maxsize
        self.trace: list[str] = []
        self.errors: list[BaseException] = []
        self.abandoned = False
        self.deadlock: str | None = None
        self.endless = False
        self.cause: AssertionError | None = None
        self._traced = traced
        self._draw = self.random.random
        self._switch = self.schedule.switch
        self._preempts = preempts
        self._known: dict[str, bool] = {}
        self._next_deadline = NEVER
        self._made = 0
        self.first = self.current = Task(self, "first", None)
        self.tasks = [self.first]

    def run(self, body: Callable[[], Any]) -> Any:
        """Run the body in this runtime; every thread that it started must have ended then."""
        with use(self):
            try:
                self.trace_lines()
                result = body()
                assert [task.name for task in self.tasks] == ["first"], "threads that have not ended"
                if self.errors:
                    raise self.errors[0]
            except BaseException:
                self._abandon()
                if self.cause is not None:
                    raise self.cause from None
                raise
            finally:
                sys.settrace(None)
        return result

    def kill(self) -> None:
        """End all threads at their next step, as ``kill -9`` ends a process; the caller's thread now."""
        self.abandoned = True
        if self.current is not self.first:
            self.first.baton.release()
        raise Abandoned

    def monotonic(self) -> float:
        return self.clock

    def perf_counter(self) -> float:
        return self.clock

    def now(self) -> float:
        return BEGIN + self.clock

    def sleep(self, seconds: float) -> None:
        self.wait_in([], "a time", seconds)

    def lock(self) -> Lock:
        return Lock(self, self._number())

    def condition(self, lock: Lock | None = None) -> Condition:
        return Condition(self, self._number(), lock or Lock(self, self._number(), again=True))

    def event(self) -> Event:
        return Event(self, self._number())

    def thread(self, target: Callable[..., object], *, name: str, args: tuple[object, ...] = ()) -> Task:
        return Task(self, name, lambda: target(*args))

    def current_thread(self) -> Task:
        return self.current

    def pool(self, workers: int, name: str) -> Pool:
        return Pool(self, workers, name)

    def uniform(self, low: float, high: float) -> float:
        return self.random.uniform(low, high)

    def step(self, kind: str) -> Task:
        """Let another thread run, or go on; return the calling one."""
        me = self.current
        if self.abandoned:
            raise Abandoned
        if self.pass_baton(kind) is me:
            return me
        me.baton.acquire()
        if self.abandoned:
            raise Abandoned
        if me is self.first:
            if self.deadlock is not None:
                self.cause = self.cause or Deadlock(self.deadlock)
            elif self.endless:
                self.cause = self.cause or Endless(f"more than {self.most_steps} steps; {self.places()}")
            if self.cause is not None:
                raise self.cause
        return me

    def wait_in(self, queue: list[Task], what: str, timeout: float | None) -> bool:
        """Wait until another thread wakes this queue or the time is over; return False in the second case."""
        me = self.current
        me.waits_for = what
        if timeout is not None:
            me.deadline = self.clock + max(timeout, 0.0)
            self._next_deadline = min(self._next_deadline, me.deadline)
        queue.append(me)
        self.step("wait for")
        if me in queue:
            queue.remove(me)
            return False
        return True

    def wake(self, queue: list[Task], most: int | None = None) -> None:
        """Let threads go on that wait in this queue, the one that has waited longest first."""
        for task in queue[:most]:
            task.waits_for = task.deadline = None
        del queue[:most]

    def pass_baton(self, kind: str) -> Task:
        """Choose the next thread, and let it run; the caller must touch nothing more unless it was chosen."""
        before = self.current
        if self._traced:
            self.trace.append(f"{before.name}: {kind}")
        self.steps += 1
        draw = self._draw()
        self.clock += STEP_SECONDS * draw
        if draw > self._switch and before.waits_for is None and not before.ended and self.clock < self._next_deadline:
            return before
        self.current = chosen = self._choose()
        if chosen is not before:
            chosen.baton.release()
        return chosen

    def _choose(self) -> Task:
        if self.steps > self.most_steps:
            self.endless = True
            self.first.waits_for = None
            return self.first
        while True:
            if self.clock >= self._next_deadline:
                self._expire()
            if ready := [task for task in self.tasks if task.waits_for is None]:
                return self._pick(ready)
            if self._next_deadline == NEVER:
                self.deadlock = self.places()
                self.first.waits_for = None
                return self.first
            self.clock = max(self.clock, self._next_deadline)

    def _expire(self) -> None:
        """Let those go on whose time is over."""
        nearest = NEVER
        for task in self.tasks:
            if task.deadline is None:
                continue
            if task.deadline <= self.clock:
                task.waits_for = task.deadline = None
            else:
                nearest = min(nearest, task.deadline)
        self._next_deadline = nearest

    def _pick(self, ready: list[Task]) -> Task:
        if not self.schedule.priorities:
            return ready[int(self._draw() * len(ready))] if len(ready) > 1 else ready[0]
        best = max(ready, key=lambda task: task.priority)
        # Priorities alone would let a thread that asks again and again keep all others from running.
        if self.random.random() * 1000 < self.schedule.changes:
            best.priority -= 1
        return best

    def trace_lines(self) -> None:
        """Make lines of the calling thread steps, if the schedule has it so."""
        if self.schedule.lines:
            sys.settrace(self._on_call)

    def _on_call(self, frame: FrameType, event: str, argument: object) -> Any:
        file = frame.f_code.co_filename
        known = self._known.get(file)
        if known is None:
            known = self._known[file] = any(part in file for part in self._preempts)
        return self._on_line if known else None

    def _on_line(self, frame: FrameType, event: str, argument: object) -> Any:
        if event == "line" and not self.abandoned and self.random.random() < self.schedule.lines:
            self.step("line")
        return self._on_line

    def _abandon(self) -> None:
        """End all other threads, whatever they do."""
        sys.settrace(None)
        self.abandoned = True
        others = [task for task in self.tasks if task is not self.first]
        for task in others:
            task.baton.release()
        for task in others:
            assert task.over.acquire(timeout=10), f"{task.name} does not end"

    def places(self) -> str:
        """Return the place of each thread, in the frames outside of the simulation."""
        frames, found = sys._current_frames(), []
        for task in self.tasks:
            frame, at = frames.get(task.thread.ident or 0), list[str]()
            while frame is not None and len(at) < 4:
                if frame.f_code.co_filename != __file__:
                    at.append(f"{frame.f_code.co_name}:{frame.f_lineno}")
                frame = frame.f_back
            found.append(f"{task.name} waits for {task.waits_for} in {' < '.join(at)}")
        return "; ".join(found)

    def _number(self) -> int:
        self._made += 1
        return self._made
