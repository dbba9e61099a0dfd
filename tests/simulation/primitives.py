"""Locks, conditions, events and pools of a simulation: whatever a thread does with one is a step."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from simulation.threads import Simulation, Task

__all__ = ["Condition", "Event", "Future", "Lock", "Pool"]


class Lock:
    __slots__ = ("again", "depth", "name", "owner", "simulation", "waiting")

    def __init__(self, simulation: Simulation, number: int, *, again: bool = False) -> None:
        self.simulation = simulation
        self.name = f"lock {number}"
        self.again = again
        self.owner: Task | None = None
        self.depth = 0
        self.waiting: list[Task] = []

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        assert timeout == -1
        me = self.simulation.step("acquire")
        if self.owner is None:
            self.owner, self.depth = me, 1
            return True
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
            if self.waiting:
                self.simulation.wake(self.waiting)
            self.simulation.step("release")

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class Condition:
    __slots__ = ("lock", "name", "simulation", "waiting")

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
    __slots__ = ("name", "simulation", "value", "waiting")

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
        self.simulation.step("set")

    def clear(self) -> None:
        self.value = False

    def wait(self, timeout: float | None = None) -> bool:
        self.simulation.step("wait")
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
