"""Plain copies of compressed and remote logs, in a temporary folder that goes with the process."""

from __future__ import annotations

import shutil
import sys
import tempfile
import weakref
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from paraply.errors import UsageError
from paraply.logs.inputs.compression import compression_of, plain_name, unpack, write
from paraply.logs.inputs.keyring import decrypt, keys_for
from paraply.logs.inputs.locations import STANDARD_INPUT, is_url, joined_url
from paraply.runtime import runtime
from paraply.wording import COPIES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["MOST_AT_ONCE", "Stage", "plain_files", "staged"]

PIECE = 1 << 20
MOST_AT_ONCE = 4
"""Locations that are copied at the same time."""


class Stage:
    """Folder of plain copies; each location is copied once.

    A copy has the name of the original without the ending of its compression, because numbers in names give logs their order.
    """

    def __init__(self) -> None:
        self._lock = runtime.lock()
        self._folder: Path | None = None
        self._copies: dict[str, Path] = {}

    def plain(self, location: Path | str) -> Path:
        """Return a plain file with the contents of a location: the file itself if it is plain.

        Raises:
            UsageError: There is no such file or object.
            LogDamaged: Compressed data are damaged or cut off.
            ParaplyError: There is no space left.
        """
        if str(location) == STANDARD_INPUT:
            return self._copy(STANDARD_INPUT, self._standard_input)
        if is_url(location):
            url = joined_url(location)
            return self._copy(url, partial(self._fetched, url))
        path = Path(location)
        if path.is_fifo():  # can be read only once
            return self._copy(str(path), partial(self._copied, path))
        keys = keys_for(path)
        if compression_of(path) is None and keys is None:
            return path
        known = "" if keys is None else f" {sorted(keys.items())}"
        return self._copy(f"{path.resolve()} {path.stat().st_size} {path.stat().st_mtime_ns}{known}", lambda: path)

    def made(self, key: str, name: str, fill: Callable[[Path], None]) -> Path:
        """Return a file of this name with contents that a function writes, the first time."""

        def get() -> Path:
            place = self._place(name)
            fill(place)
            return place

        return self._copy(key, get)

    def _copy(self, key: str, get: Callable[[], Path]) -> Path:
        """Return the copy of a location; get and unpack it the first time."""
        with self._lock:
            copy = self._copies.get(key)
        if copy is None:
            copy = self._unpacked(get())
            with self._lock:
                self._copies[key] = copy
        return copy

    def _place(self, name: str) -> Path:
        """Return a place for a file of this name, in a folder of its own: two logs may have one name."""
        with self._lock:
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix=COPIES))
                weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
            return Path(tempfile.mkdtemp(dir=self._folder)) / name

    def _unpacked(self, path: Path) -> Path:
        if (compression := compression_of(path)) is not None:
            plain = self._place(plain_name(path.name))
            unpack(path, compression, plain)
            path = self._replaced(path, plain)
        if (keys := keys_for(path)) is not None:
            plain = self._place(path.name)
            decrypt(path, keys, plain)
            path = self._replaced(path, plain)
        return path

    def _replaced(self, path: Path, plain: Path) -> Path:
        """Return a copy, and remove what it was made of if that is a copy too."""
        if self._folder is not None and self._folder in path.parents:
            path.unlink()
        return plain

    def _standard_input(self) -> Path:
        if sys.stdin.isatty():
            raise UsageError("`-` reads a log from standard input, which is a terminal: pipe a log into the command")
        place = self._place("stdin")
        keep(sys.stdin.buffer, "standard input", place)
        return place

    def _copied(self, pipe: Path) -> Path:
        place = self._place(pipe.name)
        with pipe.open("rb") as source:
            keep(source, str(pipe), place)
        return place

    def _fetched(self, url: str) -> Path:
        from paraply.logs.inputs.cloud import fetch

        place = self._place(url.partition("?")[0].rpartition("/")[2] or "log")
        fetch(url, place)
        return place


def keep(source: BinaryIO, name: str, place: Path) -> None:
    """Copy what a stream holds to a file."""
    with place.open("wb") as file:
        while piece := source.read(PIECE):
            write(file.write, piece, name, place)


_STAGE = Stage()


def staged(key: str, name: str, fill: Callable[[Path], None]) -> Path:
    """Return a file in the temporary folder; the function writes its contents the first time that the key is used."""
    return _STAGE.made(key, name, fill)


def plain_files(locations: Sequence[Path | str]) -> list[Path]:
    """Return plain files with the contents of some locations, in their order.

    Several are fetched or unpacked at the same time. The copies are in a folder that is removed when the process ends.
    """
    if len(locations) == 1:
        return [_STAGE.plain(locations[0])]
    with runtime.pool(MOST_AT_ONCE, "paraply-inputs") as pool:
        copies = [pool.submit(_STAGE.plain, location) for location in locations]
        return [copy.result() for copy in copies]
