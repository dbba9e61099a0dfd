"""Progress estimate: position of a run in its logs, its end, and the time left."""

from __future__ import annotations

from collections import deque
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from paraply.cpu_time import thread_counted
from paraply.errors import ParaplyError
from paraply.runtime import runtime

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paraply.logs.feed import Feed
    from paraply.logs.file_order import LogFile
    from paraply.logs.stop_point import StopPoint
    from paraply.observe.parts import ObservedRun

__all__ = ["ProgressEstimate", "StopFinder", "file_of_stop"]

_RATE_SECONDS = 20.0


class ProgressEstimate:
    """Progress estimate, in bytes from the start of the first log file.

    Args:
        paths: The log files, in order.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        sizes = [Path(path).stat().st_size for path in paths]
        self._begins = dict(zip(paths, accumulate(sizes, initial=0), strict=False))
        self.total = sum(sizes)
        """Bytes up to the end, or up to the stop once it is known."""
        self._done = 0
        self._samples: deque[tuple[float, int]] = deque()

    def place(self, file: str, offset: int) -> int:
        """Return the bytes up to a position in one of the files."""
        return self._begins.get(file, 0) + offset

    def stops_at(self, file: str, offset: int) -> None:
        """Set the end of the run to this position."""
        self.total = max(1, min(self.total, self.place(file, offset)))

    def done(self, run: ObservedRun, feed: Feed) -> int:
        """Return the bytes up to the last transaction that is committed or was skipped; never decreases."""
        last, handed = run.last_block, run.handed
        if last is not None:
            place = self.place(last.end_file, last.end_offset)
        elif handed is not None:
            place = self.place(handed.file, handed.offset)
        else:  # everything read so far was skipped
            place = feed.read_bytes
        self._done = min(self.total, max(self._done, place))
        return self._done

    def sample(self, run: ObservedRun, feed: Feed) -> None:
        """Record the present position; called by one thread, a few times a second."""
        now = runtime.perf_counter()
        self._samples.append((now, self.done(run, feed)))
        while len(self._samples) > 2 and self._samples[0][0] < now - _RATE_SECONDS:
            self._samples.popleft()

    @property
    def seconds_left(self) -> float | None:
        """Estimated seconds left at the rate of the last seconds; None if not known yet."""
        samples = list(self._samples)
        if len(samples) < 2:
            return None
        (begin, before), (end, after) = samples[0], samples[-1]
        if after >= self.total:
            return 0.0
        if end - begin < 0.5 or after <= before:
            return None
        return (self.total - after) * (end - begin) / (after - before)


def file_of_stop(stop: StopPoint, files: Sequence[LogFile]) -> int:
    """Return the index of the file in which the search for the stop begins, by the files' heads.

    A GTID is in the last file before which it was not executed. A time is in the last file whose first transaction was committed before
    that time.
    """
    found = 0
    for index, file in enumerate(files[1:], 1):
        if stop.time is not None:
            moment = file.head.first_committed_at if file.head is not None else None
            behind = moment is not None and moment < stop.time
        else:
            behind = file.previous is not None and not any(gtid in file.previous for _, gtid in stop.gtids)
        if not behind:
            break
        found = index
    return found


class StopFinder:
    """Search for the stop in the logs, in a thread that takes at most half a core; only the progress estimate needs it.

    Args:
        estimate: Progress estimate that gets the position of the stop.
        stop: The stop.
        files: The logs with their heads.
    """

    def __init__(self, estimate: ProgressEstimate, stop: StopPoint, files: Sequence[LogFile]) -> None:
        self._estimate = estimate
        self._stop = stop
        self._files = files
        self._ended = runtime.event()
        self._thread = runtime.thread(self._look, name="paraply-stop-finder")

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def end(self) -> None:
        """End the search, whether or not it has found the stop, and wait for the thread's end."""
        self._ended.set()
        self._thread.join()

    @thread_counted("watcher")
    def _look(self) -> None:
        from paraply._native import LogReader

        paths = [file.path for file in self._files[file_of_stop(self._stop, self._files) :]]
        try:
            reader = LogReader(paths, verify_checksums=False, stop=self._stop.native())
            last = None
            began = runtime.perf_counter()
            while (batch := reader.next_batch()) is not None:
                last = batch[len(batch) - 1]
                now = runtime.perf_counter()
                if self._ended.wait(now - began):
                    return
                began = runtime.perf_counter()
        except ParaplyError:  # the run itself reports the error
            return
        if (stopped := reader.stopped) is not None:
            file, offset = stopped.file, stopped.offset
            if stopped.included and last is not None:
                file, offset = last.file, last.end_offset
            self._estimate.stops_at(file, offset)
