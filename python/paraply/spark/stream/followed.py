"""Growing logs of a stream, each read once; a log that was read to its end may go."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from paraply.analysis.carried.plan import TablePlan
from paraply.analysis.carried.rows import carried_schema
from paraply.analysis.open_gtids import open_gtid
from paraply.analysis.parts import BEGIN, FileMark, LogPart, Place, Scanned, catalog_of, check_unchanged, mark_of, scan
from paraply.analysis.table_versions import lines_of
from paraply.errors import LogTruncated, ParaplyError, UsageError
from paraply.spark.inputs import found_logs, in_order, local_paths, renamed
from paraply.spark.loading import LogPartition, plan_for
from paraply.spark.sequence import check_next
from paraply.spark.stream.offsets import Floor, Offsets, floor_in, key_of, left_behind, logs_in_offset, with_floor

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from paraply._native import ScannedPiece
    from paraply.analysis.parts import Step
    from paraply.schema.catalog import SchemaCatalog
    from paraply.spark.options import Options

__all__ = ["Followed", "FollowedFile"]

NOT_YET = FileMark(0, b"")
LEAST = len(b"\xfebin") + 19
"""Bytes of a log with its first event's header."""


@dataclass
class FollowedFile:
    """The known part of a file.

    Attributes:
        place: The file as it is named.
        pieces: The pieces in order.
        steps: Changes of tables by statements, each with the number of its piece.
        end: Position after the last whole transaction.
        mark: The file's state at the last read.
    """

    place: str
    pieces: list[ScannedPiece] = field(default_factory=list)
    steps: list[tuple[int, Step]] = field(default_factory=list)
    end: Place = BEGIN
    mark: FileMark = NOT_YET

    @property
    def transactions(self) -> int:
        """Number of whole transactions."""
        return sum(piece.transactions for piece in self.pieces)

    @property
    def whole(self) -> bool:
        """True if the file ended after a whole transaction when it was read."""
        return self.mark.size >= LEAST and self.end.offset == self.mark.size

    def add(self, found: Scanned) -> None:
        """Add the new pieces after ``end``."""
        first = len(self.pieces)
        self.pieces += [piece for piece in found.pieces if piece.end > piece.start.offset]
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
        self._floor: Floor | None = None
        self._checked: set[str] = set()

    def begin(self, start: Offsets) -> None:
        """Take over what the first offset has of the logs before it; these need not be there, and are not read."""
        if self._floor is not None:
            return
        self._floor = floor_in(start)
        for name in [name for name in self._files if left_behind(name, start)]:
            del self._files[name]
        if self._files and not self._bounds(start, {}):  # they were read before this offset was known
            self._files.clear()
            self.look(start)

    def look(self, start: Offsets, cuts: dict[str, list[int]] | None = None) -> None:
        """Read the new parts of the logs.

        Args:
            start: Offset before which logs need not be read.
            cuts: Offsets at which files are divided that have not been read before.

        Raises:
            LogError: A file is damaged. A file that ends inside a transaction is not: the rest may follow.
        """
        cuts = cuts or {name: [end] for name, end in logs_in_offset(start).items()}
        for place in self._places():
            name = key_of(place)
            if name not in self._files and left_behind(name, start):
                continue
            known = self._files.setdefault(name, FollowedFile(place))
            known.place = place
            (copy,) = local_paths([place])
            try:
                self._look_at(copy, known, cuts.get(name, []))
            except ParaplyError as error:
                raise renamed(error, {copy: place}) from None

    def _look_at(self, copy: str, known: FollowedFile, cuts: list[int]) -> None:
        check_unchanged(copy, known.mark)
        mark = mark_of(copy)
        if mark.size == known.mark.size or mark.size < LEAST:
            return
        events = self._options.mode == "events"
        found = scan(copy, self._split, start=known.end if known.pieces else None, cuts=cuts, events=events)
        if found.failure is not None and not isinstance(found.failure, LogTruncated):
            raise found.failure
        known.add(found)
        known.mark = mark

    def _places(self) -> list[str]:
        try:
            return found_logs(self._options.paths)
        except UsageError:
            if self._files or any(Path(path).is_dir() or "*" in path for path in self._options.paths):
                return []  # no log exists yet, or all known ones were purged
            raise

    def _in_order(self) -> list[tuple[str, FollowedFile]]:
        return sorted(self._files.items(), key=lambda item: in_order(item[0]))

    def latest(self, start: Offsets, limit: int | None) -> Offsets:
        """Return the offset up to which logs can be read: all, or about ``limit`` bytes from the start, at least one piece.

        A log that was read to its end leaves the offset if there is a later one of its series.

        Raises:
            UsageError: Logs are missing between two of these, or a log has gone before it was read to its end.
        """
        self._check_sequence(start)
        ends = self._ends(start, limit)
        gone = [name for name in ends if self._leaves(name, ends)]
        logs = {name: end for name, end in ends.items() if name not in gone}
        if not logs:
            return start
        position, catalog = self._after({name for name in self._files if left_behind(name, logs)})
        before = self._floor or Floor()
        if not position and before.tables is None and not gone:
            return dict(logs)
        return with_floor(logs, position, catalog)

    def _check_sequence(self, start: Offsets) -> None:
        """Check that each new log of a series follows the one before it."""
        names = [] if self._options.gaps else [name for name, _ in self._in_order() if not left_behind(name, start)]
        for before, name in pairwise(names):
            if name in self._checked or in_order(before)[0] != in_order(name)[0]:
                continue
            places = [self._files[each].place for each in (before, name)]
            check_next(places, local_paths(places), typed=self._options.typed)
            self._checked.add(name)

    def _ends(self, start: Offsets, limit: int | None) -> dict[str, int]:
        """Return the end of each log that is not left behind."""
        ends = logs_in_offset(start)
        taken, full = 0, False
        for name, known in self._in_order():
            if left_behind(name, start):
                continue
            ends.setdefault(name, BEGIN.offset)
            if full:
                continue
            if limit is None:
                ends[name] = max(ends[name], known.end.offset)
                continue
            for piece in known.pieces:
                if piece.start.offset < ends[name]:
                    continue
                size = piece.end - piece.start.offset
                if taken and taken + size > limit:
                    full = True
                    break
                ends[name] = piece.end
                taken += size
            else:
                ends[name] = max(ends[name], known.end.offset)
        return ends

    def _leaves(self, name: str, ends: dict[str, int]) -> bool:
        """Return True if a log was read to its end, and a later one of its series is there.

        Raises:
            UsageError: It has gone before it was read to its end.
        """
        known = self._files.get(name)
        stem, number, _ = in_order(name)
        later = any(other[0] == stem and other[1] > number for other in map(in_order, ends))
        if known is None:
            raise UsageError(
                f"{name} is not there, and was read up to offset {ends[name]} only: transactions after it may be lost; put it back, or"
                " start the query with another checkpoint",
                file=name,
                position=ends[name],
            )
        return later and known.whole and ends[name] >= known.end.offset

    def _after(self, gone: set[str]) -> tuple[int, SchemaCatalog]:
        """Return the number of transactions in logs that have left, and the definitions after them."""
        floor = self._floor or Floor()
        position, catalog = floor.position, self._start_catalog()
        for name, known in self._in_order():
            if name in gone:
                position += known.transactions
                for _, step in known.steps:
                    step(catalog)
        return position, catalog

    def _start_catalog(self) -> SchemaCatalog:
        floor = self._floor or Floor()
        return catalog_of(self._options.definitions() if floor.tables is None else floor.tables)

    def parts(self, start: Offsets, end: Offsets, schema: pa.Schema) -> list[LogPartition]:
        """Return the parts between two offsets.

        Raises:
            UsageError: The offsets do not belong to these logs, or the only table of a typed stream was altered.
        """
        if not self._bounds(start, end):
            self._files.clear()  # a restarted query: its offsets come from an earlier process
            names = {**logs_in_offset(start), **logs_in_offset(end)}
            cuts = {name: sorted({offset[name] for offset in (start, end) if name in offset}) for name in names}
            self.look(start, cuts)
        if not self._bounds(start, end):
            raise UsageError("the stream's checkpoint is not one of these logs: an offset lies between no two transactions")
        plan = self._plan(schema) if self._options.typed else None
        return [LogPartition(part, plan) for part in self._parts(start, end)]

    def _parts(self, start: Offsets, end: Offsets) -> Iterator[LogPart]:
        position, catalog = (self._floor or Floor()).position, self._start_catalog()
        for number_of_file, (name, known) in enumerate(self._in_order()):
            steps = list(known.steps)
            first = 1 << 62 if left_behind(name, start) else start.get(name, 0)
            last = 1 << 62 if left_behind(name, end) else end.get(name, 0)
            for number, found in enumerate(known.pieces):
                within = first <= found.start.offset and found.end <= last
                if within and self._options.may_hold(found.committed, found.transactions):
                    mark = FileMark(found.end, known.mark.head)
                    piece = (found.start, found.end)
                    gtid = self._open_gtid(known, number)
                    yield LogPart(
                        [known.place], position, list(catalog), piece, found.committed, found.transactions, (mark,), number_of_file, gtid
                    )
                position += found.transactions
                while steps and steps[0][0] <= number:
                    steps.pop(0)[1](catalog)

    def _open_gtid(self, known: FollowedFile, number: int) -> str | None:
        """Return the GTID of the transaction in which a piece of events begins."""
        if self._options.mode != "events" or number == 0:
            return None
        (copy,) = local_paths([known.place])
        return open_gtid(copy, [(piece.start, piece.end) for piece in known.pieces[: number + 1]])

    def _plan(self, schema: pa.Schema) -> TablePlan:
        """Return the plan of the only table, whose columns must still be those of the query."""
        tables = list(self._start_catalog())
        lines = lines_of([[step for _, step in known.steps] for _, known in self._in_order()], tables)
        copies = local_paths([known.place for _, known in self._in_order()])
        _, plan = plan_for(self._options, lines, copies)
        now = carried_schema(plan)
        for column in schema:
            if column.name in ("before", "after", "key_before", "key_after") and now.field(column.name).type != column.type:
                raise UsageError(
                    f"{self._options.tables[0]} was altered after the query began: start it again, with the same checkpoint, for its new"
                    " columns",
                    table=self._options.tables[0],
                )
        return plan

    def _bounds(self, start: Offsets, end: Offsets) -> bool:
        """Return True if all offsets are ends of pieces."""
        for offset in (start, end):
            for name, place in logs_in_offset(offset).items():
                known = self._files.get(name)
                ends = set() if known is None else {BEGIN.offset, known.end.offset, *(piece.end for piece in known.pieces)}
                if place not in ends:
                    return False
        return True
