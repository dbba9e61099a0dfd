"""Options for a client in MySQL and MariaDB option files such as ``~/.my.cnf``."""

from __future__ import annotations

import logging
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from paraply.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["read_option_file", "read_own_option_file"]

_DEEPEST = 10
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "r": "\r", "s": " ", "\\": "\\"}

_log = logging.getLogger("paraply.targets")


def read_option_file(path: str | Path, groups: Iterable[str]) -> dict[str, str]:
    r"""Return the options in some groups of an option file; later values override earlier ones.

    The format is that of the servers' own clients: ``#`` and ``;`` begin a comment, ``_`` in a name means ``-``, an option without
    a value is empty, quotes are removed, escapes such as ``\s`` are replaced, ``!include`` and ``!includedir`` are followed.

    Args:
        path: The file.
        groups: Names of groups, such as ``client``.

    Raises:
        UsageError: The file cannot be read, or is writable by everybody. The message contains no option values.
    """
    file = Path(path).expanduser()
    if _writable_by_all(file):
        raise UsageError(f"the option file {path} may be written by everybody: run chmod o-w on it")
    return _read(file, frozenset(groups))


def read_own_option_file(home: str | None, groups: Iterable[str]) -> dict[str, str]:
    """Return the options in the user's ``~/.my.cnf``; an empty dict if the file does not exist or cannot be read."""
    if not home:
        return {}
    file = Path(home) / ".my.cnf"
    if not file.is_file():
        return {}
    if _writable_by_all(file):
        _log.warning("%s is not read because everybody may write to it: run chmod o-w on it", file)
        return {}
    try:
        return _read(file, frozenset(groups))
    except UsageError as error:
        _log.warning("%s", error)
        return {}


def _writable_by_all(file: Path) -> bool:
    try:
        return bool(file.stat().st_mode & stat.S_IWOTH)
    except OSError:
        return False


def _read(file: Path, groups: frozenset[str]) -> dict[str, str]:
    values: dict[str, str] = {}
    group = ""
    for line in _lines(file, _DEEPEST):
        if line.startswith("["):
            group = line[1:].partition("]")[0].strip()
        elif group in groups:
            name, _, value = line.partition("=")
            values[name.strip().replace("_", "-")] = _value(value.strip())
    return values


def _lines(file: Path, depth: int) -> Iterator[str]:
    """Yield the lines of a file without blank lines and comments. The lines of an included file replace its include."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise UsageError(f"the option file {file} cannot be read: {error.strerror}") from None
    except ValueError:
        raise UsageError(f"the option file {file} cannot be read: it is not UTF-8 text") from None
    for line in map(str.strip, lines):
        word, _, place = line.partition(" ")
        if word == "!include" and depth:
            yield from _lines(Path(place.strip()), depth - 1)
        elif word == "!includedir" and depth:
            for included in sorted(Path(place.strip()).glob("*.cnf")):
                yield from _lines(included, depth - 1)
        elif line and line[0] not in "#;!":
            yield line


def _value(text: str) -> str:
    if text[:1] in ("'", '"'):
        end = text.find(text[0], 1)
        text = text[1:end] if end > 0 else text
    else:
        text = text.partition(" #")[0].rstrip()
    return _unescaped(text)


def _unescaped(text: str) -> str:
    parts = iter(text)
    found = []
    for character in parts:
        if character != "\\":
            found.append(character)
            continue
        escaped = next(parts, "")
        found.append(_ESCAPES.get(escaped, f"\\{escaped}"))
    return "".join(found)
