"""R13: a statement that is not understood never leaves a definition behind that it may have changed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paraply.schema.advance import advance as advance_catalog
from paraply.schema.catalog import SchemaCatalog
from paraply.schema.ddl.change import Unknown
from paraply.schema.ddl.cursor import Cursor
from paraply.schema.ddl.lexer import DdlSyntaxError
from paraply.schema.ddl.rules import Rules
from paraply.schema.model import Table

CONTEXT: dict[str, Any] = {"charset": (255, 255, 255), "default_collation_for_utf8mb4": 255}
GARBAGE = "frobnicate"
CHANGES = (
    "alter table t add unique key k (a, b)",
    "alter table t drop primary key, add primary key (id, b)",
    "alter table d.t drop key a",
    "alter table t add column c int unique first, algorithm=inplace",
    "alter table t modify a varchar(20) collate utf8mb4_bin",
    "alter table t change b bb int not null after id",
    "alter table t rename column a to aa",
    "alter table t rename key a to aaa",
    "alter table t convert to character set latin1 collate latin1_bin",
    "alter table t rename to u, add unique (b)",
    "create unique index k on t (b) using btree comment 'x'",
    "drop index a on t",
    "rename table t to u",
    "rename table u to v, t to u",
    "drop table if exists t",
    "create or replace table t (id int, z int unique)",
    "drop database d",
)

COMPLETE = ("alter table t", "alter table d", "alter table d . t", "alter table t modify a varchar ( 20 )", "drop table if")
"""Remainders that are statements by themselves and do nothing to ``t``: servers take ALTER TABLE without an action."""


def tokens(sql: str) -> list[str]:
    return [sql[token.start : token.end] for token in Cursor(sql, Rules(mariadb=True, version=(10, 11, 6))).tokens]


def catalog() -> SchemaCatalog:
    made = SchemaCatalog(complete=True)
    for sql in (
        "create database d",
        "create table t (id int primary key, a varchar(20) unique, b int)",
        "create table u (id int primary key)",
    ):
        advance(made, sql)
    return made


def advance(catalog: SchemaCatalog, sql: str) -> None:
    advance_catalog(catalog, sql, "d", CONTEXT, mariadb=True, version=(10, 11, 6))


def after(sql: str) -> Table | None:
    made = catalog()
    advance(made, sql)
    return made.table("d", "t")


OLD = catalog().table("d", "t")


@pytest.mark.parametrize("sql", CHANGES)
def test_the_statements_change_the_table(sql: str) -> None:
    assert after(sql) != OLD


@pytest.mark.parametrize("sql", CHANGES)
def test_r13_an_unknown_word_anywhere_never_keeps_the_old_definition(sql: str) -> None:
    parts = tokens(sql)
    for place in range(len(parts) + 1):
        strange = " ".join([*parts[:place], GARBAGE, *parts[place:]])
        assert after(strange) != OLD, strange


@pytest.mark.parametrize("sql", CHANGES)
def test_r13_a_statement_cut_off_never_keeps_the_old_definition(sql: str) -> None:
    parts = tokens(sql)
    for place in range(1, len(parts)):
        cut = " ".join(parts[:place])
        assert after(cut) != OLD or cut in COMPLETE or without_effect(parts[:place]), cut


def without_effect(parts: list[str]) -> bool:
    """Return True if the part that was cut off was all that reached ``t``."""
    return parts[0] == "rename" and "t" not in parts


@given(st.sampled_from(CHANGES), st.data())
def test_r13_mangled_statements_never_keep_the_old_definition(sql: str, data: st.DataObject) -> None:
    parts = tokens(sql)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(parts)))
        parts.insert(place, data.draw(st.sampled_from([GARBAGE, "`strange name`", "(", ")", "'", '"x"', "/*", "without", "5", "@x"])))
    strange = " ".join(parts)
    assert after(strange) != OLD, strange


@given(st.text(max_size=40))
def test_r13_no_text_raises(text: str) -> None:
    for sql in (text, f"alter table t {text}", f"create table x {text}"):
        made = catalog()
        advance(made, sql)
        assert made.table("d", "t") in (OLD, None) or text.strip()


def test_a_quote_that_does_not_end_makes_everything_unknown() -> None:
    with pytest.raises(DdlSyntaxError):
        tokens("alter table t add 'x")
    assert after("alter table u add 'x") is None


@pytest.mark.parametrize(
    ("statement", "error", "left", "unknown"),
    [
        ("DROP TABLE t, missing", 1051, {"p"}, False),
        ("DROP TABLE t, p", 1217, {"p"}, True),
        ("ALTER TABLE t ADD z INT", 1317, {"p"}, True),
        ("RENAME TABLE t TO u, missing TO m", 1146, {"p"}, True),
        ("DROP VIEW t, missing", 1051, {"p", "t"}, False),
        ("DROP USER t, missing", 1396, {"p", "t"}, False),
    ],
)
def test_r13_a_statement_that_failed_on_the_source_may_be_half_done(statement: str, error: int, left: set[str], unknown: bool) -> None:
    catalog = SchemaCatalog()
    for made in ("CREATE DATABASE d", "CREATE TABLE t (id INT PRIMARY KEY)", "CREATE TABLE p (id INT PRIMARY KEY)"):
        advance_catalog(catalog, made, "d", CONTEXT, mariadb=False, version=(5, 7, 44))
    context = {**CONTEXT, "error_code": error}
    changes = advance_catalog(catalog, statement, "d", context, mariadb=False, version=(5, 7, 44))
    assert any(isinstance(change, Unknown) for change in changes) == unknown
    assert {table.name for table in catalog} <= left if unknown else {table.name for table in catalog} == left
