"""Archives in a cloud storage, by the package obstore and conditional writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paraply.errors import ParaplyError
from paraply.logs.archived.refusals import changed, exists
from paraply.logs.inputs.cloud import failure, store_of
from paraply.logs.inputs.web import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["CloudStorage"]

_MISSING = ("FileNotFoundError", "NotFoundError")
_PRESENT = ("AlreadyExistsError", "PreconditionError")


class CloudStorage:
    """Archive in a cloud storage.

    Args:
        url: URL of the folder, without a slash at the end.
        purpose: Use of the storage, as the beginning of a sentence.
    """

    largest: int | None = 64 << 20

    def __init__(self, url: str, purpose: str = "reading") -> None:
        self.shown = shown(url)
        self._url = url
        self._store = store_of(url, url, purpose)

    def read(self, name: str) -> bytes | None:
        """Return an object, or None if there is none of this name.

        Raises:
            ConnectionFailed: The storage cannot be reached, or refuses.
        """
        found = self.read_version(name)
        return None if found is None else found[0]

    def read_version(self, name: str) -> tuple[bytes, str] | None:
        """Return an object and its version, or None."""
        import obstore

        try:
            answer = obstore.get(self._store, name)
            return bytes(answer.bytes()), version_of(answer.meta)
        except Exception as error:
            if type(error).__name__ in _MISSING:
                return None
            raise failure(self._url, error) from None

    def names(self) -> Sequence[str]:
        """Return the names of all objects."""
        import obstore

        try:
            return sorted(entry["path"] for entry in obstore.list_with_delimiter(self._store)["objects"])
        except Exception as error:
            raise failure(self._url, error) from None

    def put_new(self, name: str, pieces: Iterable[bytes]) -> None:
        """Store a new object; one of this name with the same content may be there.

        Raises:
            ArchiveRefused: There is an object of this name with another content.
            ConnectionFailed: The storage cannot be reached, or refuses.
        """
        data = b"".join(pieces)
        if self._put(name, data, "create") is None and self.read(name) != data:
            raise exists(self.shown, name)

    def replace(self, name: str, data: bytes, version: str | None) -> str:
        """Replace an object if it has this version still, or make it for None; return the new version.

        Raises:
            ArchiveRefused: Another process has changed it.
            ConnectionFailed: The storage cannot be reached, or refuses.
        """
        mode = "create" if version is None else mode_of(version)
        made = self._put(name, data, mode)
        if made is None:
            # The answer to an earlier try may have been lost.
            found = self.read_version(name)
            if found is None or found[0] != data:
                raise changed(self.shown)
            made = found[1]
        return made

    def remove(self, name: str) -> None:
        """Remove an object that is not needed."""
        import obstore

        try:
            obstore.delete(self._store, name)
        except Exception as error:
            if type(error).__name__ not in _MISSING:
                raise failure(f"{self._url}/{name}", error, "removed") from None

    def _put(self, name: str, data: bytes, mode: Any) -> str | None:
        """Write an object and return its version, or None if the condition does not hold."""
        import obstore

        try:
            return version_of(obstore.put(self._store, name, data, mode=mode, use_multipart=False))
        except ParaplyError:
            raise
        except Exception as error:
            if type(error).__name__ in _PRESENT:
                return None
            raise failure(f"{self._url}/{name}", error, "written") from None


def version_of(meta: Any) -> str:
    """Return the version of an object: its ETag and, where the storage has one, its version."""
    return f"{meta.get('e_tag') or ''}\n{meta.get('version') or ''}"


def mode_of(version: str) -> dict[str, str]:
    """Return the condition that an object has a version still.

    >>> mode_of("abc" + chr(10))
    {'e_tag': 'abc'}
    """
    tag, _, number = version.partition("\n")
    return {name: value for name, value in (("e_tag", tag), ("version", number)) if value}
