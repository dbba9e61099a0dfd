"""Logs in a cloud storage, by the package obstore."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from glob import has_magic
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from paraply._extras import require_extra
from paraply.errors import ConnectionFailed, ParaplyError, UsageError
from paraply.logs.file_names import split_name
from paraply.logs.inputs.compression import plain_name, write
from paraply.logs.inputs.locations import CLOUD_SCHEMES, WEB_SCHEMES
from paraply.logs.inputs.storage_options import storage_options_for
from paraply.logs.inputs.web import download, shown

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["fetch", "logs_below", "logs_matching"]

PIECE = 4 << 20
_ANY_URL = re.compile(r"\w+://\S+")
_HOW = {
    "s3": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and, for another server, AWS_ENDPOINT_URL",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "az": "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
}
"""Environment variables that hold credentials."""


def fetch(url: str, place: Path) -> None:
    """Copy an object to a file, in pieces.

    Raises:
        UsageError: There is no such object, its scheme is not known, or the extra ``cloud`` is not installed.
        ConnectionFailed: The server cannot be reached, or refuses.
        ParaplyError: There is no space left.
    """
    parts = urlsplit(url)
    if parts.scheme in WEB_SCHEMES:
        download(url, place)
        return
    if parts.scheme not in CLOUD_SCHEMES:
        known = ", ".join(f"{scheme}://" for scheme in (*CLOUD_SCHEMES, *WEB_SCHEMES))
        raise UsageError(f"{shown(url)}: logs are read from {known}, and from files")
    above, _, name = parts.path.rpartition("/")
    store = store_of(url, urlunsplit((parts.scheme, parts.netloc, above, "", "")))
    try:
        import obstore

        with place.open("wb") as file:
            for piece in obstore.get(store, name).stream(min_chunk_size=PIECE):
                write(file.write, bytes(piece), shown(url), place)
    except ParaplyError:
        raise
    except Exception as error:
        raise failure(url, error) from None


def logs_below(url: str) -> list[str]:
    """Return the URLs of the logs in a folder of a storage, in the order of the numbers in their names.

    Raises:
        UsageError: There are no logs, or logs of several series.
        ConnectionFailed: The server cannot be reached, or refuses.
    """
    if urlsplit(url).scheme in WEB_SCHEMES:
        raise UsageError(f"{shown(url)}: a web server gives no list of its files; name the logs themselves")
    store = store_of(url, url)
    try:
        import obstore

        listed = [entry["path"] for entry in obstore.list_with_delimiter(store)["objects"]]
    except Exception as error:
        raise failure(url, error) from None
    numbered: dict[str, list[tuple[int, str]]] = {}
    for path in listed:
        name = path.rpartition("/")[2]
        stem, number = split_name(plain_name(name))
        if number is not None:
            numbered.setdefault(stem, []).append((number, name))
    if len(numbered) != 1:
        found = f"logs of several series ({', '.join(sorted(numbered))})" if numbered else "no logs with numbers in their names"
        raise UsageError(f"{shown(url)} holds {found}; name the logs themselves")
    names = [name for _, name in sorted(next(iter(numbered.values())))]
    twice = [name for name, after in pairwise(names) if plain_name(name) == plain_name(after)]
    if twice:
        raise UsageError(
            f"{shown(url)} holds {plain_name(twice[0])} twice, plain and compressed or in two formats; name the logs themselves"
        )
    return [url.rstrip("/") + "/" + name for name in names]


def logs_matching(url: str) -> list[str]:
    """Return the URLs of the objects of a folder whose names match a pattern, in the order of the numbers in their names.

    Raises:
        UsageError: There is none, or the pattern is not in the last part of the URL.
        ConnectionFailed: The server cannot be reached, or refuses.
    """
    folder, _, pattern = url.rpartition("/")
    if has_magic(folder) or urlsplit(url).scheme in WEB_SCHEMES:
        raise UsageError(f"{shown(url)}: a pattern can stand in the last part of the URL of a storage only; name the logs themselves")
    store = store_of(url, folder)
    try:
        import obstore

        names = [entry["path"].rpartition("/")[2] for entry in obstore.list_with_delimiter(store)["objects"]]
    except Exception as error:
        raise failure(url, error) from None
    found = [name for name in names if fnmatchcase(name, pattern) and not name.endswith(".index")]
    if not found:
        raise UsageError(f"there is no object {shown(url)}")
    found.sort(key=lambda name: (split_name(plain_name(name))[0], split_name(plain_name(name))[1] or 0, name))
    return [f"{folder}/{name}" for name in found]


def store_of(url: str, folder: str, purpose: str = "reading") -> Any:
    """Return the storage of a folder.

    Args:
        url: Location that is used, for messages.
        folder: URL of the folder.
        purpose: Use of the location, as the beginning of a sentence.

    Raises:
        UsageError: The URL cannot be used, or the extra ``cloud`` is not installed.
    """
    require_extra("cloud", f"{purpose} {shown(url)}")
    from obstore.store import from_url

    options: Any = {"allow_http": True}
    config: Any = storage_options_for(folder) or None
    try:
        return from_url(folder, config=config, client_options=options)
    except Exception as error:
        raise UsageError(f"{shown(url)}: {first_line(error)}") from None


def failure(url: str, error: Exception, use: str = "read") -> ParaplyError:
    """Return the error for an object that cannot be read, or used in another way."""
    kind = type(error).__name__
    if isinstance(error, FileNotFoundError) or kind == "NotFoundError":
        return UsageError(f"there is no object {shown(url)}")
    scheme = urlsplit(url).scheme
    how = f"; credentials come from the environment: {_HOW[scheme]}" if scheme in _HOW else ""
    return ConnectionFailed(f"{shown(url)} cannot be {use}: {first_line(error)}{how}")


def first_line(error: Exception) -> str:
    """Return the first line of an error; URLs in it lose passwords and signatures."""
    text = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return _ANY_URL.sub(lambda found: shown(found[0].replace("%3F", "?")), text)
