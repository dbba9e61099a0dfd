"""References of which parts are NULL, on a real group: values of unlike columns meet there by the bytes that the server sorts them by."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from tests.server.group_load.__main__ import members_of

from paraply.analysis.verify import verify

TYPES = {
    "bigint": "0 1 -1 7", "double": "0 1 -1 -0e0 1.5", "decimal(18,0)": "0 1 -1", "decimal(18,9)": "0 1 -1",
    "datetime": "20200101 19700101", "datetime(6)": "20200101 20200101000000.5", "timestamp": "20200101 20010101",
    "timestamp(3)": "20200101 20010101000000.25", "time": "1 -1", "time(2)": "1.5 -1.5", "time(6)": "-1.5", "int": "0 -1 1",
    "int unsigned": "0 2147483648 1", "float": "0 1 -1.5", "tinyint": "0 1 -1", "tinyint unsigned": "128 0 1", "smallint": "0",
    "smallint unsigned": "32768 128", "mediumint": "0 2", "year": "1901 2028 0", "date": "20200101 00010101", "bit(8)": "128 1",
    "bit(12)": "128 1", "enum('a','b')": "'a' 'b'", "enum('a','b') character set latin1": "'a' 'b'",
    "set('a','b','c','d','e','f','g','h')": "'h' 'a'", "binary(1)": "x'80' x'00' x'01'", "binary(4)": "x'80000000'",
    "binary(8)": "x'8000000000000000' x'01'",
}  # fmt: skip
"""Types whose values may be the same bytes, and such values."""
PARTS = 15
"""A key has 16 at most."""
INSERTS = 1200


def test_r11_null_parts_are_left_out_and_the_rest_meets_by_its_bytes() -> None:
    urls, folders = os.environ.get("PARAPLY_TEST_GROUP"), os.environ.get("PARAPLY_TEST_GROUP_LOGS")
    if not urls or not folders:
        pytest.skip("NO GROUP: set PARAPLY_TEST_GROUP=mysql://...,mysql://... and PARAPLY_TEST_GROUP_LOGS=folder,... to run this test")
    group = members_of(urls, folders)
    writer, reader = group.members[0].admin, group.members[-1]
    rng = random.Random(11)
    writer.query("drop database if exists partial_references; create database partial_references; use partial_references")
    writer.query("set sql_mode = ''")
    kinds = list(TYPES)
    keys = [kinds[:PARTS], kinds[-PARTS:], rng.sample(kinds, PARTS)]
    for number, types in enumerate(keys):
        names = ", ".join(f"c{n}" for n in range(PARTS))
        for table, nulls, constraint in (
            ("parent", "not null", f"unique key u ({names})"),
            ("child", "null", f"foreign key ({names}) references parent{number} ({names})"),
        ):
            columns = ", ".join(f"c{n} {kind} {nulls}" for n, kind in enumerate(types))
            writer.query(f"create table {table}{number} (id int primary key auto_increment, {columns}, {constraint})")
    for _ in range(INSERTS):
        number = rng.randrange(len(keys))
        set_columns = rng.sample(range(PARTS), 1 if rng.random() < 0.8 else 2)
        values = ", ".join(rng.choice(TYPES[keys[number][column]].split()) for column in set_columns)
        writer.query(f"insert into child{number} ({', '.join(f'c{column}' for column in set_columns)}) values ({values})")
    reader.wait_for(group.members[0].executed)
    report = verify([str(Path(path)) for path in reader.relay_logs()], infer_gc=True)
    assert report.transactions > INSERTS
    assert report.different == 0, report.first_difference
