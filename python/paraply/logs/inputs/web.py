"""Logs on a web server."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit, urlunsplit

from paraply.errors import ConnectionFailed, LogTruncated, UsageError
from paraply.logs.inputs.compression import write
from paraply.wording import counted

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["download", "shown"]

PIECE = 1 << 20
PATIENCE = 60
"""Seconds without an answer after which a server counts as gone."""
_NOT_FOUND = frozenset({404, 410})


def shown(url: str) -> str:
    """Return a URL for messages: without a password and without a signature.

    >>> shown("https://me:secret@files.example/logs/binlog.000001?signature=abc")
    'https://files.example/logs/binlog.000001'
    """
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def download(url: str, place: Path) -> None:
    """Copy a file of a web server, in pieces. A name and a password in the URL are for its basic authentication.

    Raises:
        UsageError: There is no such file.
        ConnectionFailed: The server cannot be reached, or refuses.
        LogTruncated: The connection ended too early.
        ParaplyError: There is no space left.
    """
    bare, opener = opener_for(url)
    try:
        with opener.open(bare, timeout=PATIENCE) as answer, place.open("wb") as file:
            while piece := answer.read(PIECE):
                write(file.write, piece, shown(url), place)
            if answer.length:
                raise LogTruncated(f"{shown(url)} ended {counted(answer.length, 'byte')} too early; try again", file=shown(url))
    except urllib.error.HTTPError as error:
        if error.code in _NOT_FOUND:
            raise UsageError(f"there is no file {shown(url)} (HTTP status {error.code})") from None
        raise ConnectionFailed(f"{shown(url)} cannot be read: HTTP status {error.code} {error.reason}") from None
    except http.client.IncompleteRead as error:
        raise LogTruncated(f"{shown(url)} ended {counted(error.expected or 0, 'byte')} too early; try again", file=shown(url)) from None
    except (urllib.error.URLError, OSError, http.client.HTTPException) as error:
        raise ConnectionFailed(f"{shown(url)} cannot be read: {getattr(error, 'reason', error)}; check the address") from None


def opener_for(url: str) -> tuple[str, urllib.request.OpenerDirector]:
    """Return a URL without name and password, and an opener that sends them to this server only, also if it redirects."""
    parts = urlsplit(url)
    bare = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, parts.query, ""))
    logins = urllib.request.HTTPPasswordMgrWithPriorAuth()
    if parts.username is not None:
        logins.add_password(None, bare, unquote(parts.username), unquote(parts.password or ""), is_authenticated=True)
    return bare, urllib.request.build_opener(urllib.request.HTTPBasicAuthHandler(logins))
