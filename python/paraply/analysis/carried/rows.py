"""Row changes of one table under one definition, whatever it was called and defined before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from paraply._native import Catalog, LogReader, RowDecoder, Selection, TableFilter, row_schema
from paraply.analysis.carried.arrays import ImageMaker
from paraply.analysis.typed import image_type
from paraply.logs.feed import Feed, FeedLimits, FeedRules
from paraply.schema.catalog import SchemaCatalog

if TYPE_CHECKING:
    import pyarrow as pa

    from paraply._native import TransactionBatch, WriteSets
    from paraply.analysis.carried.plan import Form, TablePlan
    from paraply.analysis.parts import LogPart
    from paraply.logs.feed import FeedItem

__all__ = ["NEEDED", "CarriedRows", "carried_schema"]

NEEDED = ("operation", "before", "after", "absent")
"""Columns of a decoder from which images are made."""


def carried_schema(plan: TablePlan) -> pa.Schema:
    """Return the columns of the rows: those of ``paraply.rows``, and ``key_before`` and ``key_after``."""
    import pyarrow as pa

    image = image_type(list(plan.columns))
    key = pa.struct([image.field(name) for name in plan.key])
    kinds = {"before": image, "after": image}
    fields = [pa.field(field.name, kinds.get(field.name, field.type)) for field in row_schema()]
    return pa.schema([*fields, pa.field("key_before", key), pa.field("key_after", key)])


class CarriedRows:
    """Reader of the row changes of one table in a part of a log; iterate over it to get items of the log and their record batches.

    Args:
        part: The part to read.
        plan: The plan of the table.
        columns: The requested columns.
        selection: Conditions that the transactions must meet; with those on tables the names of the plan.
    """

    def __init__(self, part: LogPart, plan: TablePlan, columns: Sequence[str], selection: Selection | None) -> None:
        self._schema = carried_schema(plan)
        self._columns = list(columns) or self._schema.names
        own = [name for name in self._columns if name not in ("key_before", "key_after")]
        self._read = list(dict.fromkeys([*own, *NEEDED, "position", "row"]))
        self._plan = plan
        self._part = part
        self._makers = [ImageMaker(plan, form) for form in plan.forms]
        self._decoders: dict[int, RowDecoder] = {}
        self._active: list[int] = []
        reader = LogReader(part.paths, piece=part.piece, position=part.position, selection=selection, count_rows=False, sizes=part.sizes)
        limits = FeedLimits(batch_transactions=4096)
        self._feed = Feed(reader, SchemaCatalog(), Catalog(), FeedRules("none", on_hashed=self._begin), threaded=False, limits=limits)
        self._feed.seed(part.tables)

    def __iter__(self) -> Iterator[tuple[FeedItem, list[pa.RecordBatch]]]:
        for item in self._feed:
            yield item, list(self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        for number in self._active:
            while (batch := self._decoders[number].next_batch()) is not None:
                yield self._made(self._makers[number], batch)

    def _made(self, maker: ImageMaker, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return a decoder's batch with the images of the plan."""
        import pyarrow as pa

        before, after, absent = maker.make(batch)
        made = {"before": before, "after": after, "absent": absent}
        made["key_before"], made["key_after"] = maker.keys(before, after, absent)
        columns = [made[name] if name in made else batch.column(name) for name in self._columns]
        return pa.RecordBatch.from_arrays(columns, schema=pa.schema([self._schema.field(name) for name in self._columns]))

    def _begin(self, batch: TransactionBatch, _: WriteSets, catalog: Catalog) -> None:
        """Begin a batch with the forms that hold at its start; a statement ends a batch, so that they hold up to its end."""
        if not len(batch):
            self._active = []
            return
        first, last = (self._part.place(batch[index]) for index in (0, len(batch) - 1))
        forms = self._plan.forms
        self._active = [number for number, form in enumerate(forms) if _holds(form, first)]
        names = {forms[number].name for number in self._active}
        for number, form in enumerate(forms):
            if form.created and form.start == last and form.name not in names:  # CREATE TABLE ... SELECT has rows of its own
                catalog.put(form.table)
                self._active.append(number)
        for number in self._active:
            self._decoder(number).begin(batch, catalog)

    def _decoder(self, number: int) -> RowDecoder:
        if number not in self._decoders:
            tables = TableFilter((), [self._plan.forms[number].name])
            self._decoders[number] = RowDecoder(self._read, tables=tables, values=self._makers[number].columns)
        return self._decoders[number]


def _holds(form: Form, place: tuple[int, int]) -> bool:
    """Return True if the rows after a place have this form. The statement that ends the form is the last of its own batch."""
    return form.start < place and (form.end is None or place <= form.end)
