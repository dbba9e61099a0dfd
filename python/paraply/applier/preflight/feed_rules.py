"""The rules by which a run's reader stage prepares transactions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from paraply.applier.preflight.inspect import contained_in_schema
from paraply.applier.schedule.early_rows import may_have_early_rows
from paraply.applier.selection.skip import SkippedXa, XaPart
from paraply.logs.feed import FeedRules
from paraply.logs.skipping import Skipping
from paraply.logs.statement_text import decode_or_advise

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paraply._native import Transaction
    from paraply.applier.options import Options
    from paraply.applier.preflight.inspect import Start
    from paraply.schema.catalog import SchemaCatalog
    from paraply.schema.model import Table
    from paraply.targets.protocol import Target

__all__ = ["FirstDefinitions", "feed_rules"]


@dataclass(frozen=True, slots=True)
class FirstDefinitions:
    """The sources of the definitions that a run begins with.

    Attributes:
        given: Definitions of ``--schema``.
        same_family: True if the target is a server of the log's family.
        kept: Definitions that the target stored with its progress; None if it stored none.
    """

    given: SchemaCatalog | None
    same_family: bool
    kept: Sequence[Table] | None

    @property
    def are_of_target(self) -> bool:
        """True if they are the target's own tables."""
        return self.given is None and self.same_family


def feed_rules(options: Options, target: Target, start: Start, definitions: FirstDefinitions, prepared: frozenset[str]) -> FeedRules:
    """Return the rules.

    Args:
        options: The options.
        target: The open target.
        start: Start of the run.
        definitions: Sources of the definitions.
        prepared: XIDs that the target holds prepared; of a live log they are asked for when it shows an XA transaction.
    """
    filters = options.filters

    def passed(transaction: Transaction) -> bool:
        return start.passed(transaction, options.paths)

    return FeedRules(
        passed=passed if definitions.are_of_target else contained_in_schema(options, definitions.given),
        kept=(definitions.kept, passed) if definitions.kept is not None else None,
        rereads=definitions.same_family,
        wants=lambda transaction: passed(transaction) or filters.wants(transaction),
        names_own=filters.names_own,
        by_event=may_have_early_rows(options, target),
        bounded=True,
        corrects=True,
        tables=filters.native() if filters else None,
        skips=_skipping(options, start, passed, target.held_xids if options.live else lambda: prepared),
        decode=decode_or_advise,
    )


def _skipping(options: Options, start: Start, passed: Callable[[Transaction], bool], held: Callable[[], frozenset[str]]) -> Skipping | None:
    """Return the decisions about skipped transactions; None if nothing is skipped, and was not."""
    diverged = start.diverged
    if not options.skip and not diverged:
        return None
    pairs = SkippedXa(held)
    return Skipping(passed, lambda part: pairs.leaves_out(XaPart.of(part, passed=passed(part))), diverged)
