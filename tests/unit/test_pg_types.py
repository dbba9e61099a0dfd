"""The type mapping of the PostgreSQL target."""

from __future__ import annotations

import pytest

from paraply.errors import SchemaMismatch, TypeNotMapped
from paraply.schema.model import Column, Default, ForeignKey, Key, KeyPart, Table
from paraply.schema.table_json import from_json, to_json
from paraply.targets.postgres.ddl.defaults import fill_of
from paraply.targets.postgres.ddl.retype import keeps_values, retype
from paraply.targets.postgres.keys import carried_keys, index_name
from paraply.targets.postgres.types import map_column, map_table


@pytest.mark.parametrize(
    ("column", "kind", "sql_type"),
    [
        (Column("c", "tinyint"), "integer", "smallint"),
        (Column("c", "tinyint", unsigned=True), "unsigned", "smallint"),
        (Column("c", "smallint", unsigned=True), "unsigned", "integer"),
        (Column("c", "mediumint", unsigned=True), "unsigned", "integer"),
        (Column("c", "int", unsigned=True), "unsigned", "bigint"),
        (Column("c", "bigint"), "integer", "bigint"),
        (Column("c", "bigint", unsigned=True), "unsigned", "numeric(20,0)"),
        (Column("c", "decimal", 65, 30), "decimal", "numeric(65,30)"),
        (Column("c", "decimal"), "decimal", "numeric(10,0)"),
        (Column("c", "float"), "real", "real"),
        (Column("c", "double"), "double", "double precision"),
        (Column("c", "bit", 12), "bit", "bit(12)"),
        (Column("c", "char", 3, charset="latin1"), "text", "character varying(3)"),
        (Column("c", "varchar", 0, charset="utf8mb4"), "text", "text"),
        (Column("c", "longtext", charset="utf8mb3"), "text", "text"),
        (Column("c", "char", 3, charset="binary"), "binary", "bytea"),
        (Column("c", "binary", 16), "binary", "bytea"),
        (Column("c", "mediumblob"), "varbinary", "bytea"),
        (Column("c", "date"), "date", "date"),
        (Column("c", "datetime", scale=6), "timestamp", "timestamp(6) without time zone"),
        (Column("c", "timestamp"), "timestamptz", "timestamp(0) with time zone"),
        (Column("c", "time", scale=3), "interval", "interval"),
        (Column("c", "year"), "year", "smallint"),
        (Column("c", "enum", labels=("a",)), "enum", "text"),
        (Column("c", "set", labels=("a", "b")), "set", "text"),
        (Column("c", "json"), "json", "jsonb"),
        (Column("c", "uuid"), "uuid", "uuid"),
        (Column("c", "inet4"), "inet4", "inet"),
        (Column("c", "inet6"), "inet6", "inet"),
    ],
)
def test_types(column: Column, kind: str, sql_type: str) -> None:
    mapping = map_column(column, "d.t")
    assert (mapping.kind, mapping.sql_type) == (kind, sql_type)


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        (Column("c", "geometry"), "GEOMETRY"),
        (Column("c", "vector"), "VECTOR"),
        (Column("c", "text", charset="future"), "future"),
        (Column("c", "enum"), "labels"),
    ],
)
def test_what_has_no_counterpart_is_refused_with_its_table(column: Column, reason: str) -> None:
    with pytest.raises(TypeNotMapped, match=reason) as caught:
        map_column(column, "d.t")
    assert caught.value.table == "d.t"


@pytest.mark.parametrize("engine", ["MERGE", "MRG_MyISAM", "blackhole", "FEDERATED"])
def test_a_table_whose_rows_lie_elsewhere_is_refused(engine: str) -> None:
    with pytest.raises(TypeNotMapped, match=engine):
        map_table(Table("d", "t", (Column("id", "int"),), engine=engine))
    assert map_table(Table("d", "t", (Column("id", "int"),), engine="MyISAM"))


def test_names_that_postgresql_would_cut_or_keeps_for_itself_are_refused() -> None:
    with pytest.raises(SchemaMismatch, match="63 bytes"):
        map_table(Table("d", "ü" * 32, ()))
    for database in ("paraply", "pg_catalog", "information_schema"):
        with pytest.raises(SchemaMismatch, match="reserved"):
            map_table(Table(database, "t", ()))


def keys(*keys: Key) -> Table:
    columns = (
        Column("id", "int", nullable=False),
        Column("Name", "varchar", 600, nullable=False, charset="utf8mb4"),
        Column("long", "varchar", 700, charset="utf8mb4"),
    )
    return Table("d", "t", columns, keys)


def parts(*columns: str) -> tuple[KeyPart, ...]:
    return tuple(KeyPart(column) for column in columns)


def test_keys_identify_rows_only_without_nullable_columns_and_expressions() -> None:
    table = keys(
        Key("a", parts("name"), unique=True),
        Key("b", parts("long"), unique=True),
        Key("c", (KeyPart(None, expression="upper(name)"),), unique=True),
        Key("PRIMARY", (KeyPart("name", prefix=3), KeyPart("id"))),
        Key("d", parts("id")),
    )
    assert map_table(table).keys == ((1, 0), (1,)), "the primary key first, its prefix taken as the whole column"


def test_keys_are_carried_where_postgresql_can_hold_them() -> None:
    table = keys(
        Key("PRIMARY", parts("id")),
        Key("by_name", parts("NAME"), unique=True),
        Key("wide", parts("long"), unique=True),
        Key("prefix", (KeyPart("name", prefix=3),), unique=True),
        Key("words", parts("name"), kind="fulltext"),
        Key("plain", parts("id", "name")),
    )
    mapping = map_table(table)
    assert [key.create(mapping) for key in carried_keys(table, mapping).values()] == [
        f'ALTER TABLE "d"."t" ADD CONSTRAINT "{index_name("t", "PRIMARY")}" PRIMARY KEY ("id")',
        f'CREATE UNIQUE INDEX "{index_name("t", "by_name")}" ON "d"."t" ("Name")',
        f'CREATE INDEX "{index_name("t", "plain")}" ON "d"."t" ("id", "Name")',
    ]


def test_r15a_a_parents_mapping_says_what_cascades() -> None:
    parent = keys(Key("PRIMARY", parts("id")))
    cascading = ForeignKey("f", ("p",), "d", "t", ("ID",), "cascade", "set null")
    refusing = ForeignKey("f", ("p",), "d", "t", ("ID",))
    children = [Table("d", "c", (Column("p", "int"),), (), (key,)) for key in (cascading, refusing)]
    assert map_table(parent, children).cascades_delete
    assert map_table(parent, children).cascades_update == (0,)
    assert not map_table(parent, children[1:]).cascades_delete
    assert map_table(parent, children[1:]).cascades_update == ()


def test_index_names_are_unique_and_short() -> None:
    assert index_name("a", "b_c") != index_name("a_b", "c")
    assert len(index_name("t" * 64, "ü" * 64).encode()) <= 63


def test_a_definition_comes_back_from_json() -> None:
    table = Table(
        "d",
        "t'ü",
        (Column("e", "enum", labels=("a", "it's"), default=Default("literal", "a")), Column("g", "int", generated="stored")),
        (Key("PRIMARY", (KeyPart("e", prefix=1),)),),
        (ForeignKey("f", ("g",), "d", "p", ("id",), "cascade"),),
        engine="InnoDB",
        options={"comment": "x"},
    )
    again = from_json(to_json(table))
    assert again == table
    assert [column.default for column in again.columns] == [Default("literal", "a"), None]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (Column("c", "int"), None),
        (Column("c", "int", default=Default()), "NULL"),
        (Column("c", "int", nullable=False, default=Default()), "'0'"),
        (Column("c", "int", default=Default("literal", "5")), "'5'"),
        (Column("c", "int", default=Default("literal", None)), "NULL"),
        (Column("c", "int", default=Default("expression")), None),
        (Column("c", "varchar", 5, charset="utf8mb4", default=Default("literal", "it's")), "'it''s'"),
        (Column("c", "enum", nullable=False, labels=("x", "y"), default=Default()), "'x'"),
        (Column("c", "binary", 2, nullable=False, default=Default()), r"'\x0000'"),
        (Column("c", "date", nullable=False, default=Default()), None),
        (Column("c", "timestamp", default=Default("literal", "2020-01-01 00:00:00")), None),
        (Column("c", "datetime", default=Default("literal", "0000-00-00 00:00:00")), None),
        (Column("c", "int", generated="virtual", default=Default()), None),
    ],
)
def test_the_value_of_a_new_column_is_known_or_nothing_is_guessed(column: Column, expected: str | None) -> None:
    assert fill_of(column, map_column(column, "d.t")) == expected


@pytest.mark.parametrize("name", ["ctid", "xmin", "tableoid"])
def test_names_of_system_columns_are_refused_before_the_table_is_made(name: str) -> None:
    with pytest.raises(SchemaMismatch, match=f"system column {name}"):
        map_table(Table("d", "t", (Column("id", "int"), Column(name, "int"))))


def test_other_spellings_of_system_columns_are_names_as_any() -> None:
    assert map_table(Table("d", "t", (Column("XMIN", "int"), Column("oid", "int")))).columns[0].name == "XMIN"


@pytest.mark.parametrize(
    ("old", "new", "fits"),
    [
        (Column("c", "varbinary", 20, charset="binary"), Column("c", "varbinary", 300, charset="binary"), True),
        (Column("c", "varbinary", 20, charset="binary"), Column("c", "varbinary", 19, charset="binary"), False),
        (Column("c", "varbinary", 255, charset="binary"), Column("c", "tinyblob", charset="binary"), True),
        (Column("c", "varbinary", 256, charset="binary"), Column("c", "tinyblob", charset="binary"), False),
        (Column("c", "tinyblob", charset="binary"), Column("c", "longblob", charset="binary"), True),
        (Column("c", "longblob", charset="binary"), Column("c", "blob", charset="binary"), False),
        (Column("c", "binary", 4, charset="binary"), Column("c", "binary", 9, charset="binary"), True),
        (Column("c", "binary", 4, charset="binary"), Column("c", "varbinary", 4, charset="binary"), True),
        (Column("c", "int"), Column("c", "decimal", 12, 2), True),
        (Column("c", "int"), Column("c", "decimal", 11, 2), False),
        (Column("c", "int"), Column("c", "decimal", 12, 2, unsigned=True), False),
        (Column("c", "mediumint", unsigned=True), Column("c", "decimal", 8), True),
        (Column("c", "bigint", unsigned=True), Column("c", "double"), True),
        (Column("c", "int"), Column("c", "double", unsigned=True), False),
        (Column("c", "int"), Column("c", "double", 8, 2), False),
        (Column("c", "float"), Column("c", "double"), True),
        (Column("c", "double"), Column("c", "float"), False),
        (Column("c", "tinyint"), Column("c", "varchar", 4, charset="latin1"), True),
        (Column("c", "tinyint"), Column("c", "varchar", 3, charset="latin1"), False),
        (Column("c", "tinyint", unsigned=True), Column("c", "varchar", 3, charset="latin1"), True),
        (Column("c", "decimal", 10, 2), Column("c", "varchar", 12, charset="latin1"), True),
        (Column("c", "decimal", 10, 2), Column("c", "varchar", 11, charset="latin1"), False),
        (Column("c", "decimal", 2, 2), Column("c", "varchar", 5, charset="latin1"), True),
        (Column("c", "decimal", 2, 2), Column("c", "varchar", 4, charset="latin1"), False),
        (Column("c", "decimal", 10, 2), Column("c", "decimal", 12, 4), True),
        (Column("c", "decimal", 10, 2), Column("c", "decimal", 12, 5), False),
        (Column("c", "decimal", 10, 2), Column("c", "decimal", 10, 1), False),
        (Column("c", "date"), Column("c", "datetime"), True),
        (Column("c", "year"), Column("c", "smallint", unsigned=True), True),
        (Column("c", "year"), Column("c", "tinyint"), False),
        (Column("c", "enum", charset="latin1", labels=("a", "bcd")), Column("c", "varchar", 3, charset="latin1"), True),
        (Column("c", "enum", charset="latin1", labels=("a", "bcd")), Column("c", "varchar", 2, charset="latin1"), False),
        (Column("c", "set", charset="latin1", labels=("a", "bcd")), Column("c", "varchar", 5, charset="latin1"), True),
        (Column("c", "set", charset="latin1", labels=("a", "bcd")), Column("c", "varchar", 4, charset="latin1"), False),
        (Column("c", "varchar", 9, charset="latin1"), Column("c", "tinytext", charset="utf8mb4"), True),
    ],
)
def test_without_a_strict_mode_values_are_kept_by_types_with_room_for_all(old: Column, new: Column, fits: bool) -> None:
    assert keeps_values(old, new, strict=False) == fits
    if fits:
        assert retype(map_column(old, "d.t"), map_column(new, "d.t")) is not None
