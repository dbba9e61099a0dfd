"""Values as text: `paraply.rows` shows what MariaDB itself shows, in each of its versions."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest
from mariadb_versions import MARIADB_VERSIONS, mariadb_of_version
from server.value_columns import MARIADB, log_of, shown_by_rows, shown_by_server, statements_of, texts_of_charsets

import paraply
from paraply.errors import LogNotUnderstood

ADDRESSES = "'01a21fb4-fa5d-76ec-8265-1f13d37a905e','255.1.2.3','2001:db8::1'"


@pytest.mark.parametrize("metadata", ["NO_LOG", "FULL"])
@pytest.mark.parametrize("version", MARIADB_VERSIONS)
def test_every_type_is_shown_as_mariadb_shows_it(version: str, metadata: str, tmp_path: Path) -> None:
    kinds = MARIADB[version]
    with mariadb_of_version(version) as server:
        server.sql(f"SET GLOBAL binlog_row_metadata={metadata}")
        log = log_of(server.sql, server.data, tmp_path, statements_of(kinds))
        expected = shown_by_server(server.sql, kinds)
    assert shown_by_rows(log, kinds) == expected


@pytest.mark.parametrize("version", ["10.11", "11.8"])
def test_text_in_every_character_set_is_shown_as_mariadb_shows_it(version: str, tmp_path: Path) -> None:
    with mariadb_of_version(version) as server:
        shown = texts_of_charsets(server.sql, server.data, tmp_path)
    assert len(shown) > 20
    for name, texts in shown.items():
        assert [(code, own) for code, _, own in texts] == [(code, server_text) for code, server_text, _ in texts], name


@pytest.mark.parametrize("version", ["10.11", "11.8"])
def test_uuid_and_addresses_are_whole_in_key_before_and_after(version: str, tmp_path: Path) -> None:
    statements = [
        "CREATE DATABASE d",
        "CREATE TABLE d.u (id UUID, a INET4, b INET6, PRIMARY KEY (id, a, b))",
        (
            f"INSERT INTO d.u VALUES ({ADDRESSES}), ('81a21fb4-fa5d-76ec-8265-1f13d37a905e','1.2.3.4','::'), "
            "('82a21fb4-fa5d-76ec-8265-1f13d37a905e','1.2.3.4','::')"
        ),
        "UPDATE d.u SET a='0.0.0.0' WHERE b='2001:db8::1'",
        "DELETE FROM d.u",
    ]
    with mariadb_of_version(version) as server:
        log = log_of(server.sql, server.data, tmp_path, statements)
    rows = paraply.rows(log).read_all().to_pylist()
    first = {"id": "01a21fb4-fa5d-76ec-8265-1f13d37a905e", "a": "255.1.2.3", "b": "2001:db8::1"}
    assert [dict(rows[0]["key"]), dict(rows[3]["before"]), dict(rows[3]["after"])] == [first, first, first | {"a": "0.0.0.0"}]
    assert len({tuple(row["key"]) for row in rows[:3]}) == 3
    assert sorted(dict(row["before"])["id"] for row in rows[4:]) == sorted(dict(row["key"])["id"] for row in rows[:3])


def test_values_of_unknown_tables_are_never_damaged(tmp_path: Path) -> None:
    """Without a definition the log calls a UUID a BINARY, without the zero bytes at its end: they are shown as a hexadecimal literal."""
    ids = [str(uuid.uuid5(uuid.NAMESPACE_URL, str(number))) for number in range(200)]
    with mariadb_of_version("10.11") as server:
        server.sql("CREATE DATABASE d", "CREATE TABLE d.u (id UUID PRIMARY KEY, t VARCHAR(20) CHARACTER SET latin1)")
        log = log_of(server.sql, server.data, tmp_path, [f"INSERT INTO d.u VALUES ('{each}', 'é')" for each in ids])
    shown = [dict(row["after"]) for row in paraply.rows(log).read_all().to_pylist()]
    assert {row["@2"] for row in shown} == {"0xE9"}
    assert [row["@1"] for row in shown if row["@1"].startswith("0x")] == [
        "0x" + uuid.UUID(each).bytes.rstrip(b"\0").hex().upper() for each, row in zip(ids, shown, strict=True) if row["@1"].startswith("0x")
    ]
    assert len({row["@1"] for row in shown}) == len(ids)
    assert not any("�" in value for row in shown for value in row.values())


OLD = "CREATE TABLE o.t{0} (id INT PRIMARY KEY, a TIME({0}), b DATETIME({0}), c TIMESTAMP({0}) NULL)"
OLD_ROWS = (
    "INSERT INTO o.t{0} VALUES (1, '-838:59:58.999999', '9999-12-31 23:59:59.999999', '2038-01-19 03:14:06.999999'), "
    "(2, '00:00:00', '0000-00-00', '0000-00-00'), (3, '12:34:56.789123', '2024-02-29 12:34:56.789123', '1970-01-01 00:00:01.1'), "
    "(4, '-00:00:00.5', '2024-00-00', NULL), (5, '838:59:59', '0000-00-01 00:00:00.1', '2001-02-03 04:05:06.000001')"
)


def old_log(version: str, folder: Path) -> tuple[Path, Path, dict[str, list[tuple[object, ...]]]]:
    """Return the log that makes old temporal columns, the log with their rows, and the rows as the server shows them."""
    with mariadb_of_version(version) as server:
        make = ["CREATE DATABASE o", *(OLD.format(digits) for digits in range(7))]
        definitions = log_of(server.sql, server.data, folder, ["SET GLOBAL mysql56_temporal_format=OFF", *make])
        server.sql("SET GLOBAL mysql56_temporal_format=ON")  # in no log
        fill = ["SET sql_mode=''", "SET time_zone='+00:00'", *(OLD_ROWS.format(digits) for digits in range(7))]
        rows = log_of(server.sql, server.data, folder, fill, flush=False)
        ask = "SELECT CAST(id AS CHAR), CAST(a AS CHAR), CAST(b AS CHAR), CAST(c AS CHAR) FROM o.t{} ORDER BY id"
        shown = {f"t{digits}": list(server.sql("SET time_zone='+00:00'", ask.format(digits))) for digits in range(7)}
    return definitions, rows, shown


@pytest.mark.parametrize("version", MARIADB_VERSIONS)
def test_old_temporal_columns_are_read_by_their_definition(version: str, tmp_path: Path) -> None:
    definitions, rows, expected = old_log(version, tmp_path)
    shown: dict[str, list[tuple[object, ...]]] = {}
    for change in paraply.rows([definitions, rows]).read_all().to_pylist():
        shown.setdefault(change["table"], []).append(tuple(dict(change["after"]).values()))
    assert shown == expected


def test_old_temporal_columns_without_a_definition_are_named_and_passed(tmp_path: Path) -> None:
    _, rows, _ = old_log("10.11", tmp_path)
    with pytest.raises(LogNotUnderstood, match=r"column number 2 of o\.t0 holds .* ALTER TABLE \.\.\. FORCE"):
        paraply.rows(rows).read_all()
    assert len(list(paraply.open_log(rows))) == 7
    assert paraply.rows(rows, tables=["o.other"]).read_all().num_rows == 0
