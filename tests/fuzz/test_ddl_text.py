"""Any text as DDL: changes, or a syntax error of ours; nothing else, and not for long."""

from __future__ import annotations

import contextlib

from hypothesis import given
from hypothesis import strategies as st

from paraply.schema.ddl.lexer import DdlSyntaxError
from paraply.schema.ddl.parse import parse
from paraply.schema.ddl.rules import Rules

WORDS = """CREATE ALTER DROP RENAME TRUNCATE TABLE INDEX UNIQUE PRIMARY KEY FOREIGN REFERENCES CONSTRAINT CHECK DATABASE IF NOT EXISTS
 ADD COLUMN MODIFY CHANGE CONVERT TO CHARACTER SET COLLATE DEFAULT NULL AUTO_INCREMENT INT BIGINT UNSIGNED VARCHAR ENUM DECIMAL DATETIME
 GENERATED ALWAYS AS STORED VIRTUAL PARTITION BY RANGE VALUES LESS THAN ENGINE = InnoDB COMMENT ON DELETE CASCADE LIKE SELECT FROM AFTER
 FIRST ALGORITHM WITH SYSTEM VERSIONING PERIOD FOR t a `b``c` d.t "q" 'x''y' 0x41 1 3.5 -1 ( ) ( ) , , ; . @ /*!80000 /*M! */ -- # /* ` ' "
""".split()  # noqa: SIM905 - a list of words would fill a screen
STATEMENT = st.lists(st.sampled_from(WORDS) | st.text(max_size=3), max_size=40).map(" ".join)
BEGINNING = st.sampled_from(
    ["CREATE TABLE t (a INT, ", "CREATE TABLE t LIKE ", "ALTER TABLE t ADD ", "RENAME TABLE a TO ", "DROP TABLE ", ""]
)


@given(BEGINNING, STATEMENT)
def test_any_text_is_a_statement_or_a_syntax_error(beginning: str, rest: str) -> None:
    with contextlib.suppress(DdlSyntaxError):
        parse(beginning + rest, Rules())
