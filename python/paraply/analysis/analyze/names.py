"""Names of the keys over which transactions conflict, and the replacement of their values."""

from __future__ import annotations

import hashlib
import secrets
from typing import TYPE_CHECKING

from paraply.analysis.analyze.result import KeyName

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["KeyNames", "hidden"]

_TAG_BITS = 31
_SECRET_BYTES = 32
_SHOWN_BYTES = 6
_LONGEST = 60


class KeyNames:
    """Names by hash, and by the short tags of a recording.

    Args:
        hides: True to replace values by a keyed hash; its key is random and forgotten.
    """

    def __init__(self, *, hides: bool = False) -> None:
        self._hide = hidden(secrets.token_bytes(_SECRET_BYTES)) if hides else None
        self._names: dict[int, KeyName] = {}

    def __contains__(self, key: int) -> bool:
        """Return True if a key has a name."""
        return tag_of(key) in self._names

    def add(self, key: int, table: str, name: str, values: list[str]) -> None:
        """Add a name by its hash."""
        if self._hide is not None and values:
            values = [self._hide([table, name, *values])]
        shown = tuple(value if len(value) <= _LONGEST else f"{value[:_LONGEST]}..." for value in values)
        self._names[tag_of(key)] = KeyName(table, name, shown)

    def name(self, key: int) -> KeyName:
        """Return the name of a hash or a tag; for an unknown one its number."""
        tag = tag_of(key)
        return self._names.get(tag) or KeyName("", "key", (f"#{tag:08x}",))


def tag_of(key: int) -> int:
    """Return the tag of a hash.

    >>> tag_of(2**63 + 2**31 + 5)
    5
    """
    return key & ((1 << _TAG_BITS) - 1)


def hidden(secret: bytes) -> Callable[[list[str]], str]:
    """Return a function that replaces values by a keyed hash: equal values stay equal.

    >>> hide = hidden(b"secret")
    >>> hide(["a", "b"]) == hide(["a", "b"]), hide(["a", "b"]) == hide(["ab", ""])
    (True, False)
    """

    def hide(values: list[str]) -> str:
        text = b"".join(len(data).to_bytes(8, "big") + data for data in (value.encode(errors="surrogatepass") for value in values))
        return "#" + hashlib.blake2b(text, key=secret, digest_size=_SHOWN_BYTES).hexdigest()

    return hide
