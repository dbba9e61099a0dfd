"""``--on-conflict``: its options, the key by which a row is known, and what a report says."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest
from command_line import run_json

from paraply.applier.execute.resolution import may_resolve
from paraply.errors import ApplyFailed, ConnectionLost, ParaplyError, RowNotFound, SchemaMismatch
from paraply.observe.conflicts import ConflictTally, conflict_lines, conflicts_json
from paraply.schema.model import Column, Key, KeyPart, Table
from paraply.targets.conflicts import Conflict, OnConflict, row_key

if TYPE_CHECKING:
    from paraply._native import Block

COLUMNS = (Column("a", "int", nullable=False), Column("b", "int", nullable=False), Column("n", "int"))


def key(name: str, *columns: str, position: int = 0, prefix: int | None = None) -> Key:
    return Key(name, tuple(KeyPart(column, prefix) for column in columns), unique=True, position=position)


@pytest.mark.parametrize(
    ("keys", "found"),
    [
        ((), None),
        ((key("u", "n"),), None),
        ((key("p", "a", prefix=3),), None),
        ((key("u", "n"), key("v", "b", position=2), key("w", "a", position=1)), "w"),
        ((key("v", "b"), key("PRIMARY", "a", "b", position=1)), "PRIMARY"),
        ((Key("f", (KeyPart(None, expression="a + 1"),), unique=True), key("v", "a", "b", position=1)), "v"),
        ((Key("i", (KeyPart("a"),)),), None),
    ],
)
def test_r31_a_row_is_known_by_a_unique_key_of_whole_columns_that_are_not_null(keys: tuple[Key, ...], found: str | None) -> None:
    chosen = row_key(Table("d", "t", COLUMNS, keys))
    assert (chosen.name if chosen is not None else None) == found


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--on-conflict", "ignore"), "give one of stop, log, overwrite"),
        (("--on-conflict", "log", "--via", "replication"), "use --via sessions"),
        (("--on-conflict", "overwrite", "--consistency", "eventual"), "the source's order"),
        (("--on-conflict", "log", "--consistency", "eventual", "--policy", "row"), "the source's order"),
        (("--on-conflict", "log", "--allow-nontransactional"), "--allow-nontransactional"),
    ],
)
def test_options_that_do_not_go_with_it_end_with_exit_code_2(options: tuple[str, ...], message: str, tmp_path: Path) -> None:
    log = tmp_path / "binlog.000001"
    log.write_bytes(b"\xfebin")
    applied = run_json("apply", log, "--to", "mysql://127.0.0.1:1", *options)
    replicated = run_json("replicate", "--from", "mysql://127.0.0.1:1", "--to", "mysql://127.0.0.1:1", *options, cwd=tmp_path)
    for outcome in (applied, replicated):
        assert (outcome.code, outcome.error["class"]) == (2, "UsageError"), outcome.line
    assert message in applied.line
    assert message in replicated.line or "row" in options


def test_it_does_not_go_with_no_apply(tmp_path: Path) -> None:
    outcome = run_json("replicate", "--from", "mysql://127.0.0.1:1", "--no-apply", "--on-conflict", "log", cwd=tmp_path)
    assert (outcome.code, "--on-conflict" in outcome.line) == (2, True)


def test_a_report_counts_by_table_and_kind() -> None:
    tally = ConflictTally()
    one = Conflict("shop", "item", "insert", "duplicate key", "left", "words", '{"id": "1"}', None, "{}")
    tally.add([one, one])
    tally.add([Conflict("shop", "item", "delete", "missing row", "none", "", '{"id": "2"}', "{}", None)])
    assert tally.total == 3
    assert [(found.operation, found.count) for found in tally.counts()] == [("delete", 1), ("insert", 2)]
    assert conflict_lines(()) == []
    assert conflict_lines(tally.counts()) == [
        "3 row changes did not fit the target (--on-conflict):",
        "  shop.item: 1 x delete, missing row: nothing to do",
        "  shop.item: 2 x insert, duplicate key: left out",
        "each of them is a row of paraply.conflict in the target",
    ]
    assert conflicts_json(tally.counts(), "stop") is None


@pytest.mark.parametrize(
    ("mode", "kind", "error", "resolved"),
    [
        (OnConflict.LOG, "dml", RowNotFound("the row to change is not there"), True),
        (OnConflict.OVERWRITE, "dml", ApplyFailed("a row with this key is there already"), True),
        (OnConflict.STOP, "dml", RowNotFound("the row to change is not there"), False),
        (OnConflict.LOG, "xa_prepare", RowNotFound("the row to change is not there"), False),
        (OnConflict.LOG, "ddl", ApplyFailed("a row with this key is there already"), False),
        (OnConflict.LOG, "dml", SchemaMismatch("a column is missing"), False),
        (OnConflict.LOG, "dml", ConnectionLost("the connection broke"), False),
    ],
)
def test_only_rows_of_ordinary_transactions_are_resolved(mode: OnConflict, kind: str, error: ParaplyError, resolved: bool) -> None:
    block = cast("Block", SimpleNamespace(kind=kind))
    assert may_resolve(mode, block, error) is resolved
