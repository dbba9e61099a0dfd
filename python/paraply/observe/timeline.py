"""A timeline of a run in the Trace Event Format for Perfetto and Chrome: a track for each worker, and tracks of counters.

The format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU ("X" is a slice, "C" a counter, "i" an
instant, "M" names a track). Times are in microseconds.
"""

from __future__ import annotations

import json
import os
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paraply.errors import UsageError
from paraply.runtime import runtime

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from types import TracebackType

    from paraply._native import Block
    from paraply.observe.counters import Counters

__all__ = ["Timeline", "block_arguments", "timeline_of"]

_HEAD = b'{"displayTimeUnit":"ms","traceEvents":[\n'
_TAIL = b"\n]}\n"
_PROCESS = 1
_FLUSH_EVENTS = 2048
_FLUSH_SECONDS = 1.0

Arguments = dict[str, Any]


class Timeline:
    """Timeline that is written during the run; memory holds a few thousand events at most.

    After each write the file is a complete JSON object, even if the process is killed later. If writing fails, the timeline ends and
    the run continues; ``problem`` then has the reason.

    Args:
        path: The file; an older timeline is replaced.
        title: Name of the process in the timeline.

    Raises:
        UsageError: The file cannot be written, or exists and is not a timeline.

    >>> import json, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "trace.json"
    >>> with Timeline(path) as timeline:
    ...     timeline.slice(0, "apply", 0.0, 0.5, {"gtid": "0-1-7"})
    >>> [event["name"] for event in json.loads(path.read_text())["traceEvents"] if event["ph"] == "X"]
    ['apply']
    """

    def __init__(self, path: str | Path, title: str = "paraply apply") -> None:
        self.problem: str | None = None
        """Reason why the timeline ended before the run; None if it did not."""
        self._path = str(path)
        self._zero = runtime.perf_counter()
        self._mutex = runtime.lock()
        self._events: list[str] = []
        self._flushed_at = self._zero
        self._any = False
        _refuse_others(Path(path))
        try:
            self._file: int | None = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), 0o644)
        except OSError as error:
            raise UsageError(f"--trace {self._path} cannot be written: {error.strerror}") from None
        self._end = len(_HEAD)
        self._write(0, _HEAD + _TAIL)
        if self.problem is not None:
            raise UsageError(f"--trace {self.problem}")
        self._name("process_name", 0, title)

    def __enter__(self) -> Timeline:
        """Return the timeline, whose file is already open."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        """Write the remaining events, and close the file."""
        self.close()

    @property
    def zero(self) -> float:
        """Time of the timeline's begin (``time.perf_counter``)."""
        return self._zero

    def name_track(self, track: int, name: str) -> None:
        """Set the name of a track; tracks are shown in the order of their numbers."""
        self._name("thread_name", track, name)
        self._add(f'{{"ph":"M","name":"thread_sort_index","pid":{_PROCESS},"tid":{track},"args":{{"sort_index":{track}}}}}')

    def slice(self, track: int, name: str, begin: float, end: float, arguments: Arguments | None = None) -> None:
        """Add an activity with a duration.

        Args:
            track: Track of the activity.
            name: Name of the activity, one word.
            begin: Start time (``runtime.perf_counter``).
            end: End time.
            arguments: Further details to show.
        """
        details = f',"args":{json.dumps(arguments)}' if arguments else ""
        # Both ends are rounded down, so that adjacent slices do not overlap.
        since, until = self._nanos(begin), self._nanos(end)
        duration = max(0, until - since) / 1000
        self._add(
            f'{{"ph":"X","name":{json.dumps(name)},"pid":{_PROCESS},"tid":{track},"ts":{since / 1000:.3f},"dur":{duration:.3f}{details}}}'
        )

    def instant(self, track: int, name: str, arguments: Arguments | None = None) -> None:
        """Add an event without a duration, at the present time."""
        details = f',"args":{json.dumps(arguments)}' if arguments else ""
        now = self._nanos(runtime.perf_counter()) / 1000
        self._add(f'{{"ph":"i","s":"t","name":{json.dumps(name)},"pid":{_PROCESS},"tid":{track},"ts":{now:.3f}{details}}}')

    def counters(self, counters: Counters) -> None:
        """Add the present counters of a run: one track for each group of counters."""
        workers = {
            "running": counters.running,
            "waiting for a dependency": counters.waiting_dependency,
            "waiting for the turn": counters.waiting_turn,
            "waiting for input": counters.waiting_input,
            "resting": counters.resting,
        }
        self._counter("workers", workers)
        self._counter("queue (jobs)", {"jobs": counters.queue})
        self._counter("backlog (transactions)", {"transactions": counters.backlog})
        self._counter("rate (transactions/s)", {"transactions": round(counters.rate, 1)})
        self._counter("committed (transactions)", {"transactions": counters.transactions})
        self._counter("retries", {"retries": counters.retries, "younger rolled back": counters.rollbacks})

    def flush(self) -> None:
        """Write the events held in memory."""
        with self._mutex:
            self._flush()

    def close(self) -> None:
        """Write the remaining events, and close the file; may be called twice."""
        with self._mutex:
            self._flush()
            file, self._file = self._file, None
        if file is not None:
            os.close(file)

    def _name(self, what: str, track: int, name: str) -> None:
        self._add(f'{{"ph":"M","name":"{what}","pid":{_PROCESS},"tid":{track},"args":{{"name":{json.dumps(name)}}}}}')

    def _counter(self, name: str, values: Arguments) -> None:
        now = self._nanos(runtime.perf_counter()) / 1000
        self._add(f'{{"ph":"C","name":"{name}","pid":{_PROCESS},"ts":{now:.3f},"args":{json.dumps(values)}}}')

    def _nanos(self, moment: float) -> int:
        return max(0, int((moment - self._zero) * 1e9))

    def _add(self, event: str) -> None:
        with self._mutex:
            if self._file is None:
                return
            self._events.append(event)
            if len(self._events) >= _FLUSH_EVENTS or runtime.perf_counter() - self._flushed_at > _FLUSH_SECONDS:
                self._flush()

    def _flush(self) -> None:
        """Write the events over the end mark of the file, and the end mark after them; called under the mutex."""
        self._flushed_at = runtime.perf_counter()
        if not self._events or self._file is None:
            return
        text = (",\n" if self._any else "") + ",\n".join(self._events)
        self._events.clear()
        self._any = True
        data = text.encode()
        self._write(self._end, data + _TAIL)
        self._end += len(data)

    def _write(self, place: int, data: bytes) -> None:
        file = self._file
        if file is None:
            return
        try:
            view = memoryview(data)
            while view:
                written = os.pwrite(file, view, place)
                view, place = view[written:], place + written
        except OSError as error:
            self.problem = f"{self._path} cannot be written any further: {error.strerror}"
            self._file = None
            self._repair(file)

    def _repair(self, file: int) -> None:
        """Truncate the file to the last complete write."""
        try:
            os.ftruncate(file, self._end)
            os.pwrite(file, _TAIL, self._end)
        except OSError:
            pass
        finally:
            os.close(file)


def timeline_of(trace: str | Path | Timeline | None) -> AbstractContextManager[Timeline | None]:
    """Return a timeline for a ``with`` block: a new one that is closed at the block's end, or an open one that stays open.

    >>> with timeline_of(None) as timeline:
    ...     print(timeline)
    None
    """
    return nullcontext(trace) if trace is None or isinstance(trace, Timeline) else Timeline(trace)


def _refuse_others(path: Path) -> None:
    """Refuse to overwrite a file that is not a timeline, such as a log named by mistake."""
    try:
        with path.open("rb") as file:
            begin = file.read(len(_HEAD))
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"--trace {path} cannot be written: {error.strerror}") from None
    if begin and begin != _HEAD:
        raise UsageError(f"--trace {path}: this file exists and is no timeline of paraply; give another name, or remove it")


def block_arguments(block: Block) -> dict[str, object]:
    """Return the details of a block for a timeline."""
    return {
        "block": block.id,
        "gtid": block.first_gtid,
        "transactions": block.transaction_count,
        "rows": block.rows,
        "bytes": block.bytes,
        "position": f"{block.file}:{block.offset}",
    }
