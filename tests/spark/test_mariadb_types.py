"""MariaDB's own types in Spark: text and typed values are those that the server shows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.mariadb_versions import MARIADB_VERSIONS, mariadb_of_version
from tests.server.value_columns import MARIADB, log_of, shown_by_server, statements_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("pyspark")
pytestmark = [pytest.mark.spark, pytest.mark.mariadb]
OWN = {"INET4", "INET6", "UUID"}
"""Types whose bytes in the log are not their text."""


@pytest.mark.parametrize("version", MARIADB_VERSIONS)
def test_every_value_is_shown_as_mariadb_shows_it(spark: SparkSession, version: str, tmp_path: Path) -> None:
    kinds = MARIADB[version]
    with mariadb_of_version(version) as server:
        log = log_of(server.sql, server.data, tmp_path, statements_of(kinds))
        expected = shown_by_server(server.sql, kinds)
    changes = spark.read.format("binlog").options(mode="rows", tables="v", statements="false").load(str(log))
    shown = {(kinds[int(row.table[1:])].type, row.after["id"]): row.after["v"] for row in changes.select("table", "after").collect()}
    assert shown == expected
    for number, kind in enumerate(kinds):
        if kind.type in OWN:
            options = {"mode": "rows", "tables": f"v.t{number}", "values": "typed"}
            typed = spark.read.format("binlog").options(**options).load(str(log)).select("after.id", "after.v").collect()
            values = {(kind.type, str(row.id)): row.v for row in typed if row.id is not None}
            assert values == {place: text for place, text in expected.items() if place[0] == kind.type}
