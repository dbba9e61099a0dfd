"""Threads, locks and clocks of the applier: the system's, or those of a simulation that runs every step in an order of its own.

Code takes them from ``runtime`` only when it needs them, so that a simulation can drive it: an ``Applier`` that is made and run inside
``use(simulation)`` makes its threads there. An object keeps the locks that it was made with; the clock is always the installed one.

>>> runtime.monotonic() <= runtime.monotonic()
True
"""

from __future__ import annotations

import contextlib
import random
import threading
import time
from typing import TYPE_CHECKING, ParamSpec, Protocol, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

__all__ = ["Clock", "Condition", "Event", "Future", "Lock", "Pool", "Runtime", "SystemRuntime", "Thread", "runtime", "use"]

T = TypeVar("T")
Result = TypeVar("Result", covariant=True)
Arguments = ParamSpec("Arguments")


class Clock(Protocol):
    """Clocks; those of a simulation move only when it lets them."""

    def monotonic(self) -> float:
        """Return seconds that never go back, for deadlines."""

    def perf_counter(self) -> float:
        """Return seconds that never go back, with the highest resolution, for measurements."""

    def now(self) -> float:
        """Return the seconds since 1970, UTC."""

    def sleep(self, seconds: float) -> None:
        """Let the calling thread wait."""


class Lock(Protocol):
    """A lock that the thread that holds it cannot take again."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Take the lock; return False if it was not free, or not in time."""

    def release(self) -> None:
        """Release the lock."""

    def __enter__(self) -> bool: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...


class Condition(Protocol):
    """A condition and its lock, as ``threading.Condition``."""

    def wait(self, timeout: float | None = None) -> bool:
        """Release the lock until a notification comes, then take it again; return False if the time was over first."""

    def wait_for(self, predicate: Callable[[], T], timeout: float | None = None) -> T:
        """Wait until the predicate holds or the time is over; return its last value."""

    def notify(self, n: int = 1) -> None:
        """Wake waiting threads, the one that has waited longest first."""

    def notify_all(self) -> None:
        """Wake all waiting threads."""

    def __enter__(self) -> bool: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...


class Event(Protocol):
    """A flag that threads wait for."""

    def is_set(self) -> bool:
        """Return True if the flag is set."""

    def set(self) -> None:
        """Set the flag, and wake all waiting threads."""

    def clear(self) -> None:
        """Take the flag back."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the flag is set or the time is over; return True if it is set."""


class Thread(Protocol):
    """A thread."""

    def start(self) -> None:
        """Start the thread."""

    def join(self, timeout: float | None = None) -> None:
        """Wait until the thread has ended or the time is over."""

    def is_alive(self) -> bool:
        """Return True between the thread's start and its end."""


class Future(Protocol[Result]):
    """The outcome of a call in another thread."""

    def done(self) -> bool:
        """Return True if the call has ended."""

    def result(self) -> Result:
        """Wait for the end of the call; return its result or raise its error."""

    def exception(self) -> BaseException | None:
        """Wait for the end of the call; return its error, if there was one."""


class Pool(Protocol):
    """Threads that carry out calls."""

    def submit(self, call: Callable[Arguments, T], /, *args: Arguments.args, **keywords: Arguments.kwargs) -> Future[T]:
        """Let one of the threads make a call."""

    def shutdown(self, wait: bool = True) -> None:
        """Take no more calls; with ``wait``, return when all have ended."""

    def __enter__(self) -> Pool: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool | None: ...


class Runtime(Clock, Protocol):
    """A maker of threads and of whatever they wait for, with a clock."""

    def lock(self) -> Lock:
        """Return a new lock."""

    def condition(self, lock: Lock | None = None, /) -> Condition:
        """Return a new condition with this lock, or with a lock of its own."""

    def event(self) -> Event:
        """Return a new event."""

    def thread(self, target: Callable[..., object], *, name: str, args: tuple[object, ...] = ()) -> Thread:
        """Return a new thread, which does not keep the process alive."""

    def current_thread(self) -> Thread:
        """Return the calling thread."""

    def pool(self, workers: int, name: str) -> Pool:
        """Return a pool of this many threads, whose names begin with ``name``."""

    def uniform(self, low: float, high: float) -> float:
        """Return a random number between two, for delays."""


class _MakesCondition(Protocol):
    def __call__(self, lock: Lock | None = None, /) -> Condition: ...


class SystemRuntime:
    """The threads, locks and clocks of the system."""

    monotonic = staticmethod(time.monotonic)
    perf_counter = staticmethod(time.perf_counter)
    now = staticmethod(time.time)
    sleep = staticmethod(time.sleep)
    lock = staticmethod(threading.Lock)
    condition = staticmethod(cast("_MakesCondition", threading.Condition))
    event = staticmethod(threading.Event)
    current_thread = staticmethod(threading.current_thread)
    uniform = staticmethod(random.uniform)

    @staticmethod
    def thread(target: Callable[..., object], *, name: str, args: tuple[object, ...] = ()) -> Thread:
        """Return a new thread, which does not keep the process alive."""
        return threading.Thread(target=target, name=name, args=args, daemon=True)

    @staticmethod
    def pool(workers: int, name: str) -> Pool:
        """Return a pool of this many threads, whose names begin with ``name``."""
        from concurrent.futures import ThreadPoolExecutor

        return ThreadPoolExecutor(workers, name)


class _Installed:
    """The installed runtime. Its attributes are the runtime's own functions: a call costs some 10 ns more than without it."""

    __slots__ = ("condition", "current_thread", "event", "lock", "monotonic", "now", "perf_counter", "pool", "sleep", "thread", "uniform")

    def __init__(self, made_by: Runtime) -> None:
        self.install(made_by)

    def install(self, made_by: Runtime) -> None:
        """Take over the functions of a runtime."""
        self.monotonic = made_by.monotonic
        self.perf_counter = made_by.perf_counter
        self.now = made_by.now
        self.sleep = made_by.sleep
        self.lock = made_by.lock
        self.condition = made_by.condition
        self.event = made_by.event
        self.thread = made_by.thread
        self.current_thread = made_by.current_thread
        self.pool = made_by.pool
        self.uniform = made_by.uniform


_SYSTEM = SystemRuntime()
_installed = _Installed(_SYSTEM)
runtime: Runtime = _installed
"""The runtime of this process: the system's, except inside ``use``."""


@contextlib.contextmanager
def use(simulation: Runtime) -> Iterator[None]:
    """Install another runtime for the whole process; the system's is back at the end.

    It is not an argument of the classes that need it, because these are many and in part public, and not a context variable, because
    a new thread would not have it. So a process runs one simulation at a time.
    """
    _installed.install(simulation)
    try:
        yield
    finally:
        _installed.install(_SYSTEM)
