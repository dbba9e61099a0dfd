"""The definitions after a statement that was made by hand in PostgreSQL."""

from __future__ import annotations

import pytest

from paraply.errors import LogNotUnderstood
from paraply.schema.ddl.change import AlterTable, CreateTable, DropDatabase, DropTable, RenameTable, SchemaChange, TruncateTable, Unknown
from paraply.schema.model import Column, Table
from paraply.targets.postgres.ddl.done import done_changes

OLD = Table("d", "t", (Column("id", "int"),))
NEW = Table("d", "t", (Column("id", "int"), Column("n", "int")))
MOVED = Table("d", "u", OLD.columns)
KNOWN = {("d", "t"): OLD}


@pytest.mark.parametrize(
    ("change", "defined", "gone", "emptied"),
    [
        (CreateTable(MOVED), [MOVED], set(), set()),
        (AlterTable(OLD, NEW), [NEW], {("d", "t")}, set()),
        (AlterTable(OLD, MOVED), [MOVED], {("d", "t")}, set()),
        (RenameTable("d", "t", MOVED), [MOVED], {("d", "t")}, set()),
        (DropTable("d", "t"), [], {("d", "t")}, set()),
        (DropTable("d", "other"), [], set(), set()),
        (DropDatabase("d"), [], {("d", "t")}, set()),
        (TruncateTable("d", "t"), [], set(), {("d", "t")}),
        (Unknown("a sequence", tables=(("d", "s"),)), [], set(), set()),
    ],
)
def test_r25b_the_definitions_follow_the_log(
    change: SchemaChange, defined: list[Table], gone: set[tuple[str, str]], emptied: set[tuple[str, str]]
) -> None:
    done = done_changes([change], KNOWN)
    assert (list(done.plan.define.values()), done.plan.forget, done.emptied) == (defined, gone, emptied)
    assert done.plan.steps == []


@pytest.mark.parametrize("change", [Unknown("x", tables=(("d", "t"),)), Unknown("x", databases=("d",)), Unknown("x", everything=True)])
def test_r25b_a_known_table_needs_a_definition_from_the_log(change: Unknown) -> None:
    with pytest.raises(LogNotUnderstood, match="--schema"):
        done_changes([change], KNOWN)
