"""Damaged logs into a real database: what stands before the damage is applied, nothing of what follows, and a repaired log continues."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import DATA, Outcome, apply, run_json
from mariadb_versions import ROW_LOG
from pg_databases import Database
from servers import running_mariadb
from truth_logs import truth_folder

from paraply import open_log

pytestmark = pytest.mark.postgres

PLAIN = DATA / "plain.binlog"
XA_LOG = Path(__file__).parents[3] / "rust/binlog/tests/data/mysql-9.7.000001"
ONE, TWO, THREE, FOUR = (1, "one", 10), (2, "two", 20), (3, "three", 30), (4, "four", 40)
STATES = [
    None,
    None,
    [],
    [ONE, TWO],
    [ONE, TWO, THREE],
    [(1, "one", 11), TWO, THREE],
    [(1, "one", 11), THREE],
    [(1, "one", 11), THREE, FOUR],
]
"""The table of ``plain.binlog`` after so many transactions; None: there is none."""
UPDATE = 4
"""Index of the transaction that is damaged."""


def places(log: Path) -> list[tuple[int, int]]:
    """Begin and end of each transaction."""
    return [(transaction.offset, transaction.end_offset) for transaction in open_log(log)]


def events(content: bytes, begin: int, end: int) -> list[tuple[int, int]]:
    """Offset and size of the events in a part of a log."""
    found = []
    while begin < end:
        size = int.from_bytes(content[begin + 9 : begin + 13], "little")
        found.append((begin, size))
        begin += size
    return found


def check(outcome: Outcome, database: Database, through: int) -> None:
    assert outcome.report["transactions"] == through
    assert database.items() == STATES[through]


def check_continues(database: Database, folder: Path, through: int) -> None:
    """The repaired log under the same name goes on where the damaged one ended."""
    log = folder / "binlog.000001"
    log.write_bytes(PLAIN.read_bytes())
    outcome = apply(log, database.url)
    assert outcome.code == 0, outcome.line
    assert (outcome.report["transactions"], outcome.report["skipped"]) == (7 - through, through)
    assert database.items() == STATES[7]


@pytest.mark.parametrize("where", ["header", "event", "transaction"])
def test_r27_a_log_that_ends_inside_a_transaction(database: Database, tmp_path: Path, where: str) -> None:
    content = PLAIN.read_bytes()
    begin, end = places(PLAIN)[UPDATE]
    between = [offset for offset, _ in events(content, begin, end)]
    cut = {"header": between[1] + 7, "event": between[2] + 25, "transaction": between[3]}[where]
    log = tmp_path / "binlog.000001"
    log.write_bytes(content[:cut])
    outcome = apply(log, database.url)
    assert (outcome.code, outcome.error["class"], outcome.error["file"]) == (3, "LogTruncated", str(log))
    assert begin <= outcome.error["position"] <= cut
    check(outcome, database, UPDATE)
    check_continues(database, tmp_path, UPDATE)


def test_r27_a_log_that_ends_between_two_transactions(database: Database, tmp_path: Path) -> None:
    log = tmp_path / "binlog.000001"
    log.write_bytes(PLAIN.read_bytes()[: places(PLAIN)[UPDATE][0]])
    outcome = apply(log, database.url)
    assert outcome.code == 0, outcome.line
    check(outcome, database, UPDATE)
    check_continues(database, tmp_path, UPDATE)


@pytest.mark.parametrize("event", range(5), ids=["gtid", "begin", "table-map", "rows", "commit"])
@pytest.mark.parametrize("byte", [4, 10, 21, -2], ids=["type", "size", "body", "checksum"])
def test_r27_a_flipped_byte_is_found_by_the_checksum(database: Database, tmp_path: Path, event: int, byte: int) -> None:
    content = bytearray(PLAIN.read_bytes())
    begin, end = places(PLAIN)[UPDATE]
    offset, size = events(content, begin, end)[event]
    content[offset + byte if byte >= 0 else offset + size + byte] ^= 0x41
    log = tmp_path / "binlog.000001"
    log.write_bytes(content)
    outcome = apply(log, database.url)
    assert (outcome.code, outcome.error["file"]) == (3, str(log)), outcome.line
    assert begin <= outcome.error["position"] <= end
    check(outcome, database, UPDATE)
    if byte == 21:
        check_continues(database, tmp_path, UPDATE)


@pytest.mark.parametrize("event", range(5), ids=["gtid", "begin", "table-map", "rows", "commit"])
@pytest.mark.parametrize("byte", [4, 10, 19, 24, 27])
def test_r27_a_flipped_byte_without_checksums_leaves_no_half_transaction(database: Database, tmp_path: Path, event: int, byte: int) -> None:
    whole = DATA / "no-checksum.binlog"
    content = bytearray(whole.read_bytes())
    offset, size = events(content, *places(whole)[UPDATE])[event]
    content[offset + min(byte, size - 1)] ^= 0x41
    log = tmp_path / "binlog.000001"
    log.write_bytes(content)
    outcome = apply(log, database.url, "--allow-gap")
    assert outcome.code in (0, 1, 3), outcome.line
    if outcome.code:
        assert outcome.error["file"] == str(log)
        check(outcome, database, UPDATE)


@pytest.mark.parametrize("flags", [0, 0x80], ids=["", "ignorable"])
def test_r27_an_event_type_that_nobody_knows(database: Database, tmp_path: Path, flags: int) -> None:
    whole = DATA / "no-checksum.binlog"
    content = bytearray(whole.read_bytes())
    begin, end = places(whole)[UPDATE]
    offset = events(content, begin, end)[3][0]
    content[offset + 4], content[offset + 17] = 77, content[offset + 17] | flags
    log = tmp_path / "binlog.000001"
    log.write_bytes(content)
    outcome = apply(log, database.url)
    assert (outcome.code, outcome.error["class"]) == (3, "LogNotUnderstood")
    assert "77" in outcome.line
    check(outcome, database, UPDATE)


@pytest.mark.mariadb
@pytest.mark.parametrize("which", ["rows", "added"])
@pytest.mark.parametrize("flags", [0, 0x80], ids=["", "ignorable"])
def test_r27_an_event_type_that_nobody_knows_in_a_group_of_mariadb(database: Database, tmp_path: Path, flags: int, which: str) -> None:
    with running_mariadb([*ROW_LOG, "--binlog-checksum=NONE"]) as server:
        server.sql("CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)", "INSERT INTO d.t VALUES (1)", "INSERT INTO d.t VALUES (2)")
        server.sql("FLUSH BINARY LOGS")
        content = bytearray((server.data / "binlog.000001").read_bytes())
    log = tmp_path / "binlog.000001"
    log.write_bytes(content)
    begin, end = places(log)[3]
    group = events(content, begin, end)
    assert content[begin + 4] == 162
    offset, size = group[-2]
    if which == "added":
        event = content[offset : offset + size]
        content[offset:offset] = event
    content[offset + 4], content[offset + 17] = 173, content[offset + 17] | flags
    log.write_bytes(content)
    outcome = apply(log, database.url)
    assert (outcome.code, outcome.error["class"]) == (3, "LogNotUnderstood"), outcome.line
    assert "173" in outcome.line
    assert outcome.report["transactions"] == 3
    assert database.sql("SELECT id FROM d.t") == [(1,)]


def test_r27_row_changes_in_statement_format(database: Database) -> None:
    outcome = apply(DATA / "statement-format.binlog", database.url)
    assert (outcome.code, outcome.error["class"], outcome.report["transactions"]) == (3, "LogNotUnderstood", 3)
    assert "binlog_format=ROW" in outcome.line
    assert database.items() == [ONE]


def public_logs() -> list[Path]:
    folder = truth_folder()
    return sorted(path for path in (folder / "public").iterdir() if path.name != "README.md") if folder is not None else []


@pytest.mark.truth
@pytest.mark.parametrize("log", public_logs(), ids=lambda log: log.name)
def test_logs_of_many_servers_are_read_or_refused(database: Database, log: Path) -> None:
    outcome = apply(log, database.url, "--allow-gap")
    assert outcome.code in (0, 1, 3), outcome.line
    if outcome.code:
        assert outcome.error["file"] == str(log)
        assert outcome.error["position"] is not None
    compared = run_json("verify", log)
    assert compared.code in (0, 1, 3), compared.line


def test_r35_an_xa_transaction_is_refused_before_the_first_write(database: Database) -> None:
    prepared = next(transaction for transaction in open_log(XA_LOG) if transaction.kind == "xa_prepare")
    outcome = apply(XA_LOG, database.url)
    assert outcome.code == 3, outcome.line
    error = outcome.error
    assert (error["class"], error["position"], error["gtid"]) == ("LogNotUnderstood", prepared.offset, prepared.gtid)
    assert prepared.offset > 1000, "transactions that could be applied stand before it"
    assert outcome.report.get("transactions", 0) == 0
    assert database.sql("SELECT nspname FROM pg_namespace WHERE nspname = 'd'") == []


def test_r35_an_xa_transaction_behind_the_stop_is_not_refused(database: Database) -> None:
    prepared = next(transaction for transaction in open_log(XA_LOG) if transaction.kind == "xa_prepare")
    assert apply(XA_LOG, database.url, "--stop-at", prepared.gtid).error["class"] == "LogNotUnderstood"
    before = apply(XA_LOG, database.url, "--stop-before", prepared.gtid)
    assert before.code == 0, before.line
    assert before.report["transactions"] == 5
