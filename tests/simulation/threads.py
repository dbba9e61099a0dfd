"""A runtime that runs one thread at a time, in an order that a seed decides.

Threads are real ones that hand a baton on: only its holder runs. Whatever a thread does with the runtime is a step, after which the seed
decides who runs next. The clock moves a little with each step, and to the next deadline when all threads wait.
"""

from __future__ import annotations

import random
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from paraply.runtime import use

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Deadlock", "Simulation"]

STEP_SECONDS = 20e-6
BEGIN = 1_700_000_000.0
"""The simulated time of day at the start."""


class Deadlock(AssertionError):
    """All threads wait, and none of them for a time."""


class Abandoned(BaseException):
    """The end of a thread of a simulation that has failed."""


class Task:
    """One thread of a simulation."""

    def __init__(self, simulation: Simulation, name: str, body: Callable[[], object] | None) -> None:
        self.simulation = simulation
        self.name = name
        self.body = body
        self.baton = threading.Lock()
        self.baton.acquire()
        self.waits_for: str | None = None
        self.deadline: float | None = None
        self.started = body is None
        self.ended = False
        self.joining: list[Task] = []
        self.thread = threading.current_thread()

    def start(self) -> None:
        assert not self.started
        self.started = True
        self.simulation.tasks.append(self)
        self.thread = threading.Thread(target=self._run, name=self.name, daemon=True)
        self.thread.start()
        self.simulation.step(f"start {self.name}")

    def join(self, timeout: float | None = None) -> None:
        self.simulation.step(f"join {self.name}")
        if not self.ended:
            self.simulation.wait_in(self.joining, f"the end of {self.name}", timeout)

    def is_alive(self) -> bool:
        return self.started and not self.ended

    def _run(self) -> None:
        self.baton.acquire()
        try:
            assert self.body is not None
            if not self.simulation.abandoned:
                self.body()
        except BaseException as error:
            self.simulation.errors.append(error)
        self.ended = True
        if self.simulation.abandoned:
            return
        self.simulation.tasks.remove(self)
        self.simulation.wake(self.joining)
        self.simulation.pass_baton(f"end {self.name}")


class Lock:
    def __init__(self, simulation: Simulation, number: int, *, again: bool = False) -> None:
        self.simulation = simulation
        self.name = f"lock {number}"
        self.again = again
        self.owner: Task | None = None
        self.depth = 0
        self.waiting: list[Task] = []

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        assert timeout == -1
        me = self.simulation.step(f"acquire {self.name}")
        if self.again and self.owner is me:
            self.depth += 1
            return True
        while self.owner is not None:
            if not blocking:
                return False
            self.simulation.wait_in(self.waiting, self.name, None)
        self.owner, self.depth = me, 1
        return True

    def release(self) -> None:
        if self.simulation.abandoned:
            return
        assert self.owner is self.simulation.current
        self.depth -= 1
        if self.depth == 0:
            self.owner = None
            self.simulation.wake(self.waiting)
            self.simulation.step(f"release {self.name}")

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class Condition:
    def __init__(self, simulation: Simulation, number: int, lock: Lock) -> None:
        self.simulation = simulation
        self.name = f"condition {number}"
        self.lock = lock
        self.waiting: list[Task] = []

    def wait(self, timeout: float | None = None) -> bool:
        lock, me = self.lock, self.simulation.current
        assert self.simulation.abandoned or lock.owner is me
        depth, lock.owner = lock.depth, None
        self.simulation.wake(lock.waiting)
        notified = self.simulation.wait_in(self.waiting, self.name, timeout)
        while lock.owner is not None:
            self.simulation.wait_in(lock.waiting, lock.name, None)
        lock.owner, lock.depth = me, depth
        return notified

    def wait_for(self, predicate: Callable[[], Any], timeout: float | None = None) -> Any:
        deadline = None if timeout is None else self.simulation.clock + timeout
        while not (found := predicate()):
            left = None if deadline is None else deadline - self.simulation.clock
            if left is not None and left <= 0:
                break
            self.wait(left)
        return found

    def notify(self, n: int = 1) -> None:
        assert self.simulation.abandoned or self.lock.owner is self.simulation.current
        self.simulation.wake(self.waiting, n)

    def notify_all(self) -> None:
        self.notify(len(self.waiting))

    def __enter__(self) -> bool:
        return self.lock.acquire()

    def __exit__(self, *_: object) -> None:
        self.lock.release()


class Event:
    def __init__(self, simulation: Simulation, number: int) -> None:
        self.simulation = simulation
        self.name = f"event {number}"
        self.value = False
        self.waiting: list[Task] = []

    def is_set(self) -> bool:
        return self.value

    def set(self) -> None:
        self.value = True
        self.simulation.wake(self.waiting)
        self.simulation.step(f"set {self.name}")

    def clear(self) -> None:
        self.value = False

    def wait(self, timeout: float | None = None) -> bool:
        self.simulation.step(f"wait {self.name}")
        if not self.value:
            self.simulation.wait_in(self.waiting, self.name, timeout)
        return self.value


class Future:
    def __init__(self, simulation: Simulation) -> None:
        self._ended = simulation.event()
        self._result: Any = None
        self._error: BaseException | None = None

    def run(self, call: Callable[[], Any]) -> None:
        try:
            self._result = call()
        except BaseException as error:
            self._error = error
        self._ended.set()

    def done(self) -> bool:
        return self._ended.is_set()

    def exception(self) -> BaseException | None:
        self._ended.wait()
        return self._error

    def result(self) -> Any:
        if (error := self.exception()) is not None:
            raise error
        return self._result


class Pool:
    def __init__(self, simulation: Simulation, workers: int, name: str) -> None:
        self._simulation = simulation
        self._changed = simulation.condition()
        self._calls: deque[tuple[Future, Callable[[], Any]]] = deque()
        self._closed = False
        self._threads = [simulation.thread(self._work, name=f"{name}_{number}") for number in range(workers)]
        for thread in self._threads:
            thread.start()

    def submit(self, call: Callable[..., Any], /, *args: Any, **keywords: Any) -> Future:
        future = Future(self._simulation)
        with self._changed:
            self._calls.append((future, lambda: call(*args, **keywords)))
            self._changed.notify()
        return future

    def shutdown(self, wait: bool = True) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in self._threads if wait else ():
            thread.join()

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._calls and not self._closed:
                    self._changed.wait()
                if not self._calls:
                    return
                future, call = self._calls.popleft()
            future.run(call)

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()


class Simulation:
    """A ``paraply.runtime.Runtime`` whose thread that called ``run`` is the first one.

    ``trace`` has the thread and the kind of every step; the same seed makes the same trace.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.clock = 0.0
        self.trace: list[str] = []
        self.errors: list[BaseException] = []
        self.first = self.current = Task(self, "first", None)
        self.tasks = [self.first]
        self.deadlock: str | None = None
        self.abandoned = False
        self._made = 0

    def run(self, body: Callable[[], Any]) -> Any:
        """Run the body in this runtime; every thread that it started must have ended then."""
        with use(self):
            try:
                result = body()
                assert [task.name for task in self.tasks] == ["first"], "threads that have not ended"
                assert self.errors == []
            except BaseException:
                self._abandon()
                raise
        return result

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
        if not self.abandoned and self.pass_baton(kind) is not me:
            me.baton.acquire()
        if self.abandoned:
            raise Abandoned
        if self.deadlock is not None and me is self.first:
            raise Deadlock(self.deadlock)
        return me

    def wait_in(self, queue: list[Task], what: str, timeout: float | None) -> bool:
        """Wait until another thread wakes this queue or the time is over; return False in the second case."""
        me = self.current
        me.waits_for, me.deadline = what, None if timeout is None else self.clock + max(timeout, 0.0)
        queue.append(me)
        self.step(f"wait for {what}")
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
        self.trace.append(f"{before.name}: {kind}")
        self.clock += STEP_SECONDS * self.random.random()
        self.current = chosen = self._choose()
        if chosen is not before:
            chosen.baton.release()
        return chosen

    def _choose(self) -> Task:
        while True:
            for task in self.tasks:
                if task.deadline is not None and task.deadline <= self.clock:
                    task.waits_for = task.deadline = None
            if ready := [task for task in self.tasks if task.waits_for is None]:
                return self.random.choice(ready)
            deadlines = [task.deadline for task in self.tasks if task.deadline is not None]
            if not deadlines:
                self.deadlock = "; ".join(f"{task.name} waits for {task.waits_for}" for task in self.tasks)
                self.first.waits_for = None
                return self.first
            self.clock = min(deadlines)

    def _abandon(self) -> None:
        """End all other threads, whatever they do."""
        self.abandoned = True
        others = [task for task in self.tasks if task is not self.first]
        for task in others:
            task.baton.release()
        for task in others:
            task.thread.join(10)

    def _number(self) -> int:
        self._made += 1
        return self._made
