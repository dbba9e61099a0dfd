"""Every type of MariaDB on a real server of each version: the log's form of its column is that of the target's column (R31)."""

from __future__ import annotations

from pathlib import Path

import pytest
from server.version_servers import VersionServers, logged, make_version_servers, replayed, seen

__all__ = ["make_version_servers"]

COLUMNS = {
    "tinyint": ("TINYINT UNSIGNED", "200"), "smallint": ("SMALLINT", "-5"), "mediumint": ("MEDIUMINT UNSIGNED", "16000000"),
    "int_": ("INT", "-7"),
    "bigint": ("BIGINT UNSIGNED", "18446744073709551615"), "zerofill": ("INT(5) ZEROFILL", "7"), "float_": ("FLOAT", "1.5"),
    "float2": ("FLOAT(7,3)", "1.125"), "double_": ("DOUBLE PRECISION", "2.25"), "dec_": ("DECIMAL(30,10)", "12345.678"),
    "bit_": ("BIT(13)", "b'1011'"),
    "bool_": ("BOOLEAN", "TRUE"), "date_": ("DATE", "'2026-01-02'"), "year_": ("YEAR", "2026"), "time_": ("TIME", "'-10:11:12'"),
    "time6": ("TIME(6)", "'10:11:12.123456'"), "datetime_": ("DATETIME", "'2026-01-02 03:04:05'"),
    "datetime3": ("DATETIME(3)", "'2026-01-02 03:04:05.678'"),
    "ts": ("TIMESTAMP NULL", "'2026-01-02 03:04:05'"), "ts6": ("TIMESTAMP(6) NULL", "'2026-01-02 03:04:05.678901'"),
    "char_": ("CHAR(20)", "'ä'"), "char255": ("CHAR(255) CHARACTER SET utf8mb4", "'ä'"), "binary_": ("BINARY(200)", "x'00ff'"),
    "varchar_": ("VARCHAR(20)", "'ä'"),
    "varchar900": ("VARCHAR(900) CHARACTER SET utf8mb4", "'x'"), "varbinary_": ("VARBINARY(300)", "x'00ff'"),
    "tinytext_": ("TINYTEXT", "'a'"),
    "text_": ("TEXT", "'a'"), "mediumtext_": ("MEDIUMTEXT", "'a'"), "longtext_": ("LONGTEXT", "'a'"), "blob_": ("BLOB", "x'00'"),
    "blob10": ("BLOB(10)", "x'00'"),
    "longblob_": ("LONGBLOB", "x'00'"), "json_": ("JSON", "'{}'"), "enum_": ("ENUM('a','b,c','d''e')", "'b,c'"),
    "set_": ("SET('a','b','c','d','e','f','g','h','i')", "'a,i'"),
    "point_": ("POINT", "ST_PointFromText('POINT(1 2)')"), "geo_": ("GEOMETRY", "ST_GeomFromText('LINESTRING(0 0,1 1)')"),
    "multi_": ("GEOMETRYCOLLECTION", "ST_GeomFromText('GEOMETRYCOLLECTION(POINT(1 2))')"), "inet6_": ("INET6", "'2001:db8::1'"),
    "packed": ("VARCHAR(300) COMPRESSED", "REPEAT('ä', 100)"), "packed_text": ("TEXT COMPRESSED", "REPEAT('x', 500)"),
    "packed_blob": ("LONGBLOB COMPRESSED", "REPEAT('x', 500)"),
}  # fmt: skip
SINCE_10_11 = {"uuid_": ("UUID", "'123e4567-e89b-12d3-a456-426614174000'"), "inet4_": ("INET4", "'10.0.0.1'")}
SINCE_11_8 = {"vector_": ("VECTOR(5)", "VEC_FromText('[0.1,0.2,0.3,0.4,0.5]')")}
OF_VERSION = {"10.5": COLUMNS, "10.11": COLUMNS | SINCE_10_11, "11.8": COLUMNS | SINCE_10_11 | SINCE_11_8}


@pytest.mark.by_turns(5)
@pytest.mark.parametrize("metadata", ["NO_LOG", "MINIMAL", "FULL"])
@pytest.mark.parametrize(("old", "new"), [("10.5", "10.5"), ("10.11", "10.11"), ("11.8", "11.8"), ("10.5", "11.8"), ("10.11", "11.8")])
def test_r31_each_type_is_taken_for_itself(make_version_servers: VersionServers, tmp_path: Path, old: str, new: str, metadata: str) -> None:
    source, target = make_version_servers.source(old), make_version_servers.target(new)
    columns = OF_VERSION[old]
    define = ", ".join(f"c_{name} {kind}" for name, (kind, _) in columns.items())
    values = ", ".join(value for _, value in columns.values())
    source.sql(f"SET GLOBAL binlog_row_metadata={metadata}")
    statements = [
        "CREATE DATABASE d CHARACTER SET latin1", f"CREATE TABLE d.t (id INT PRIMARY KEY, {define})",
        f"INSERT INTO d.t VALUES (1, {values})",
        f"INSERT INTO d.t VALUES (2{', NULL' * len(columns)})", "UPDATE d.t SET id=3 WHERE id=1",
    ]  # fmt: skip
    for name, (kind, value) in columns.items():
        statements += [f"CREATE TABLE d.one_{name} (id INT PRIMARY KEY, c {kind})", f"INSERT INTO d.one_{name} VALUES (1, {value})"]
    replayed(logged(source, tmp_path, *statements), target)
    source.sql("SET GLOBAL binlog_row_metadata=NO_LOG")
    reads = ["SELECT * FROM d.t ORDER BY id", *(f"SELECT * FROM d.one_{name}" for name in columns)]
    assert seen(target, *reads) == seen(source, *reads)


def test_r31_vectors_with_an_index_are_found_again(make_version_servers: VersionServers, tmp_path: Path) -> None:
    source, target = make_version_servers.source("11.8"), make_version_servers.target("11.8")
    values = ", ".join(f"({number}, VEC_FromText('[{number / 10},0.2,0.3,0.4,0.5]'))" for number in range(1, 30))
    log = logged(
        source, tmp_path, "CREATE DATABASE d",
        "CREATE TABLE d.vec (id INT PRIMARY KEY, v VECTOR(5) NOT NULL, VECTOR INDEX (v) M=8 DISTANCE=cosine)",
        f"INSERT INTO d.vec VALUES {values}", "UPDATE d.vec SET v=VEC_FromText('[9,9,9,9,9]') WHERE id=7", "DELETE FROM d.vec WHERE id=8",
    )  # fmt: skip
    replayed(log, target)
    reads = (
        "SELECT id, VEC_ToText(v) FROM d.vec ORDER BY id",
        "SELECT id FROM d.vec ORDER BY VEC_DISTANCE_COSINE(v, VEC_FromText('[9,9,9,9,9]')) LIMIT 3",
    )
    assert seen(target, *reads) == seen(source, *reads)
