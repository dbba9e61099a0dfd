"""The parts of the MySQL target that need no server: URLs, statement variables, error numbers, column comparison, progress."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Any

import pytest
from server.native_blocks import ColumnInfo, Format, Statement

from paraply._native import GtidSet
from paraply.errors import (
    ApplyFailed,
    ConnectionFailed,
    ConnectionLost,
    LogNotUnderstood,
    PrivilegeMissing,
    RowNotFound,
    SchemaMismatch,
    ServerError,
    TargetUnable,
    TemporaryFailure,
    UsageError,
)
from paraply.targets.mysql.ddl.context import ServerKind, context_statements
from paraply.targets.mysql.ddl.statement import _made_or_dropped
from paraply.targets.mysql.errors import connect_error, explain
from paraply.targets.mysql.preflight.table_check import TableChecker, TargetColumn, compare_columns, words_of
from paraply.targets.mysql.sql import identifier, text_literal
from paraply.targets.progress.gtid_ledger import ProgressLedger
from paraply.targets.url import parse_url

MYSQL = ServerKind(False, (9, 7, 4))
MARIADB = ServerKind(True, (10, 11, 6))
FORMAT = Format("9.7.4", (9, 7, 4), False)


def statement(sql: bytes = b"CREATE TABLE t(a INT)", **context: Any) -> Statement:
    return Statement(sql, "shop", 1000, 4, context)


def test_a_url_is_taken_apart() -> None:
    url = parse_url("mysql://us%40er:p%2Fw@db.example.org:3307/shop?tls=verify-ca&tls-ca=/ca.pem", {})
    assert (url.family, url.host, url.port, url.user, url.password) == ("mysql", "db.example.org", 3307, "us@er", "p/w")
    assert url.database == "shop"
    assert url.tls_options() == {"mode": "verify-ca", "ca": "/ca.pem"}


@pytest.mark.parametrize(
    "text", ["mysql://app:hunter2@h:x/", "mysql://app:hunter2@h?nothing=1", "mysqlx://app:hunter2@h", "mysql://a:hunter2@[h/"]
)
def test_a_password_is_in_no_error(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_url(text, {})
    assert "hunter2" not in str(raised.value)


def test_a_password_is_in_no_text_of_a_url() -> None:
    url = parse_url("mysql://app:hunter2@h", {})
    assert "hunter2" not in repr(url) + str(url)


def test_a_password_may_come_from_the_environment_or_an_option_file(tmp_path: Any) -> None:
    assert parse_url("mysql://app@h", {"PARAPLY_PASSWORD": "p"}).password == "p"
    options = tmp_path / "my.cnf"
    options.write_text("[client]\nuser=me\npassword='it is'\nport = 3310\n[mysqld]\nuser=mysql\n")
    url = parse_url(f"mysql://h?defaults-file={options}", {})
    assert (url.user, url.password, url.port) == ("me", "it is", 3310)


@pytest.mark.parametrize(
    ("code", "kind"),
    [(1205, TemporaryFailure), (1213, TemporaryFailure), (2013, ConnectionLost), (1032, RowNotFound), (1146, SchemaMismatch),
     (1677, SchemaMismatch), (1062, ApplyFailed), (1114, TargetUnable),
     (1142, PrivilegeMissing), (9999, ApplyFailed)],
)  # fmt: skip
def test_r24_error_numbers_become_causes_with_their_place(code: int, kind: type[Exception]) -> None:
    error = explain(ServerError("text", code), file="binlog.1", position=7, gtid="u:1")
    assert type(error) is kind
    assert (error.file, error.position, error.gtid) == ("binlog.1", 7, "u:1")


@pytest.mark.parametrize(
    ("code", "message", "hint"),
    [
        (1005, """Can't create table `h`.`x` (errno: 184 "Tablespace already exists")""", "move the table's .ibd file"),
        (1813, "Tablespace '`h`.`x`' exists.", "move the table's .ibd file"),
        (1005, """Can't create table `h`.`x` (errno: 135 "No more room in record file")""", "free disk space"),
        (3, """Fehler beim Schreiben der Datei './h/x.frm' (Fehler: 28 "No space left on device")""", "free disk space"),
        (3, "Error writing file './binlog.000002' (OS errno 28 - No space left on device)", "free disk space"),
        (1005, """Can't create table `h`.`x` (errno: 150 "Foreign key constraint is incorrectly formed")""", ""),
        (1062, """Duplicate entry '28 "' for key 'PRIMARY'""", "a row with this key is there already"),
        (1406, """Data too long for column '28 - a'""", ""),
    ],
)
def test_r31_an_error_in_another_ones_text_says_what_to_do(code: int, message: str, hint: str) -> None:
    advice = str(explain(ServerError(message, code))).removeprefix(f"{message} (error {code})")
    assert hint in advice if hint else advice == ""


def test_a_refused_login_says_what_to_do_and_where() -> None:
    error = connect_error(ServerError("Access denied", 1045), "mysql://app@h:3306")
    assert isinstance(error, ConnectionFailed)
    assert "PARAPLY_PASSWORD" in str(error)
    assert "mysql://app@h:3306" in str(error)


def test_r33_flags_and_modes_are_set_as_logged() -> None:
    (sql,) = context_statements(statement(flags2=1 << 26 | 1 << 27 | 1 << 14, sql_mode=4, microseconds=5), FORMAT, MYSQL)
    for part in ("timestamp=1000.000005", "foreign_key_checks=0", "unique_checks=0", "sql_auto_is_null=1", "sql_mode=4"):
        assert part in sql


def test_r33_modes_that_mysql_8_dropped_are_left_out() -> None:
    (sql,) = context_statements(statement(sql_mode=1 << 28 | 1 << 21), FORMAT, MYSQL)
    assert f"sql_mode={1 << 21}" in sql


def test_r33_unknown_mode_bits_depend_on_the_family() -> None:
    assert context_statements(statement(sql_mode=1 << 34), FORMAT, MARIADB)
    with pytest.raises(LogNotUnderstood):
        context_statements(statement(sql_mode=1 << 34), FORMAT, MYSQL)


def test_r33_an_invoker_that_matters_is_not_guessed() -> None:
    assert context_statements(statement(invoker=("a", "b")), FORMAT, MYSQL)
    with pytest.raises(LogNotUnderstood):
        context_statements(statement(b"GRANT r TO current_user()", invoker=("a", "b")), FORMAT, MYSQL)


@pytest.mark.parametrize(
    ("sql", "found"),
    [("CREATE TABLE a(b INT)", ("shop", "a")), ("create table `x`.`a``b` (c int)", ("x", "a`b")),
     ("DROP TABLE a /* by server */", ("shop", "a")),
     ("CREATE DATABASE d", ("d", None)), ("CREATE TABLE IF NOT EXISTS a(b INT)", (None, None)), ("DROP TABLE a,b", (None, None)),
     ("DROP TABLE a, b", (None, None)), ("DROP TABLE a ,b", (None, None)), ("ALTER TABLE a ADD b INT", (None, None))],
)  # fmt: skip
def test_r25b_only_a_plain_create_or_drop_is_judged_by_the_catalog(sql: str, found: tuple[str | None, str | None]) -> None:
    assert _made_or_dropped(statement(sql.encode())) == found


def target_column(*row: Any) -> TargetColumn:
    return TargetColumn.of(row)


TYPES = [
    # name, type, declaration, octets, precision, scale, fraction, charset; then the code and metadata of MySQL 9.7's own table map
    (("c", "smallint", "smallint unsigned", None, 5, 0, None, None), 2, 0),
    (("c", "decimal", "decimal(12,2)", None, 12, 2, None, None), 246, 12 << 8 | 2),
    (("c", "bit", "bit(3)", None, 3, None, None, None), 16, 3 << 8),
    (("c", "bit", "bit(64)", None, 64, None, None, None), 16, 8),
    (("c", "timestamp", "timestamp(2)", None, None, None, 2, None), 17, 2),
    (("c", "char", "char(255)", 1020, None, None, None, "utf8mb4"), 254, 1020),
    (("c", "varchar", "varchar(6000)", 24000, None, None, None, "utf8mb4"), 15, 24000),
    (("c", "mediumtext", "mediumtext", 16777215, None, None, None, "utf8mb4"), 252, 3),
    (("c", "json", "json", None, None, None, None, None), 245, 4),
    (("c", "enum", "enum('a','b,''c')", 4, None, None, None, "utf8mb4"), 247, 1),
    (("c", "set", "set('a','b','c','d','e','f','g','h','i')", 68, None, None, None, "utf8mb4"), 248, 2),
    (("c", "point", "point", None, None, None, None, None), 255, 4),
]


@pytest.mark.parametrize(("row", "code", "metadata"), TYPES)
def test_r31_a_columns_type_is_what_the_server_itself_would_log(row: tuple[Any, ...], code: int, metadata: int) -> None:
    column = target_column(*row)
    assert (column.type_code, column.metadata) == (code, metadata)
    compare_columns("t", [ColumnInfo(code, metadata)], [column], lambda _: None)


@pytest.mark.parametrize(
    ("log", "complaint"),
    [(ColumnInfo(3, 0, name="other"), "other"), (ColumnInfo(8, 0), "type"), (ColumnInfo(3, 0, unsigned=True), "UNSIGNED")],
)
def test_r31_differences_are_refused(log: ColumnInfo, complaint: str) -> None:
    with pytest.raises(SchemaMismatch, match=complaint):
        compare_columns("t", [log], [target_column("a", "int", "int", None, 10, 0, None, None)], lambda _: None)


@dataclass
class NamedMap:
    """The attributes of a table map that a checker reads first."""

    database: str
    table: str
    fingerprint: int = 1


class SlowChecker(TableChecker):
    """Counts which tables are looked at; the first look fails."""

    def __init__(self) -> None:
        super().__init__(allow_nontransactional=False)
        self.looks: list[str] = []

    def _check_table(self, connection: object, table_map: Any, version: tuple[int, int, int]) -> None:
        self.looks.append(table_map.table)
        time.sleep(0.05)
        if len(self.looks) == 1:
            raise TemporaryFailure("interrupted")


def test_r31_many_workers_that_come_with_a_table_look_at_it_once() -> None:
    checker: Any = SlowChecker()
    failed = []

    def work() -> None:
        try:
            checker.check(lambda: None, [NamedMap("d", "t")], (9, 7, 0))
        except TemporaryFailure:
            failed.append(True)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert (checker.looks, failed) == (["t", "t"], [True]), "one look fails, the next one counts for all others"
    checker.check(lambda: None, [NamedMap("d", "t"), NamedMap("d", "u")], (9, 7, 0))
    checker.forget()
    checker.check(lambda: None, [NamedMap("d", "t")], (9, 7, 0))
    assert checker.looks == ["t", "t", "u", "t"]


@pytest.mark.parametrize(
    ("sql", "again"),
    [
        ("ALTER TABLE d.T ADD COLUMN x INT", ["t", "my t"]),
        ("alter table `größe` engine=MyISAM", ["größe", "my t"]),
        ("RENAME TABLE d.t TO d.z, `d`.`my t` TO u", ["t", "u", "my t"]),
        ("CREATE TABLE d.v (t INT COMMENT 'a ` b \" c')", ["t", "my t"]),
        ("CREATE TABLE d.v (a INT)", ["my t"]),
        ("DROP DATABASE d", ["t", "u", "größe", "my t"]),
    ],
)
def test_r31_after_a_statement_the_tables_that_it_may_be_about_are_compared_again(sql: str, again: list[str]) -> None:
    checker: Any = SlowChecker()
    maps = [NamedMap("d", name) for name in ("t", "u", "größe", "my t")]
    with pytest.raises(TemporaryFailure):
        checker.check(lambda: None, maps, (9, 7, 0))
    checker.check(lambda: None, maps, (9, 7, 0))
    checker.looks.clear()
    checker.forget(words_of(sql))
    checker.looks.append("")  # the first look fails
    checker.check(lambda: None, maps, (9, 7, 0))
    assert checker.looks[1:] == again
    checker.looks.clear()
    checker.check(lambda: None, maps, (9, 7, 0))
    assert checker.looks == []


def test_r31_another_character_set_is_refused() -> None:
    column = target_column("a", "varchar", "varchar(10)", 40, None, None, None, "utf8mb4")
    compare_columns("t", [ColumnInfo(15, 40, collation_id=255)], [column], lambda _: "utf8mb4")
    with pytest.raises(SchemaMismatch, match="latin1"):
        compare_columns("t", [ColumnInfo(15, 40, collation_id=8)], [column], lambda _: "latin1")


def test_names_and_values_never_become_sql_unquoted() -> None:
    assert identifier("a`; DROP") == "`a``; DROP`"
    assert "'" not in text_literal("a'b\\").replace("X'", "").replace("' USING", "")


class FakeBlock:
    end_file, end_offset = "log", 9
    transaction_count, skipped, numbers = 1, 0, ()

    def __init__(self, gtids: str, ordinal: int) -> None:
        self.gtids, self.ordinal = GtidSet(gtids), ordinal


U = "11111111-1111-1111-1111-111111111111"


def test_r25_the_union_of_the_sessions_rows_is_exactly_what_is_committed() -> None:
    ledger = ProgressLedger(GtidSet(f"{U}:1-5"), has_gtids=True)
    first, second, third = (FakeBlock(f"{U}:{n}", n) for n in (6, 7, 8))
    rows = {}
    # Two sessions; the younger transaction begins before the older one has committed, as parallel sessions do.
    rows[0], pending = ledger.mark(first), ledger.mark(second)  # type: ignore[arg-type]
    assert GtidSet(pending.executed) == GtidSet(f"{U}:1-5:7")
    ledger.acknowledge(first)  # type: ignore[arg-type]
    rows[1] = pending
    ledger.acknowledge(second)  # type: ignore[arg-type]
    rows[0] = ledger.mark(third)  # type: ignore[arg-type]
    assert GtidSet(rows[0].executed) | GtidSet(rows[1].executed) == GtidSet(f"{U}:1-8")
