"""Membership of the group: a sequence of views, each with a position among the messages."""

from __future__ import annotations

import threading

from paraply.errors import UsageError
from paraply.group.delivery.messages import MemberId, View, ViewMessage
from paraply.group.delivery.stream import MessageStream

__all__ = ["Membership"]


class Membership:
    """Membership that makes views and sends them, so that every member changes views between the same two messages.

    Args:
        stream: The group's messages.
    """

    def __init__(self, stream: MessageStream) -> None:
        self._stream = stream
        self._mutex = threading.Lock()
        self._numbers: dict[str, int] = {}
        self.view = View(0, ())
        """The newest view."""

    def bootstrap(self, names: list[str]) -> View:
        """Send the first view, with all initial members."""
        with self._mutex:
            members = tuple(MemberId(name, self._number(name), 1) for name in names)
            return self._send(View(1, members))

    def join(self, name: str) -> MemberId:
        """Send a view with one member more.

        Raises:
            UsageError: The member is already in the view.
        """
        with self._mutex:
            if self.view.find(name) is not None:
                raise UsageError(f"member {name} is in the group already: it has to leave, or be expelled, before it can join")
            number = self.view.number + 1
            me = MemberId(name, self._number(name), number)
            self._send(View(number, (*self.view.members, me), joined=(name,)))
            return me

    def remove(self, name: str) -> View:
        """Send a view with one member less.

        Raises:
            UsageError: The member is not in the view.
        """
        with self._mutex:
            if self.view.find(name) is None:
                raise UsageError(f"member {name} is not in the group")
            members = tuple(member for member in self.view.members if member.name != name)
            return self._send(View(self.view.number + 1, members, left=(name,)))

    def _number(self, name: str) -> int:
        return self._numbers.setdefault(name, len(self._numbers) + 1)

    def _send(self, view: View) -> View:
        self.view = view
        self._stream.send(ViewMessage(view))
        return view
