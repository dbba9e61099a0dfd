"""``--skip`` together with filters and renames: GTIDs of the log decide what is skipped, errors name the target's tables (R19)."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
from command_line import Outcome, run_json
from server.apply.test_skip import SEEDS, TWO, Made, made, named
from server.replay import PostgresPlace

from paraply import open_log

__all__ = ["made"]

pytestmark = pytest.mark.by_turns(2)

OTHER = f"undo_{SEEDS[0]}"
"""A database that is removed with the test."""
ONLY = ("--table", "shop.t")
RENAMED = ("--rename-database", f"shop={OTHER}")
SELECTIONS = pytest.mark.parametrize("selection", [ONLY, RENAMED, (*ONLY, *RENAMED)], ids=["filter", "rename", "both"])


def apply(log: Path, url: str, *words: str) -> Outcome:
    return run_json("apply", str(log), "--to", url, "--workers", "4", *words)


def database_of(selection: tuple[str, ...]) -> str:
    return OTHER if RENAMED[0] in selection else "shop"


def targets(made: Made, postgres: PostgresPlace, selection: tuple[str, ...]) -> list[str]:
    """Return the targets. The log's own server takes renamed tables only if a filter names them."""
    return [postgres.url] if selection == RENAMED else [made.place.url, postgres.url]


def rows(made: Made, postgres: PostgresPlace, url: str, table: str) -> list[tuple[object, ...]]:
    """Return the rows of a table of the target with this URL."""
    select = f"SELECT * FROM {table} ORDER BY id"
    if url == made.place.url:
        return made.place.sql(select)
    with psycopg.connect(postgres.url) as connection:
        return connection.execute(select.encode()).fetchall()


@SELECTIONS
def test_r19_what_is_skipped_under_filters_and_renames(made: Made, postgres_place: PostgresPlace, selection: tuple[str, ...]) -> None:
    log = made.log(
        *TWO, "CREATE TABLE shop.other (id INT PRIMARY KEY)", "INSERT INTO shop.other VALUES (5)",
        "UPDATE shop.t SET a = 99", "INSERT INTO shop.t VALUES (2, 2, 2)", "DROP TABLE shop.t",
    )  # fmt: skip
    gtids = [transaction.gtid or "" for transaction in open_log(log)]
    skip = ",".join((gtids[4], gtids[5], gtids[7]))  # of the filter, the first one is left out anyway
    for url in targets(made, postgres_place, selection):
        outcome = apply(log, url, *selection, "--skip", skip)
        assert outcome.code == 0, outcome.error
        assert (outcome.report["skip"]["transactions"], outcome.report["skip"]["missing"]) == (3, None)
        assert rows(made, postgres_place, url, f"{database_of(selection)}.t") == [(1, 10, 20), (2, 2, 2)]
        assert apply(log, url, *selection).report["transactions"] == 0, "a later run does not come back to them"
        assert rows(made, postgres_place, url, f"{database_of(selection)}.t") == [(1, 10, 20), (2, 2, 2)]


@SELECTIONS
def test_r19_rows_after_a_skipped_change_of_columns_are_refused_by_the_targets_name(
    made: Made, postgres_place: PostgresPlace, selection: tuple[str, ...]
) -> None:
    log = made.log(*TWO, "ALTER TABLE shop.t MODIFY b INT FIRST", "INSERT INTO shop.t VALUES (200, 2, 100)")
    table = f"{database_of(selection)}.t"
    for url in targets(made, postgres_place, selection):
        outcome = apply(log, url, *selection, "--skip", named(log, "MODIFY"))
        assert (outcome.code, outcome.error["class"]) == (1, "SchemaMismatch")
        assert table in outcome.error["message"]
        assert rows(made, postgres_place, url, table) == [(1, 10, 20)]


@pytest.mark.parametrize("selection", [("--exclude-table", "shop.t"), RENAMED], ids=["filter", "rename"])
def test_r19_a_database_whose_drop_is_skipped(made: Made, postgres_place: PostgresPlace, selection: tuple[str, ...]) -> None:
    log = made.log(*TWO, "CREATE TABLE shop.other (id INT PRIMARY KEY)", "INSERT INTO shop.other VALUES (5)", "DROP DATABASE shop")
    for url in targets(made, postgres_place, selection):
        outcome = apply(log, url, *selection, "--skip", named(log, "DROP DATABASE"))
        assert outcome.code == 0, outcome.error
        assert rows(made, postgres_place, url, f"{database_of(selection)}.other") == [(5,)]
        if selection == RENAMED:
            assert rows(made, postgres_place, url, f"{OTHER}.t") == [(1, 10, 20)]
