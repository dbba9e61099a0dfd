"""A queue between two threads, bounded by number of items and by bytes."""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

from paraply.runtime import runtime

__all__ = ["BoundedQueue"]

Item = TypeVar("Item")


class BoundedQueue(Generic[Item]):
    """A queue for one producer and one consumer. An item larger than the limit is alone in the queue.

    Args:
        items: Most items in the queue.
        size: Most bytes in the queue, by the sizes given to ``put``.

    >>> queue = BoundedQueue[str](items=2, size=100)
    >>> queue.put("a", 10), len(queue)
    (True, 1)
    >>> queue.end()
    >>> queue.get(), queue.get()
    ('a', None)
    """

    def __init__(self, items: int, size: int) -> None:
        self._mutex = runtime.lock()
        self._changed = runtime.condition(self._mutex)
        self._items: deque[tuple[Item, int]] = deque()
        self._most_items = items
        self._most_size = size
        self._size = 0
        self._ended = False
        self._error: BaseException | None = None

    def __len__(self) -> int:
        return len(self._items)

    def put(self, item: Item, size: int) -> bool:
        """Append an item; wait while the queue is full.

        Returns:
            False if the consumer has closed the queue and will not take the item.
        """
        with self._mutex:
            while self._items and not self._ended and (len(self._items) >= self._most_items or self._size + size > self._most_size):
                self._changed.wait()
            if self._ended:
                return False
            self._items.append((item, size))
            self._size += size
            self._changed.notify()
            return True

    def end(self, error: BaseException | None = None) -> None:
        """End the queue as the producer. The consumer gets an error, if any, after the earlier items."""
        with self._mutex:
            if not self._ended:
                self._ended, self._error = True, error
            self._changed.notify_all()

    def close(self) -> None:
        """Close the queue as the consumer: drop all items and let a waiting producer continue."""
        with self._mutex:
            self._ended = True
            self._error = None
            self._items.clear()
            self._size = 0
            self._changed.notify_all()

    def get(self) -> Item | None:
        """Return the next item, and wait for it; None at the end.

        Raises:
            BaseException: The error with which the producer ended the queue.
        """
        with self._mutex:
            while not self._items and not self._ended:
                self._changed.wait()
            if not self._items:
                if self._error is not None:
                    raise self._error
                return None
            item, size = self._items.popleft()
            self._size -= size
            self._changed.notify()
            return item
