"""Files that servers keep beside their binlogs, with names that match a pattern for the logs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from paraply.errors import UsageError
from paraply.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LOG_STARTS", "companion_kind", "passed_over_note", "without_companions"]

_KINDS = {
    ".idx": "the GTID index that MariaDB writes beside each binlog",
    ".index": "a server's list of its logs",
    ".state": "MariaDB's GTID state",
    "~": "a server's copy of the list of its logs",
}
_GTID_INDEX = b"\xfe\xfe\x0c\x01"
LOG_STARTS = (b"\xfebin", b"\xfdbin")
"""First bytes of a log, plain and encrypted."""


def without_companions(paths: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the logs among some files, and the files that servers keep beside their logs.

    A file that begins like a log is a log, whatever its name is.

    Raises:
        UsageError: There is no log among the files; the message describes a file and gives a pattern for logs.
    """
    kinds = {path: companion_kind(Path(path)) for path in paths}
    logs = [path for path in paths if kinds[path] is None]
    passed = [path for path in paths if kinds[path] is not None]
    if passed and not logs:
        raise UsageError(
            f"{passed[0]} is {kinds[passed[0]]}, and no log; name the logs themselves, for example binlog.[0-9]*[0-9]",
            file=passed[0],
        )
    return logs, passed


def passed_over_note(passed: Sequence[str]) -> str:
    """Return a note about skipped files."""
    if len(passed) == 1:
        return f"{passed[0]} is {companion_kind(Path(passed[0]))}, and was skipped"
    return f"{counted(len(passed), 'file')} that servers keep beside their logs skipped: {passed[0]} to {passed[-1]}"


def companion_kind(path: Path) -> str | None:
    """Return the kind of a file that servers keep beside their logs, or None for other files."""
    named = next((kind for ending, kind in _KINDS.items() if path.name.endswith(ending)), None)
    if not path.is_file():  # a pipe can only be read once, so it is not opened here
        return None
    with path.open("rb") as file:
        start = file.read(len(_GTID_INDEX))
    if start == _GTID_INDEX:
        return _KINDS[".idx"]
    return None if start in LOG_STARTS else named
