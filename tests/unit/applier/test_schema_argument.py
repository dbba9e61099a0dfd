"""Definitions given with ``schema``."""

from __future__ import annotations

from typing import Any

from unit.applier.fake_database import Target
from unit.applier.fakes import make
from unit.applier.harness import make_applier

from paraply.schema.catalog import SchemaCatalog
from paraply.schema.model import Table


class RenderingTarget(Target):
    """A target that needs the definitions to write rows."""

    def __init__(self) -> None:
        super().__init__()
        self.created: list[Any] = []

    def create_tables(self, tables: list[Any]) -> None:
        self.created += tables


def test_a_target_that_renders_rows_is_told_the_definitions() -> None:
    target, schema = RenderingTarget(), SchemaCatalog()
    table = Table("d", "t", ())
    schema.put(table)
    make_applier([make(1, "a")], target, schema=schema).run()
    assert target.created == [table]


def test_without_definitions_nothing_is_made() -> None:
    target = RenderingTarget()
    make_applier([make(1, "a")], target).run()
    assert target.created == []
