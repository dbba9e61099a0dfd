"""Reading logs: open files, advance the schema, hand out batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from paraply._native import LogReader, Transaction
from paraply.errors import UsageError
from paraply.logs.companions import without_companions
from paraply.logs.folders import logs_in

__all__ = ["beside_logs", "log_paths", "open_log"]


def beside_logs(paths: Path | str | Sequence[Path | str]) -> list[str]:
    """Return the files among these that only stand beside logs, and are passed over."""
    return without_companions([str(path) for path in _given(paths) if not Path(path).is_dir()])[1]


def _given(paths: Path | str | Sequence[Path | str]) -> list[Path | str]:
    return [paths] if isinstance(paths, (str, Path)) else list(paths)


def log_paths(paths: Path | str | Sequence[Path | str]) -> list[str]:
    """Return the names of one or several logs as the native reader takes them.

    Files that servers keep beside their logs are passed over, where logs are named with them. A folder stands for the logs in it, in the
    order of their numbers.

    Raises:
        UsageError: There is none, or one is neither a file nor a folder with logs of one series.

    >>> log_paths("no/such/log")
    Traceback (most recent call last):
    ...
    paraply.errors.UsageError: there is no log file no/such/log
    """
    given = _given(paths)
    if not given:
        raise UsageError("name at least one log file")
    files: list[str] = []
    for path in given:
        if not Path(path).exists():
            raise UsageError(f"there is no log file {path}", file=str(path))
        if Path(path).is_dir():
            files += logs_in(Path(path))
        elif Path(path).is_file():
            files.append(str(path))
        else:
            raise UsageError(f"{path} is neither a file nor a folder", file=str(path))
    logs, _ = without_companions(files)
    return logs


def open_log(paths: Path | str | Sequence[Path | str], *, verify_checksums: bool = True) -> Iterator[Transaction]:
    """Reads the transactions of binlogs or relay logs of MySQL and MariaDB, in order.

    Memory is needed for a batch of transactions, not for the file.

    Args:
        paths: One file or folder, or several in order.
        verify_checksums: Check every event's CRC32, where the log has them.

    Yields:
        One transaction after the other, also those without rows.

    Raises:
        UsageError: A file is not there.
        NotALog: A file does not begin as a log does.
        LogDamaged: A checksum or a structure is wrong, or (as ``LogTruncated``) the log ends too early.
        LogNotUnderstood: Something that must not be guessed, such as row changes in statement format.
    """
    reader = LogReader(log_paths(paths), verify_checksums=verify_checksums)
    while (batch := reader.next_batch()) is not None:
        yield from batch
