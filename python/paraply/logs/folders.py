"""The logs in a folder: those of one series, in the order of the numbers in their names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from paraply.errors import UsageError
from paraply.logs.companions import LOG_STARTS, companion_kind
from paraply.logs.file_names import split_name

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["logs_in"]

_IN_INNODB = ".ibb"


def logs_in(folder: Path) -> list[str]:
    """Return the logs in a folder, in order; other files of a server's data folder are passed over.

    Raises:
        UsageError: There is none, there are logs of several series, or one of the series cannot be read.
    """
    files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    # Logs in InnoDB are no such files, and must not be passed over: the reader says what to do.
    logs = [path for path in files if _is_log(path) or path.suffix == _IN_INNODB]
    if not logs:
        raise UsageError(f"there is no log in the folder {folder}; name the logs themselves", file=str(folder))
    stems = sorted({split_name(path)[0] for path in logs})
    if len(stems) > 1:
        examples = " or ".join(f"{folder / stem}.[0-9]*[0-9]" for stem in stems[:2])
        raise UsageError(
            f"{folder} holds logs of several series ({', '.join(stems)}); name those of one, such as {examples}", file=str(folder)
        )
    _refuse_others(set(files) - set(logs), stems[0])
    return [str(path) for path in sorted(logs, key=lambda path: split_name(path)[1] or 0)]


def _refuse_others(files: Iterable[Path], stem: str) -> None:
    """Refuse a file that is named as a log of the series and is none: without it transactions may be missing."""
    for path in sorted(files):
        if re.match(rf"{re.escape(stem)}\.\d{{6}}", path.name) and companion_kind(path) is None:
            raise UsageError(
                f"{path} is named as one of the logs beside it, and does not begin as one; unpack it, or name the logs themselves",
                file=str(path),
            )


def _is_log(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) in LOG_STARTS
