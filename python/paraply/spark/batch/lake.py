"""A lake from Spark: a query decides how far, one writer on the driver does the work of ``paraply lake``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paraply._native import GtidSet
from paraply.applier.selection.filters import Filters, parse_filters
from paraply.errors import ParaplyError, UsageError
from paraply.lake import LakeOptions, LakeReport, LakeWriter
from paraply.lake.options import BATCH_BYTES, BATCH_ROWS
from paraply.lake.store import open_store
from paraply.spark.batch.end import end_of
from paraply.spark.batch.series import logs_up_to
from paraply.spark.failures import marked
from paraply.spark.options import named_definitions, names_of
from paraply.spark.storage import with_storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from paraply.schema.model import Table
    from paraply.spark.batch.end import BatchEnd

__all__ = ["LakeTarget", "lake", "lake_batch"]

KNOWN = ("tables", "exclude", "start_after", "schema_dump", "schema_from", "batch_rows", "batch_megabytes")
IN_PYTHON = (
    ("--exclude-table ", "exclude="),
    ("--start-after", "start_after"),
    ("--schema-from", "schema_from"),
    ("--schema", "schema_dump"),
    ("--table ", "tables="),
    ("--database ", "tables="),
    ("--into", "target"),
    ("--format", "format"),
)
"""Options of the command, and the arguments that they are here."""


@dataclass(frozen=True, slots=True)
class LakeTarget:
    """A lake, and what is written into it.

    Attributes:
        into: Folder or URL of the lake, or ``catalog:NAME``.
        form: ``delta`` or ``iceberg``.
        filters: The tables.
        start_after: GTID set that the tables of a new lake hold already.
        schema_dump: Dump with the tables at the start of the logs.
        schema_from: URL of a server with these.
        batch_rows: Row changes after which a state is published.
        batch_bytes: Bytes of row changes after which one is.
    """

    into: str
    form: str
    filters: Filters
    start_after: str | None = None
    schema_dump: str | None = None
    schema_from: str | None = None
    batch_rows: int = BATCH_ROWS
    batch_bytes: int = BATCH_BYTES

    @classmethod
    def of(cls, target: str | Path, form: str, options: Mapping[str, Any]) -> LakeTarget:
        """Check the arguments.

        Raises:
            UsageError: An argument is unknown or wrong.
        """
        unknown = [name for name in options if name not in KNOWN]
        if unknown:
            raise UsageError(f"lake has no argument `{unknown[0]}`; it has {', '.join(KNOWN)}")
        chosen, excluded = (chosen_names(options.get(name)) for name in ("tables", "exclude"))
        filters = parse_filters(*divided(chosen), *divided(excluded))
        rows, megabytes = options.get("batch_rows", BATCH_ROWS), options.get("batch_megabytes", BATCH_BYTES >> 20)
        places = {name: options.get(name) for name in ("start_after", "schema_dump", "schema_from")}
        if places["schema_dump"] and places["schema_from"]:
            raise UsageError("schema_dump and schema_from are both definitions at the start of the logs: give one of them")
        made = cls(str(target), form, filters, **places, batch_rows=int(rows), batch_bytes=int(megabytes) << 20)
        try:
            open_store(made.into, made.form)
        except UsageError as error:
            raise in_python(error) from error.__cause__
        made.options([], None)
        return made

    def options(self, logs: Sequence[str], gtid: str | None) -> LakeOptions:
        """Return the options of a run up to a transaction."""
        return LakeOptions(
            logs=logs,
            into=self.into,
            form=self.form,
            filters=self.filters,
            definitions=self.definitions() if logs else (),
            start_after=self.start_after,
            batch_rows=self.batch_rows,
            batch_bytes=self.batch_bytes,
            stop_at=gtid,
        )

    def definitions(self) -> list[Table]:
        """Return the tables at the start of the logs."""
        return named_definitions(self.schema_dump, self.schema_from)

    def write(self, end: BatchEnd) -> LakeReport:
        """Write the logs up to the end of a batch.

        Raises:
            ParaplyError: As ``LakeWriter.run``.
        """
        held = open_store(self.into, self.form).published()
        try:
            if held is not None and end.gtid in GtidSet(held.gtids) and held.filters == str(self.filters):
                return LakeReport(self.into, self.form, held.number, held.gtids, len(held.tables))
            return LakeWriter(self.options(logs_up_to(end.logs, "" if held is None else held.file), end.gtid)).run()
        except ParaplyError as error:
            raise in_python(error) from error.__cause__


def lake(
    frame: DataFrame,
    target: str | Path,
    *,
    format: str = "delta",  # noqa: A002  Spark's word
    checkpoint: str | None = None,
    trigger: Mapping[str, Any] | None = None,
    on_report: Callable[[int, LakeReport], None] | None = None,
    **options: Any,
) -> LakeReport | StreamingQuery:
    """Write the tables of logs into a lake as ``paraply lake`` does: one state of the source in all tables, exactly once.

    The frame only says how far: the logs themselves are read up to the last transaction in it, by one writer on the driver, which keeps
    the last change of each key and merges it. So filters of the frame do not choose rows: choose tables with ``tables`` and ``exclude``.
    The GTID set is part of each commit. What is killed goes on after the last published state, also without a checkpoint.

    Args:
        frame: Rows of the source ``binlog``, as a load or as a stream, with ``position``, ``gtid`` and ``file``.
        target: Folder or URL of the lake; for Iceberg also ``catalog:NAME``.
        format: ``delta`` or ``iceberg``.
        checkpoint: Folder of a stream's checkpoint.
        trigger: Arguments of a stream's ``trigger``, such as ``{"availableNow": True}``.
        on_report: Called with the number of each batch of a stream, and its report.
        options: ``tables`` and ``exclude`` (names of tables or databases), ``start_after``, ``schema_dump``, ``schema_from``,
            ``batch_rows`` and ``batch_megabytes``, as the options of the command.

    Returns:
        The report of a load; the running query of a stream.

    Raises:
        UsageError: An argument is wrong, or the logs have no GTIDs.
        ParaplyError: The log is not understood, or the lake cannot be changed; its published state stays.
    """
    made = LakeTarget.of(target, format, options)
    if not frame.isStreaming:
        if checkpoint is not None or trigger is not None or on_report is not None:
            raise UsageError("checkpoint, trigger and on_report are for a stream, and this is a load")
        with with_storage(frame.sparkSession):
            return written(frame, made)
    writer = frame.writeStream.foreachBatch(batch_writer(made, on_report))
    if checkpoint is not None:
        writer = writer.option("checkpointLocation", checkpoint)
    return writer.trigger(**trigger).start() if trigger else writer.start()


def lake_batch(
    target: str | Path,
    *,
    format: str = "delta",  # noqa: A002  Spark's word
    on_report: Callable[[int, LakeReport], None] | None = None,
    **options: Any,
) -> Callable[[DataFrame, int], None]:
    """Return a function for ``foreachBatch`` that writes a lake up to the last transaction of each batch, as ``lake`` does.

    Args:
        target: As for ``lake``.
        format: As for ``lake``.
        on_report: As for ``lake``.
        options: As for ``lake``.

    Returns:
        The function. Its errors keep their own class and end the query.

    Raises:
        UsageError: An argument is wrong.

    >>> callable(lake_batch("/lake", tables="shop.product"))
    True
    >>> lake_batch("/lake", colour="red")
    Traceback (most recent call last):
    ...
    paraply.errors.UsageError: lake has no argument `colour`; it has tables, exclude, start_after, ...
    """
    return batch_writer(LakeTarget.of(target, format, options), on_report)


def batch_writer(target: LakeTarget, on_report: Callable[[int, LakeReport], None] | None) -> Callable[[DataFrame, int], None]:
    """Return a function for ``foreachBatch``."""

    def write(batch: DataFrame, number: int) -> None:
        try:
            with with_storage(batch.sparkSession):
                report = written(batch, target)
        except ParaplyError as error:
            error.add_note(marked(error))  # Spark copies the text into the query's own error
            raise
        if on_report is not None:
            on_report(number, report)

    return write


def written(frame: DataFrame, target: LakeTarget) -> LakeReport:
    """Write the lake up to the last transaction of a frame; without rows, return the state that is published."""
    end = end_of(frame, "set gtid_mode=ON on the source")
    if end is not None:
        return target.write(end)
    held = open_store(target.into, target.form).published()
    return LakeReport(target.into, target.form, *(() if held is None else (held.number, held.gtids, len(held.tables))))


def chosen_names(given: str | Sequence[str] | None) -> list[str]:
    """Return names of tables and databases, given as a list or with commas between them.

    >>> chosen_names("shop.product, crm"), chosen_names(["shop.product"]), chosen_names(None)
    (['shop.product', 'crm'], ['shop.product'], [])
    """
    if given is None:
        return []
    return list(names_of(given)) if isinstance(given, str) else list(given)


def divided(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the names of databases, and those of tables.

    >>> divided(["shop.product", "crm"])
    (['crm'], ['shop.product'])
    """
    return [name for name in names if "." not in name], [name for name in names if "." in name]


def in_python(error: ParaplyError) -> ParaplyError:
    """Return an error of the command with the arguments of these functions in the place of options.

    >>> str(in_python(UsageError("leave it out with --exclude-table lake.t, or name --start-after")))
    'leave it out with exclude=lake.t, or name start_after'
    """
    for option, argument in IN_PYTHON:
        error.message = error.message.replace(option, argument)
    error.args = (error.message, *error.args[1:])
    return error
