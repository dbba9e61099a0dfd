"""Images of rows as Arrow structs of one definition."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from paraply.analysis.carried.conversion import NotKnown
from paraply.analysis.dates import cast_values
from paraply.analysis.typed import image_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from paraply.analysis.carried.conversion import Conversion
    from paraply.analysis.carried.plan import Carried, Form, TablePlan

__all__ = ["ImageMaker"]


class ImageMaker:
    """Maker of the images of one form's rows under the plan's definition.

    Args:
        plan: The plan of the table.
        form: The definition of the rows.
    """

    def __init__(self, plan: TablePlan, form: Form) -> None:
        self._names = [column.name for column in plan.columns]
        self._type = image_type(list(plan.columns))
        self._sources = form.sources
        self._key = plan.key
        read = {source.column for source in form.sources if source.column is not None}
        self.columns = [(column.name, column.binary) for column in form.columns if column.name in read]
        """The columns of the definition that are read, each with True if it holds bytes."""
        self._static = [name for name, source in zip(self._names, form.sources, strict=True) if not source.known]
        self._targets: dict[str, list[int]] = defaultdict(list)
        for place, source in enumerate(form.sources):
            if source.column is not None:
                self._targets[source.column].append(place)

    def make(self, batch: pa.RecordBatch) -> tuple[pa.Array, pa.Array, pa.Array]:
        """Return the images before and after the changes, and the names of the columns that are not known in the last image of each row.

        Args:
            batch: Rows with ``operation``, ``before``, ``after`` and ``absent`` of the form's definition.
        """
        import pyarrow as pa

        rows = batch.num_rows
        unknown: dict[int, set[int]] = defaultdict(set)
        images = []
        for name in ("before", "after"):
            image = batch.column(name)
            fields = {field.name: values for field, values in zip(image.type, image.flatten(), strict=True)}
            children = [self._column(place, fields, rows, unknown if name == "after" else None) for place in range(len(self._names))]
            images.append(pa.StructArray.from_arrays(children, fields=list(self._type), mask=image.is_null()))
        after = self._filled(images[1], batch, unknown)
        return images[0], after, self._absent(batch, unknown)

    def keys(self, before: pa.Array, after: pa.Array, absent: pa.Array) -> tuple[pa.Array, pa.Array]:
        """Return the primary key before and after; a part that the image after an update lacks has not changed."""
        import pyarrow as pa
        import pyarrow.compute as pc

        pairs = []
        for image, other in ((before, before), (after, before)):
            if not self._key:
                pairs.append(pa.nulls(len(before), pa.struct([])))
                continue
            parts = [image.field(name) for name in self._key]
            if other is not image and len(absent.values):
                parts = [pc.coalesce(part, other.field(name)) for part, name in zip(parts, self._key, strict=True)]
            fields = [self._type.field(name) for name in self._key]
            pairs.append(pa.StructArray.from_arrays(parts, fields=fields, mask=image.is_null()))
        return pairs[0], pairs[1]

    def _column(self, place: int, fields: dict[str, pa.Array], rows: int, unknown: dict[int, set[int]] | None) -> pa.Array:
        """Return the values of one column of the plan."""
        import pyarrow as pa

        source, kind = self._sources[place], self._type[place].type
        if source.column is None:
            return pa.nulls(rows, kind) if source.constant is None else _constant(source.constant, kind, rows)
        failed: set[int] = set()
        values = _cast(_converted(fields[source.column], source.conversions, failed), kind, failed)
        if unknown is not None:
            for row in failed:
                unknown[row].add(place)
        return values

    def _filled(self, after: pa.Array, batch: pa.RecordBatch, unknown: dict[int, set[int]]) -> pa.Array:
        """Fill in the columns that images lack: of inserts the defaults; what is not known goes to ``unknown``."""
        import pyarrow as pa

        lacking = batch.column("absent")
        if not len(lacking.values):
            return after
        operations = batch.column("operation").to_pylist()
        fills: dict[int, list[int]] = defaultdict(list)
        for row, names in enumerate(lacking.to_pylist()):
            for name in names:
                for place in self._targets.get(name, ()):
                    if operations[row] == "insert" and self._sources[place].has_default:
                        fills[place].append(row)
                    else:
                        unknown[row].add(place)
        children = [after.field(place) for place in range(len(self._names))]
        for place, rows in fills.items():
            children[place] = _replaced(children[place], rows, self._sources[place])
        return pa.StructArray.from_arrays(children, fields=list(self._type), mask=after.is_null())

    def _absent(self, batch: pa.RecordBatch, unknown: dict[int, set[int]]) -> pa.Array:
        """Return the names of unknown columns of each row."""
        import pyarrow as pa

        kind = pa.list_(pa.string())
        if not unknown:
            return pa.array([self._static], kind).take(pa.array([0] * batch.num_rows, pa.int32())) if self._static else _no_names(batch)
        static = set(self._static)
        places = {name: place for place, name in enumerate(self._names)}
        named = [static | {self._names[place] for place in unknown.get(row, ())} for row in range(batch.num_rows)]
        return pa.array([sorted(names, key=places.__getitem__) for names in named], kind)


def _no_names(batch: pa.RecordBatch) -> pa.Array:
    import pyarrow as pa

    return pa.ListArray.from_arrays(pa.array([0] * (batch.num_rows + 1), pa.int32()), pa.array([], pa.string()))


def _constant(value: Any, kind: pa.DataType, rows: int) -> pa.Array:
    import pyarrow as pa

    made = _cast(pa.array([value]), kind, set())
    return made.take(pa.array([0] * rows, pa.int32()))


def _replaced(values: pa.Array, rows: Sequence[int], source: Carried) -> pa.Array:
    """Return the values with the default in some rows."""
    import pyarrow as pa
    import pyarrow.compute as pc

    mask = [False] * len(values)
    for row in rows:
        mask[row] = True
    default = pa.nulls(1, values.type) if source.default is None else _constant(source.default, values.type, 1)
    return pc.replace_with_mask(values, pa.array(mask), default.take(pa.array([0] * len(rows), pa.int32())))


def _converted(values: pa.Array, conversions: Sequence[Conversion], failed: set[int]) -> pa.Array:
    """Return values after conversions; each distinct value is converted once."""
    import pyarrow as pa

    if not conversions:
        return values
    coded = values.dictionary_encode()
    made, bad = [], set()
    for place, value in enumerate(coded.dictionary.to_pylist()):
        try:
            for step in conversions:
                value = step.apply(value)
            made.append(value)
        except NotKnown:
            made.append(None)
            bad.add(place)
    if bad:
        failed.update(row for row, place in enumerate(coded.indices.to_pylist()) if place in bad)
    return pa.array(made, values.type).take(coded.indices)


def _cast(values: pa.Array, kind: pa.DataType, failed: set[int]) -> pa.Array:
    """Return values in another type; a value that does not fit becomes null, and its row is noted."""
    import pyarrow as pa

    try:
        return cast_values(values, kind)
    except pa.ArrowInvalid:
        made: list[Any] = []
        for row, value in enumerate(values):
            try:
                made.append(value.cast(kind))
            except pa.ArrowInvalid:
                made.append(None)
                failed.add(row)
        return pa.array([None if value is None else value.as_py() for value in made], kind)
