"""The data source ``binlog`` as a stream: a growing folder of logs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pyspark.sql.datasource import DataSourceStreamReader
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxBytes, SupportsTriggerAvailableNow

from paraply.analysis.parts import BEGIN, FileMark, LogPart, Place, Scanned, catalog_of, check_unchanged, mark_of, scan
from paraply.errors import LogTruncated, UsageError
from paraply.spark.failures import reporting_at_once
from paraply.spark.modes import LogPartition, Options, found_logs, read_part

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.datasource import InputPartition
    from pyspark.sql.types import StructType

    from paraply.analysis.parts import Step

__all__ = ["BinlogStreamReader", "Followed", "FollowedFile"]

Offsets = dict[str, int]
NOT_YET = FileMark(0, b"")


@dataclass
class FollowedFile:
    """The known part of a file.

    Attributes:
        pieces: For each piece its start, its end, its number of transactions, and their commit times.
        steps: Changes of tables by statements, each with the number of its piece.
        end: Position after the last whole transaction.
        mark: The file's state at the last read.
    """

    pieces: list[tuple[Place, int, int, tuple[int, int] | None]] = field(default_factory=list)
    steps: list[tuple[int, Step]] = field(default_factory=list)
    end: Place = BEGIN
    mark: FileMark = NOT_YET

    def add(self, found: Scanned) -> None:
        """Add the new pieces after ``end``."""
        first = len(self.pieces)
        self.pieces += [piece for piece in found.pieces if piece[1] > piece[0][0]]
        last = max(len(self.pieces) - 1, 0)
        self.steps += [(min(first + number, last), step) for number, step in found.steps]
        self.end = found.end


class Followed:
    """Growing logs, each read once, in the order of their names.

    Args:
        options: The options of the source.
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        self._files: dict[str, FollowedFile] = {}
        self._split = min(options.split, options.max_bytes or options.split)

    def look(self, cuts: dict[str, list[int]] | None = None) -> Offsets:
        """Read the new parts of the logs.

        Args:
            cuts: Offsets at which files are divided that have not been read before.

        Returns:
            The offset up to which each file can be read.

        Raises:
            LogError: A file is damaged. A file that ends inside a transaction is not: the rest may follow.
        """
        for path in self._paths():
            known = self._files.setdefault(path, FollowedFile())
            check_unchanged(path, known.mark)
            mark = mark_of(path)
            if mark.size == known.mark.size or mark.size < len(b"\xfebin") + 19:
                continue
            events = self._options.mode == "events"
            found = scan(path, self._split, start=known.end if known.pieces else None, cuts=(cuts or {}).get(path, ()), events=events)
            if found.failure is not None and not isinstance(found.failure, LogTruncated):
                raise found.failure
            known.add(found)
            known.mark = mark
        return {path: known.end[0] for path, known in self._files.items()}

    def _paths(self) -> list[str]:
        try:
            return found_logs(self._options.paths)
        except UsageError:
            if self._files or any(Path(path).is_dir() or "*" in path for path in self._options.paths):
                return list(self._files)  # no log exists yet
            raise

    def upto(self, start: Offsets, limit: int) -> Offsets:
        """Return the offsets after about ``limit`` bytes from a start, at least one piece."""
        end, taken = dict(start), 0
        for path, known in self._files.items():
            for (begin, *_), stop in ((piece, piece[1]) for piece in known.pieces):
                if begin[0] < start.get(path, 0):
                    continue
                if taken and taken + stop - begin[0] > limit:
                    return end
                end[path] = stop
                taken += stop - begin[0]
        return end

    def parts(self, start: Offsets, end: Offsets) -> list[LogPart]:
        """Return the parts between two offsets.

        Raises:
            UsageError: The offsets do not belong to these logs.
        """
        if any(path not in self._files for path in end) or not self._bounds(start, end):
            self._files.clear()  # a restarted query: its offsets come from an earlier process
            self.look({path: [*sorted({start.get(path, 0), offset} - {0})] for path, offset in end.items()})
        if not self._bounds(start, end):
            raise UsageError("the stream's checkpoint is not one of these logs: an offset lies between no two transactions")
        catalog = catalog_of(self._options.dumped())
        position = 0
        parts = []
        for path, known in self._files.items():
            steps = list(known.steps)
            for number, (place, stop, transactions, committed) in enumerate(known.pieces):
                if start.get(path, 0) <= place[0] and stop <= end.get(path, 0):
                    mark = FileMark(stop, known.mark.head)
                    parts.append(LogPart([path], position, list(catalog), (place, stop), committed, transactions, (mark,)))
                position += transactions
                while steps and steps[0][0] <= number:
                    steps.pop(0)[1](catalog)
        return parts

    def _bounds(self, start: Offsets, end: Offsets) -> bool:
        """Return True if all offsets are ends of pieces."""
        for offsets in (start, end):
            for path, offset in offsets.items():
                known = self._files.get(path)
                if known is None or (offset > BEGIN[0] and all(piece[1] != offset for piece in known.pieces)):
                    return False
        return True


class BinlogStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reader that follows logs as they grow; it returns a transaction once it is complete.

    Args:
        options: The options of the source.
        schema: The requested columns, in order.

    Raises:
        UsageError: An option is wrong.
    """

    def __init__(self, options: dict[str, str], schema: StructType) -> None:
        from pyspark.sql.pandas.types import to_arrow_schema

        self._options = Options.of(options)
        self._schema = to_arrow_schema(schema, timezone="UTC")
        self._followed = Followed(self._options)
        self._last: Offsets | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802  Spark's name
        """Return the offset before everything."""
        return {}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802  Spark's name
        """Return the limit of the option ``max_bytes``."""
        limit = self._options.max_bytes
        return ReadAllAvailable() if limit is None else ReadMaxBytes(limit)

    @reporting_at_once
    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802  Spark's name
        """Return the offset up to which each file can be read now."""
        latest = self._last if self._last is not None else self._followed.look(cuts_at(start))
        if isinstance(limit, ReadMaxBytes):
            bounded = self._followed.upto(start, limit.max_bytes)
            return {path: min(offset, latest.get(path, 0)) for path, offset in bounded.items()}
        return latest or start

    @reporting_at_once
    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  Spark's name
        """Limit all further reads to what exists now."""
        self._last = self._followed.look()

    @reporting_at_once
    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Return the parts between two offsets."""
        return [] if start == end else [LogPartition(part) for part in self._followed.parts(start, end)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Return the rows of one part, as Arrow record batches."""
        return read_part(cast("LogPartition", partition).part, self._options, self._schema)

    def commit(self, end: dict[str, Any]) -> None:
        """Do nothing: no state has to be kept."""


def cuts_at(offsets: Offsets) -> dict[str, list[int]]:
    """Return the offsets as lists by file."""
    return {path: [offset] for path, offset in offsets.items()}
