"""Reading logs: open files, advance the schema, hand out batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from paraply._native import LogReader, Transaction
from paraply.errors import UsageError
from paraply.source.companions import without_companions

__all__ = ["beside_logs", "log_paths", "open_log"]


def beside_logs(paths: Path | str | Sequence[Path | str]) -> list[str]:
    """Return the files among these that only stand beside logs, and are passed over."""
    given = [paths] if isinstance(paths, (str, Path)) else list(paths)
    return without_companions([str(path) for path in given])[1]


def log_paths(paths: Path | str | Sequence[Path | str]) -> list[str]:
    """Return the names of one or several logs as the native reader takes them.

    Files that servers keep beside their logs are passed over, where logs are named with them.

    Raises:
        UsageError: There is none, or one is no file.

    >>> log_paths("no/such/log")
    Traceback (most recent call last):
    ...
    paraply.errors.UsageError: there is no log file no/such/log
    """
    given = [paths] if isinstance(paths, (str, Path)) else list(paths)
    if not given:
        raise UsageError("name at least one log file")
    for path in given:
        if not Path(path).exists():
            raise UsageError(f"there is no log file {path}", file=str(path))
        if not Path(path).is_file():
            raise UsageError(f"{path} is no file; name the logs in it one by one, in order", file=str(path))
    logs, _ = without_companions([str(path) for path in given])
    return logs


def open_log(paths: Path | str | Sequence[Path | str], *, verify_checksums: bool = True) -> Iterator[Transaction]:
    """Reads the transactions of binlogs or relay logs of MySQL and MariaDB, in order.

    Memory is needed for a batch of transactions, not for the file.

    Args:
        paths: One file, or several in order.
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
