"""Makes the small logs of tests/data/errors on a MySQL server, which it empties first.

    python tools/make_fixtures.py mysql://user:password@host:port [name ...]

The user needs every privilege and the server an empty ``secure_file_priv``: the logs are read with LOAD_FILE.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pymysql

FOLDER = Path(__file__).parent.parent / "tests" / "data" / "errors"

TABLE = "CREATE TABLE errs.item (id INT PRIMARY KEY, name VARCHAR(20), stock INT UNSIGNED, UNIQUE KEY name (name))"

FIXTURES: dict[str, list[str]] = {
    "plain": [
        "CREATE DATABASE errs",
        TABLE,
        "INSERT INTO errs.item VALUES (1,'one',10), (2,'two',20)",
        "INSERT INTO errs.item VALUES (3,'three',30)",
        "UPDATE errs.item SET stock=11 WHERE id=1",
        "DELETE FROM errs.item WHERE id=2",
        "INSERT INTO errs.item VALUES (4,'four',40)",
    ],
    "statement-format": [
        "CREATE DATABASE errs",
        TABLE,
        "INSERT INTO errs.item VALUES (1,'one',10)",
        "SET SESSION binlog_format='STATEMENT'",
        "INSERT INTO errs.item VALUES (2,'two',20)",
        "SET SESSION binlog_format='ROW'",
        "INSERT INTO errs.item VALUES (3,'three',30)",
    ],
    "myisam": [
        "CREATE DATABASE errs",
        TABLE,
        "CREATE TABLE errs.plain (id INT PRIMARY KEY, name VARCHAR(20)) ENGINE=MyISAM",
        "INSERT INTO errs.item VALUES (1,'one',10)",
        "INSERT INTO errs.plain VALUES (1,'one'), (2,'two')",
        "INSERT INTO errs.item VALUES (2,'two',20)",
    ],
    "zero-date": [
        "CREATE DATABASE errs",
        "CREATE TABLE errs.event (id INT PRIMARY KEY, day DATE)",
        "INSERT INTO errs.event VALUES (1,'2024-02-29')",
        "SET SESSION sql_mode=''",
        "INSERT INTO errs.event VALUES (2,'0000-00-00')",
        "INSERT INTO errs.event VALUES (3,'2024-03-01')",
    ],
    "nul-byte": [
        "CREATE DATABASE errs",
        "CREATE TABLE errs.note (id INT PRIMARY KEY, body VARCHAR(20)) CHARACTER SET utf8mb4",
        "INSERT INTO errs.note VALUES (1,'fine')",
        "INSERT INTO errs.note VALUES (2,CONCAT('a',CHAR(0),'b'))",
        "INSERT INTO errs.note VALUES (3,'fine')",
    ],
    "spatial": [
        "CREATE DATABASE errs",
        TABLE,
        "INSERT INTO errs.item VALUES (1,'one',10)",
        "CREATE TABLE errs.place (id INT PRIMARY KEY, at POINT)",
        "INSERT INTO errs.place VALUES (1,ST_GeomFromText('POINT(1 2)'))",
    ],
}
FIXTURES["no-checksum"] = FIXTURES["plain"]


def record(cursor: Any, statements: list[str], *, checksum: bool = True) -> bytes:
    """Run statements on an emptied server, and return the resulting binlog."""
    cursor.execute("DROP DATABASE IF EXISTS errs")
    cursor.execute(f"SET GLOBAL binlog_checksum={'CRC32' if checksum else 'NONE'}")
    cursor.execute("SET SESSION sql_mode=DEFAULT")
    cursor.execute("RESET BINARY LOGS AND GTIDS")
    for statement in statements:
        cursor.execute(statement)
    cursor.execute("FLUSH BINARY LOGS")
    cursor.execute("SHOW BINARY LOGS")
    name = cursor.fetchone()[0]
    cursor.execute("SELECT LOAD_FILE(CONCAT(@@datadir, %s))", (name,))
    content: bytes | None = cursor.fetchone()[0]
    if content is None:
        raise SystemExit(f"the server refuses to read {name}: grant FILE, and set secure_file_priv to an empty value")
    return content


def main() -> None:
    """Make the named logs, or all."""
    url = urlsplit(sys.argv[1])
    names = sys.argv[2:] or list(FIXTURES)
    FOLDER.mkdir(exist_ok=True)
    with (
        pymysql.connect(
            host=url.hostname or "localhost", port=url.port or 3306, user=url.username, password=url.password or "", autocommit=True
        ) as connection,
        connection.cursor() as cursor,
    ):
        for name in names:
            content = record(cursor, FIXTURES[name], checksum=name != "no-checksum")
            (FOLDER / f"{name}.binlog").write_bytes(content)
            print(f"| `errors/{name}.binlog` | {len(content):,} |")
        cursor.execute("SET GLOBAL binlog_checksum=CRC32")
        cursor.execute("DROP DATABASE IF EXISTS errs")


if __name__ == "__main__":
    main()
