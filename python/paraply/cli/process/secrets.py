"""Removal of passwords from the process list and from messages."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

__all__ = ["hide_arguments", "redacted"]

# A path has only one of the two slashes.
_IN_TEXT = re.compile(r"(\b[A-Za-z][A-Za-z0-9+]*:/{1,2}[^\s:/@]*):\S+@")
_IN_QUERY = re.compile(r"([?&](?:ssl)?password=)[^&\s]+")
_ARGUMENT = re.compile(rb"[A-Za-z][A-Za-z0-9+]*://[^:/@]*:(?P<password>.+)@")
_QUERY = re.compile(rb"[?&](?:ssl)?password=(?P<password>[^&]+)")
_STAT = Path("/proc/self/stat")
_MEMORY = Path("/proc/self/mem")
_ARGUMENTS_BEGIN, _ARGUMENTS_END = 48 - 3, 49 - 3
"""Indexes of the arguments' start and end in ``_STAT``, counted from 0 after the name of the program."""


def redacted(text: str) -> str:
    """Return a text without the passwords of URLs in it.

    >>> redacted("cannot read mysql://app:secret@db/shop?x=1")
    'cannot read mysql://app:***@db/shop?x=1'
    >>> redacted("binlog.000001:4711 is broken")
    'binlog.000001:4711 is broken'
    """
    return _IN_QUERY.sub(r"\1***", _IN_TEXT.sub(r"\1:***@", text))


def hide_arguments() -> None:
    """Overwrite the passwords of URLs in this process's arguments, which ``ps`` shows; do nothing if that fails.

    The servers' own clients do the same. Between the start of the process and this call the passwords are visible.
    """
    with contextlib.suppress(OSError, ValueError, IndexError):
        fields = _STAT.read_bytes().rpartition(b")")[2].split()
        begin, end = int(fields[_ARGUMENTS_BEGIN]), int(fields[_ARGUMENTS_END])
        if not 0 < end - begin < 1 << 20:
            return
        with _MEMORY.open("r+b", buffering=0) as memory:
            memory.seek(begin)
            arguments = memory.read(end - begin)
            for place, length in password_places(arguments):
                memory.seek(begin + place)
                memory.write(b"*" * length)


def password_places(arguments: bytes) -> list[tuple[int, int]]:
    r"""Return offsets and lengths of passwords in arguments that are separated by NUL.

    >>> password_places(b"paraply\0--to\0mysql://app:se@cret@db\0")
    [(25, 7)]
    """
    found = []
    begin = 0
    for argument in arguments.split(b"\0"):
        for pattern in (_ARGUMENT, _QUERY):
            found += [(begin + match.start("password"), len(match["password"])) for match in pattern.finditer(argument)]
        begin += len(argument) + 1
    return found
