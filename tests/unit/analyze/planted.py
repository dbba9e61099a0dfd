"""Logs with one planted cause each, and the same logs without it."""

from __future__ import annotations

from pathlib import Path

from unit.analyze.made_log import MadeLog

ITEM = "create table item (id bigint primary key, n bigint)"
PARENT = "create table parent (id bigint primary key, n bigint)"
CHILD = "create table child (id bigint primary key, p bigint not null, foreign key (p) references parent (id))"
PLAIN = "create table plain (a bigint, b bigint)"
KEYED = "create table plain (a bigint primary key, b bigint)"
TRANSACTIONS = 600
SESSIONS = 2
HOT = 7
LARGE = 20_000
MARKUP_TABLE = "<script>"
MARKUP_VALUE = "</script><img onerror=alert(1)>"
"""Name and value that would be markup in a page, if they were not escaped."""


def hot_row(folder: Path, *, planted: bool = True) -> list[str]:
    """All transactions change one row."""
    log = MadeLog(folder, ITEM)
    first = last = log.number
    for n in range(TRANSACTIONS):
        key = HOT if planted else HOT + n
        last = log.write(("item", {"id": key, "n": n}, {"id": key, "n": n + 1}), need=last if planted else first)
    return log.close()


def table_without_key(folder: Path, *, planted: bool = True) -> list[str]:
    """All transactions change rows of a table without a key."""
    log = MadeLog(folder, PLAIN if planted else KEYED)
    first = last = log.number
    for n in range(TRANSACTIONS):
        last = log.write(("plain", None, {"a": n, "b": n}), need=last if planted else first)
    return log.close()


def ddl(folder: Path, *, planted: bool = True) -> list[str]:
    """Every eighth transaction is a statement on another table."""
    log = MadeLog(folder, ITEM, "create table other (id bigint primary key)")
    last = log.number
    for n in range(TRANSACTIONS):
        if planted and n % 8 == 0:
            last = log.statement(f"alter table other add column c{n} int")
        log.write(("item", None, {"id": n, "n": 0}), need=last)
    return log.close()


def foreign_key_parent(folder: Path, *, planted: bool = True) -> list[str]:
    """Children of one parent are inserted, and the parent changes with each."""
    log = MadeLog(folder, PARENT, CHILD)
    log.write(*(("parent", None, {"id": n, "n": 0}) for n in range(TRANSACTIONS)), need=log.number)
    first = last = log.number
    for n in range(TRANSACTIONS // 2):
        parent, other = (1, 1) if planted else (n, n + TRANSACTIONS // 2)
        last = log.write(("parent", {"id": parent, "n": n}, {"id": parent, "n": n + 1}), need=last if planted else first)
        last = log.write(("child", None, {"id": n, "p": other}), need=last if planted else first)
    return log.close()


def huge_transaction(folder: Path, *, planted: bool = True) -> list[str]:
    """One transaction inserts very many rows."""
    log = MadeLog(folder, ITEM)
    first = log.number
    for n in range(TRANSACTIONS):
        rows = LARGE if planted and n == TRANSACTIONS // 2 else 1
        log.write(*(("item", None, {"id": n * LARGE + row, "n": 0}) for row in range(rows)), need=first)
    return log.close()


def session_order(folder: Path, *, planted: bool = True) -> list[str]:
    """Two sessions write rows of their own, and each transaction needs the last one of its session."""
    log = MadeLog(folder, ITEM)
    first = log.number
    last = dict.fromkeys(range(1, SESSIONS + 1), first)
    for n in range(TRANSACTIONS):
        session = n % SESSIONS + 1
        need = last[session] if planted else first
        last[session] = log.write(("item", None, {"id": n, "n": 0}), need=need, session=session)
    return log.close()


def narrow_numbers(folder: Path, *, planted: bool = True) -> list[str]:
    """Many sessions write rows of their own, and each transaction needs the one before."""
    log = MadeLog(folder, ITEM)
    first = log.number
    for n in range(TRANSACTIONS):
        log.write(("item", None, {"id": n, "n": 0}), need=log.number if planted else first, session=n % 50 + 2)
    return log.close()


def rotation(folder: Path, *, planted: bool = True) -> list[str]:
    """Nothing depends on anything, but the log has many files."""
    log = MadeLog(folder, ITEM)
    first = log.number
    for n in range(TRANSACTIONS):
        if planted and n % 10 == 0:
            log.rotate()
        log.write(("item", None, {"id": n, "n": 0}), need=first)
    return log.close()


def too_few_workers(folder: Path, *, planted: bool = True) -> list[str]:
    """Nothing depends on anything."""
    return narrow_numbers(folder, planted=not planted)


def text_keys(folder: Path, table: str, value: str) -> list[str]:
    """Return a log in which all transactions change one row with a text as its key."""
    log = MadeLog(folder, f"create table `{table}` (id varchar(80) collate utf8mb4_bin primary key, n bigint)")
    last = log.number
    for n in range(200):
        last = log.write((table, {"id": value, "n": n}, {"id": value, "n": n + 1}), need=last)
    return log.close()


PLANTED = {
    "hot_row": hot_row,
    "table_without_key": table_without_key,
    "ddl": ddl,
    "foreign_key_parent": foreign_key_parent,
    "huge_transaction": huge_transaction,
    "session_order": session_order,
    "rotation": rotation,
    "narrow_numbers": narrow_numbers,
    "too_few_workers": too_few_workers,
}
