"""Definitions against table-map events."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from paraply.schema.advance import advance
from paraply.schema.catalog import SchemaCatalog
from paraply.schema.model import Table
from paraply.schema.readers.table_map import mismatch, settle


@dataclass(frozen=True)
class Logged:
    type_code: int
    metadata: int = 0
    nullable: bool = True
    unsigned: bool | None = None
    name: str | None = None
    collation_id: int | None = None


@dataclass(frozen=True)
class Map:
    columns: tuple[Logged, ...]
    database: str = "d"
    table: str = "t"


SQL = (
    "create table t (id int unsigned not null, c char(100), v varchar(20), d decimal(10,2), b bit(11), e enum('a','b'), s set('x','y'), "
    "x mediumtext, j json, t datetime(3), y varbinary(9))"
)
COLUMNS = (
    Logged(3, nullable=False, unsigned=True),
    Logged(254, 400),
    Logged(15, 80, collation_id=255),
    Logged(246, 10 << 8 | 2),
    Logged(16, 3 << 8 | 1),
    Logged(247, 1),
    Logged(248, 1),
    Logged(252, 3),
    Logged(245, 4),
    Logged(18, 3),
    Logged(15, 9),
)


def table(sql: str = SQL, *, complete: bool = True) -> Table:
    catalog = SchemaCatalog(complete=complete)
    advance(catalog, sql, "d", {"charset": (255, 255, 255)}, mariadb=False, version=(9, 7, 0))
    made = catalog.table("d", "t")
    assert made is not None
    return made


def test_r31_a_fitting_definition_has_no_mismatch() -> None:
    assert mismatch(table(), Map(COLUMNS)) is None
    raw = (*COLUMNS[:1], Logged(254, 0xEE90), *COLUMNS[2:5], Logged(254, 247 << 8 | 1), Logged(254, 248 << 8 | 1), *COLUMNS[7:])
    assert mismatch(table(), Map(raw)) is None


@pytest.mark.parametrize(
    ("place", "logged", "word"),
    [
        (0, Logged(8, nullable=False, unsigned=True), "type code 8"),
        (0, Logged(3, nullable=False, unsigned=False), "signed"),
        (0, Logged(3, nullable=True, unsigned=True), "nullable"),
        (0, Logged(3, nullable=False, name="other"), "other"),
        (1, Logged(254, 100), "100 bytes"),
        (2, Logged(15, 84), "84 bytes"),
        (2, Logged(15, 80, collation_id=46), "utf8mb4_bin"),
        (3, Logged(246, 10 << 8 | 3), "DECIMAL"),
        (4, Logged(16, 1 << 8 | 1), "BIT"),
        (5, Logged(247, 2), "labels"),
        (7, Logged(252, 2), "mediumtext"),
        (9, Logged(18, 6), "digits"),
    ],
)
def test_r31_every_difference_is_named(place: int, logged: Logged, word: str) -> None:
    columns = list(COLUMNS)
    columns[place] = logged
    found = mismatch(table(), Map(tuple(columns)))
    assert found is not None
    assert word in found
    assert found.startswith(f"column {place + 1} ")


def test_r31_another_number_of_columns_is_a_mismatch() -> None:
    assert mismatch(table(), Map(COLUMNS[:-1])) == "the log's rows have 10 columns, the table has 11"


def test_r13_an_assumed_collation_counts_only_if_the_log_confirms_it() -> None:
    assumed = table("create table t (a varchar(20), b varchar(20) collate latin1_bin)", complete=False)
    silent = settle(assumed, Map((Logged(15, 80), Logged(15, 20))))
    assert [c.collation for c in silent.columns] == [None, "latin1_bin"]
    settled = settle(assumed, Map((Logged(15, 80, collation_id=45), Logged(15, 20, collation_id=47))))
    assert [c.collation for c in settled.columns] == ["utf8mb4_general_ci", "latin1_bin"]
