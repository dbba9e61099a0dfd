"""The classifier of the log reader (Rust, on bytes) and that of the DDL parser (Python, on tokens) agree.

The reader decides what a statement does to its transaction. Only what it takes for a DDL comes to the parser, which names verb and object.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conventions.repository import ROOT, script

import paraply
from paraply._native import encode_statement
from paraply.errors import LogDamaged, LogNotUnderstood, LogTruncated
from paraply.schema.ddl.rules import Rules
from paraply.schema.ddl.statement_kind import StatementKind

RUST = (ROOT / "rust" / "binlog" / "src" / "event" / "text.rs").read_text(encoding="utf-8")
DDL, CREATES_WITH_ROWS = "Ddl", "CREATE TABLE t (a INT) START TRANSACTION"
#: Statements of each kind of the reader.
STATEMENTS: dict[str, tuple[str, ...]] = {
    "Nothing": ("/* nothing */", "# Dummy event replacing event type 160"),
    "Begin": ("BEGIN", "/* a */ START TRANSACTION"),
    "Commit": ("COMMIT", "-- a\nCOMMIT"),
    "Rollback": ("ROLLBACK", "rollback /* TO */"),
    "RollbackTo": ("ROLLBACK TO `s`", "ROLLBACK WORK TO SAVEPOINT s"),
    "Savepoint": ("SAVEPOINT `s`",),
    "ReleaseSavepoint": ("RELEASE SAVEPOINT s",),
    "XaStart": ("XA START X'61'", "XA BEGIN X'61'"),
    "XaEnd": ("XA END X'61'",),
    "XaFinish": ("XA COMMIT X'61' ONE PHASE", "XA ROLLBACK X'61'"),
    "Temporary": ("CREATE OR REPLACE TEMPORARY SEQUENCE s", "DROP TEMPORARY TABLE t", "DROP /*!40005 TEMPORARY */ TABLE IF EXISTS `t`"),
    DDL: (
        "CREATE TABLE t (a INT)", CREATES_WITH_ROWS, "CREATE TABLE t (a INT) START /* a */ TRANSACTION /* b */",
        "CREATE TABLE t (a VARCHAR(9) DEFAULT 'START TRANSACTION') COMMENT ' START TRANSACTION'",
        "create or replace definer=`a`@`b` event e on schedule every 1 day do delete from t",
        "ALTER TABLE t ADD b INT", "/*!40005 DROP TABLE t */", "/* a */ DROP DATABASE d", "RENAME TABLE t TO u", "TRUNCATE t",
        "GRANT SELECT ON d.* TO a", "REVOKE SELECT ON d.* FROM a", "ANALYZE TABLE t", "OPTIMIZE TABLE t", "REPAIR TABLE t",
        "FLUSH TABLES", "INSTALL PLUGIN a SONAME 'b'", "UNINSTALL PLUGIN a", "SET PASSWORD FOR a='b'", "SET DEFAULT ROLE a TO b",
        "SET ROLE a", "SET STATEMENT max_statement_time=1 FOR DROP TABLE t",
    ),
    "Refused": (
        "INSERT INTO t VALUES (1)", "CREATE TEMPORARY TABLE t (a INT)", "CREATE TABLE t SELECT 1", "SET STATEMENT a=1 FOR DELETE FROM t",
    ),
}  # fmt: skip
#: Kinds that are a transaction of their own.
WHOLE = {DDL, "XaFinish", "Temporary"}
CASES = [(kind, sql) for kind, statements in STATEMENTS.items() for sql in statements]


OPENS = [sql for sql in STATEMENTS[DDL] if sql.endswith(("START TRANSACTION", "/* b */"))]


def read(folder: Path, sql: str) -> list[paraply.Transaction]:
    """Return the transactions of a log of MySQL with a statement between two others."""
    with script("benches/made_binlog.py").MadeBinlog(folder, "d") as log:
        log._append(encode_statement(log._front(), "d", sql))
        log.statement("CREATE TABLE after_it (id INT PRIMARY KEY)")
    return list(paraply.open_log(sorted(folder.iterdir())))


def test_every_kind_of_the_reader_is_tried() -> None:
    enum = re.search(r"pub enum TextKind \{(.*?)\n\}", RUST, re.DOTALL)
    assert enum is not None
    assert set(re.findall(r"^    ([A-Z]\w+)", enum[1], re.MULTILINE)) == set(STATEMENTS)


def test_every_verb_of_a_ddl_is_tried() -> None:
    found = re.search(r'\(\s*("ALTER" \|[^,]*),\s*_,\s*\)\s*\| \("SET", ([^)]*)\)', RUST)
    assert found is not None
    verbs = {"CREATE", *re.findall(r'"(\w+)"', found[1]), *(f"SET {word}" for word in re.findall(r'"(\w+)"', found[2]))}
    kinds = [StatementKind.read(sql, Rules()) for sql in STATEMENTS[DDL]]
    tried = {kind.verb if kind.verb != "SET" else f"SET {kind.tokens[1].upper}" for kind in kinds if kind is not None}
    assert tried == verbs


@pytest.mark.parametrize(("kind", "sql"), CASES)
def test_only_ddl_comes_to_the_parser(kind: str, sql: str, tmp_path: Path) -> None:
    if kind not in WHOLE or sql in OPENS:  # a part of a transaction that has no beginning or no end here, or refused
        with pytest.raises((LogDamaged, LogNotUnderstood)):  # a truncated log is a damaged one
            read(tmp_path, sql)
        return
    found = [statement.sql for each in read(tmp_path, sql) if each.kind == "ddl" for statement in each.statements]
    assert len(found) >= 2, "those before and after it"
    assert found[1:-1] == ([sql.encode()] if kind == DDL else [])


@pytest.mark.parametrize("sql", STATEMENTS["Refused"])
def test_changes_in_statement_format_are_refused(sql: str, tmp_path: Path) -> None:
    with pytest.raises(LogNotUnderstood):
        read(tmp_path, sql)


@pytest.mark.parametrize("sql", STATEMENTS[DDL])
def test_both_see_a_statement_after_which_rows_follow(sql: str, tmp_path: Path) -> None:
    kind = StatementKind.read(sql, Rules())
    assert kind is not None
    assert kind.leaves_open == (sql in OPENS)
    if kind.leaves_open:
        with pytest.raises(LogTruncated, match="has no end"):
            read(tmp_path, sql)
    else:
        assert len(read(tmp_path, sql)) == 3
