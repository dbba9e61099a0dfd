"""The options of renames."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from paraply.applier import Applier
from paraply.applier.selection.filters import parse_filters
from paraply.applier.selection.renaming import Renaming, gtid_mode_of, parse_renames
from paraply.errors import UsageError
from paraply.targets.protocol import Capabilities, Target

if TYPE_CHECKING:
    from paraply._native import Transaction

TABLE = "shop.orders=restore.orders"


@pytest.mark.parametrize(
    ("databases", "tables", "message"),
    [
        (["shop"], [], "write OLD=NEW"),
        (["shop.t=x"], [], "write OLD=NEW"),
        ([], ["shop.t=copy"], r"write DATABASE\.TABLE=DATABASE\.TABLE"),
        ([], ["My Shop.back`tick=x.y"], "a backtick within them is doubled"),
        (["a=a"], [], "changes nothing"),
        ([], ["a.t=A.T"], "only upper and lower case"),
        (["a=b", "a=c"], [], "renamed already, by a=b"),
        (["a=c", "b=c"], [], "two would become one"),
        ([], ["a.t=c.t", "b.t=c.t"], "two would become one"),
        (["mysql=x"], [], "belongs to the server"),
        (["x=paraply"], [], "belongs to the server"),
        (["a=" + 65 * "b"], [], "64 characters"),
    ],
)
def test_wrong_renames_are_refused(databases: list[str], tables: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_renames(databases, tables)


def test_names_that_a_source_does_not_distinguish_are_one() -> None:
    names = ["Shop=one", "shop=two"]
    assert parse_renames(names).database("shop") == "two"
    with pytest.raises(UsageError, match="renamed already"):
        parse_renames(names, lower_case=True)


def test_names_with_dots_and_equals_signs_are_quoted() -> None:
    assert parse_renames((), ["`a.b`.`c=d`=e.`f``g`"]).tables == ((("a.b", "c=d"), ("e", "f`g")),)


def test_renames_go_with_gtid_mode_none_and_applied_names_alone() -> None:
    renames, filters = parse_renames((), [TABLE]), parse_filters(tables=["shop.orders"])
    assert gtid_mode_of(renames, filters, "auto") == "none"
    with pytest.raises(UsageError, match="claim the source's transactions"):
        gtid_mode_of(renames, filters, "preserve")
    with pytest.raises(UsageError, match="leave this table out"):
        gtid_mode_of(renames, parse_filters(tables=["shop.lines"]), "none")
    with pytest.raises(UsageError, match="leave this database out"):
        gtid_mode_of(parse_renames(["hr=x"]), filters, "none")


def test_the_targets_replication_takes_no_renames() -> None:
    with pytest.raises(UsageError, match="--via replication sends transactions as they are"):
        Applier(
            [__file__], cast("Target", SimpleNamespace(capabilities=Capabilities(replicates=True))), via="replication", rename_table=[TABLE]
        )


def test_filters_are_seen_by_the_names_of_the_target() -> None:
    renaming = Renaming(parse_renames((), [TABLE]), parse_filters(tables=["shop.orders", "shop.lines"]))
    assert [renaming.chooses("restore", "orders"), renaming.chooses("shop", "orders")] == [True, False]
    assert [renaming.chooses("shop", "lines"), renaming.chooses("shop", "other")] == [True, False]


def test_a_refusal_gives_the_reason_first_and_the_statement_last() -> None:
    columns = ", ".join(f"c{n} VARCHAR(10) DEFAULT 'open'" for n in range(9))
    sql = f"CREATE TABLE shop.orders (id INT PRIMARY KEY, {columns}, FOREIGN KEY (id) REFERENCES shop.customers (id))"
    transaction = cast("Transaction", SimpleNamespace(file="binlog.000001", offset=4, gtid="0-1-7"))
    error = Renaming._refused(transaction, "the foreign key to shop.customers would tie the tables", sql)
    assert error.message.startswith("the names in a statement cannot be replaced: the foreign key to shop.customers would tie the tables;")
    assert error.message.endswith("...")
    assert "; the statement is: CREATE TABLE shop.orders (" in error.message


def test_the_identity_of_the_progress_holds_the_renames() -> None:
    assert parse_renames(["a=b"], [TABLE]).identity() == {"rename_databases": ["a=b"], "rename_tables": [TABLE]}
    assert parse_renames().identity() == {}
