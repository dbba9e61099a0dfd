"""The reader stage of a run: the log, the definitions that it begins with, and the treatment of each statement."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from paraply.applier.preflight.feed_rules import FirstDefinitions, feed_rules
from paraply.applier.preflight.inspect import first_definitions
from paraply.logs.feed import Feed

if TYPE_CHECKING:
    from collections.abc import Callable

    from paraply._native import Catalog, LogReader, RelayLog, TransactionBatch, WriteSets
    from paraply.applier.options import Options
    from paraply.applier.preflight.inspect import Preflight, Start
    from paraply.schema.catalog import SchemaCatalog
    from paraply.targets.protocol import Target

__all__ = ["open_feed"]


def open_feed(
    options: Options,
    target: Target,
    look: Preflight,
    start: Start,
    given: SchemaCatalog | None,
    relay: RelayLog | None,
    on_hashed: Callable[[TransactionBatch, WriteSets, Catalog], None] | None,
) -> tuple[LogReader, Feed]:
    """Open the log and make its reader stage.

    Args:
        options: The options.
        target: The open target.
        look: Findings before the first write.
        start: Start of the run.
        given: Definitions of ``--schema``, with the names of the target.
        relay: The relay log whose files are read; None for finished files.
        on_hashed: Called with each batch, its write sets and the definitions in force.
    """
    from paraply._native import Catalog, LogReader

    same_family = target.family == ("mariadb" if start.mariadb else "mysql")
    goes_on = not same_family and bool(start.progress.executed or start.progress.offset is not None)
    renaming = look.renaming
    if given is not None:
        target.create_tables([table for table in given if renaming.chooses(table.database, table.name)])
    schema = first_definitions(given, options.lower_case_table_names, same_family=same_family, goes_on=goes_on)
    place = options.reader_options(start.skip, start.place)
    reader = LogReader(options.paths, **place, sizes=look.sizes) if relay is None else relay.reader(**place)

    def renamed(batch: TransactionBatch) -> TransactionBatch:
        return renaming.batch(batch, applied=start.passed(batch[0], options.paths))

    definitions = FirstDefinitions(given, same_family, target.seed_tables() if goes_on else None)
    rules = feed_rules(options, target, start, definitions, look.prepared)
    rules = replace(rules, on_hashed=on_hashed, renamed=renamed if renaming.renames else None, tables=place["tables"])
    feed = Feed(reader, schema, Catalog(), rules, threaded=options.workers > 0, limits=options.limits.feed)
    feed.seed(target.seed_tables() if definitions.are_of_target else list(schema))
    return reader, feed
