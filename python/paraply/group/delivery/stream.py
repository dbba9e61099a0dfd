"""The group's messages in one order for all members."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from paraply.group.delivery.messages import Message
from paraply.runtime import runtime

__all__ = ["MessageStream", "StreamReader"]


@dataclass(frozen=True, slots=True)
class _Sent:
    message: Message
    due: float


class MessageStream:
    """Totally ordered messages: every reader gets the same messages in the same order, each after its delay.

    Messages that every reader has read are dropped.

    Args:
        latency: Delay of a message to every member, also its sender, because the group has to agree on its position; in seconds.

    >>> stream = MessageStream()
    >>> reader = stream.reader()
    >>> from paraply.group.delivery.messages import View, ViewMessage
    >>> stream.send(ViewMessage(View(1, ())))
    1
    >>> reader.take(), reader.take()
    (ViewMessage(view=View(number=1, members=(), joined=(), left=())), None)
    """

    def __init__(self, latency: float = 0.0) -> None:
        self.latency = latency
        self._mutex = runtime.lock()
        self._arrived = runtime.condition(self._mutex)
        self._sent: deque[_Sent] = deque()
        self._first = 1
        self._readers: list[StreamReader] = []

    @property
    def end(self) -> int:
        """Position of the last message, from 1; 0 before the first."""
        return self._first + len(self._sent) - 1

    def send(self, message: Message) -> int:
        """Append a message, and return its position."""
        with self._mutex:
            self._sent.append(_Sent(message, runtime.monotonic() + self.latency))
            self._arrived.notify_all()
            return self._first + len(self._sent) - 1

    def reader(self, after: int | None = None) -> StreamReader:
        """Return a reader that begins after a position; by default after the last message.

        Raises:
            ValueError: Messages after that position were already dropped.
        """
        with self._mutex:
            position = self._first + len(self._sent) - 1 if after is None else after
            if position < self._first - 1:
                raise ValueError(f"the messages after position {position} were dropped")
            reader = StreamReader(self, position)
            self._readers.append(reader)
            return reader

    def wake(self) -> None:
        """Wake waiting readers, so that they notice when they are closed."""
        with self._mutex:
            self._arrived.notify_all()

    def _take(self, reader: StreamReader, wait: float) -> Message | None:
        deadline = runtime.monotonic() + wait
        with self._mutex:
            while not reader.closed:
                now = runtime.monotonic()
                index = reader.position - self._first + 1
                due = self._sent[index].due if index < len(self._sent) else None
                if due is not None and due <= now:
                    return self._deliver(reader, index)
                if now >= deadline:
                    return None
                until = deadline if due is None else min(due, deadline)
                self._arrived.wait(until - now)
            return None

    def _deliver(self, reader: StreamReader, index: int) -> Message:
        message = self._sent[index].message
        reader.position += 1
        if index == 0:
            self._forget()
        return message

    def _forget(self) -> None:
        read = min((reader.position for reader in self._readers), default=self.end)
        while self._first <= read and self._sent:
            self._sent.popleft()
            self._first += 1

    def _close(self, reader: StreamReader) -> None:
        with self._mutex:
            reader.closed = True
            if reader in self._readers:
                self._readers.remove(reader)
            self._forget()
            self._arrived.notify_all()


class StreamReader:
    """Reader of the stream for one member; made by ``MessageStream.reader``."""

    def __init__(self, stream: MessageStream, position: int) -> None:
        self._stream = stream
        self.position = position
        """Position of the last message taken."""
        self.closed = False
        """True if no more messages are taken."""

    @property
    def waiting(self) -> int:
        """Number of messages not taken yet, including delayed ones."""
        return max(0, self._stream.end - self.position)

    def take(self, wait: float = 0.0) -> Message | None:
        """Return the next message; waits for it for some seconds. None if none arrives."""
        return self._stream._take(self, wait)  # noqa: SLF001 - reader and stream are one unit

    def close(self) -> None:
        """Take no more messages, and drop those kept for this reader only."""
        self._stream._close(self)  # noqa: SLF001
