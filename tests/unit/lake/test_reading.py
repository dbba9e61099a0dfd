"""The published state: its reading, its form, and the tables that a new lake takes over."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from required import required_module

from paraply.applier.selection.filters import Filters
from paraply.errors import NoSuchTable, UsageError
from paraply.lake import publications, read
from paraply.lake.published import Published, PublishedTable, marker_rows
from paraply.lake.store import open_store
from paraply.lake.tables import LakeTables
from paraply.schema.model import Column, Key, KeyPart, Table

required_module("deltalake")
required_module("pyiceberg")

FORMATS = ("delta", "iceberg")
ITEM = Table(
    "shop", "item", (Column("id", "int", nullable=False), Column("name", "varchar", 9)), (Key("PRIMARY", (KeyPart("id"),), unique=True),)
)


def state(number: int) -> Published:
    table = PublishedTable("shop", "item", "shop/item", 0, ITEM)
    return Published(number, "0-1-9", tables={("shop", "item"): table}, source="mariadb server-id 1")


@pytest.mark.parametrize("form", FORMATS)
def test_a_table_that_the_state_lacks_is_a_key_error_with_the_tables_that_it_has(tmp_path: Path, form: str) -> None:
    open_store(str(tmp_path), form).publish(state(1))
    found = read(str(tmp_path), form)
    for kind in (NoSuchTable, KeyError, UsageError):
        with pytest.raises(kind, match=r"no table no\.table; it has shop\.item"):
            found["no.table"]
    assert "shop.item" in found


@pytest.mark.parametrize("form", FORMATS)
def test_reading_in_the_other_format_names_the_right_one(tmp_path: Path, form: str) -> None:
    open_store(str(tmp_path), form).publish(state(1))
    other = FORMATS[1 - FORMATS.index(form)]
    for reading in (read, publications):
        with pytest.raises(UsageError, match=f"of the format {form}, not {other}"):
            reading(str(tmp_path), other)


def test_reading_makes_no_catalog(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no published state"):
        read(str(tmp_path), "iceberg")
    assert publications(str(tmp_path), "iceberg") == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("form", FORMATS)
def test_a_state_without_a_source_of_an_older_version_is_continued(tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    old = marker_rows(state(1)).drop_columns("source")
    for module in ("delta", "iceberg.store"):
        monkeypatch.setattr(f"paraply.lake.{module}.marker_rows", lambda _: old)
    monkeypatch.setattr("paraply.lake.iceberg.store.marker_schema", lambda: old.schema)
    open_store(str(tmp_path), form).publish(state(1))
    monkeypatch.undo()
    store = open_store(str(tmp_path), form)
    before = store.published()
    assert before is not None
    assert (before.source, before.gtids, before.committed_at) == ("", "0-1-9", None)
    store.publish(state(2))
    after = open_store(str(tmp_path), form).published()
    assert after is not None
    assert (after.number, after.source, len(after.tables)) == (2, "mariadb server-id 1", 1)


@pytest.mark.parametrize(
    ("number", "name", "problem"),
    [
        (pa.int32(), pa.large_string(), ""),
        (pa.int64(), pa.string(), ""),
        (pa.int16(), pa.string(), "column id .* int16.* load it as int32"),
        (pa.int32(), pa.int32(), "column name .* load it as string"),
    ],
)
def test_tables_that_a_new_lake_takes_over_hold_every_value_of_the_source(
    tmp_path: Path, number: pa.DataType, name: pa.DataType, problem: str
) -> None:
    from deltalake import write_deltalake

    write_deltalake(str(tmp_path / "shop" / "item"), pa.table({"id": pa.array([], number), "name": pa.array([], name)}))
    tables = LakeTables(open_store(str(tmp_path), "delta"), None)
    if problem:
        with pytest.raises(UsageError, match=problem):
            tables.adopt([ITEM], Filters())
        return
    tables.adopt([ITEM], Filters())
    assert list(tables.published()) == [("shop", "item")]
