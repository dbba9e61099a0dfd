"""Random histories of transactions over the schemas of ``fine_schemas``, run serially on a real server, and the log that comes of them."""

from __future__ import annotations

import contextlib
import random
import struct
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pymysql
from pymysql.constants import CLIENT
from server.fine_schemas import Table
from servers import sql_connect

MAGIC = b"\xfebin"
BINLOG_DUMP = 0x12
NON_BLOCKING = 1
ANNOTATED = 2
ROTATE_EVENT = 4
GTID_EVENT = 33
OTHER_SOURCE = bytes(range(16))
State = dict[str, list[str]]


class Server:
    """MySQL or MariaDB by URL, with one database for the histories.

    Args:
        url: Where it is; its user may do everything.
        database: The database, which is thrown away.
    """

    def __init__(self, url: str, database: str) -> None:
        parts = urlsplit(url)
        self.url = url
        self.database = database
        self.mariadb = parts.scheme == "mariadb"
        self._login: dict[str, Any] = {
            "host": parts.hostname, "port": parts.port or 3306, "user": parts.username, "password": parts.password or "",
            "charset": "utf8mb4", "autocommit": True, "client_flag": CLIENT.MULTI_STATEMENTS,
        }  # fmt: skip
        self._hidden = self.connect()
        self._hidden.query("SET sql_log_bin=0, foreign_key_checks=0")

    def connect(self) -> pymysql.Connection:
        return sql_connect(**self._login)

    def close(self) -> None:
        self._hidden.close()

    def _rows(self, sql: str) -> list[list[tuple[Any, ...]]]:
        """The rows of each of several statements."""
        with self._hidden.cursor() as cursor:
            cursor.execute(sql)
            results = [list(cursor.fetchall())]
            while cursor.nextset():
                results.append(list(cursor.fetchall()))
            return results

    def drop(self) -> None:
        self._rows(f"DROP DATABASE IF EXISTS {self.database}")

    def forget_channels(self, prefix: str) -> None:
        """Removes the progress of the replays."""
        self._rows(f"DELETE FROM paraply.progress WHERE channel LIKE '{prefix}%'; DELETE FROM paraply.channel WHERE name LIKE '{prefix}%'")

    def empty(self, tables: list[Table]) -> None:
        """Deletes all rows, unseen by the log and by foreign keys."""
        self._rows(";".join(f"DELETE FROM {self.database}.{table.name}" for table in tables))

    def state(self, tables: list[Table]) -> State:
        """Every row of every table."""
        results = self._rows(";".join(f"SELECT * FROM {self.database}.{table.name}" for table in tables))
        return {table.name: sorted(map(repr, rows)) for table, rows in zip(tables, results, strict=True)}

    def new_log(self) -> str:
        """Begins a new binlog file and gives its name."""
        with contextlib.closing(self.connect()) as connection, connection.cursor() as cursor:
            cursor.execute("FLUSH BINARY LOGS")
            cursor.execute("SHOW BINARY LOGS")
            return str(cursor.fetchall()[-1][0])

    def fetch_log(self, name: str, to: Path) -> Path:
        """Copies a binlog file over the replication protocol; MySQL's GTIDs as of another source, or else they are applied already."""
        flags = NON_BLOCKING | (ANNOTATED if self.mariadb else 0)
        with contextlib.closing(self.connect()) as connection:
            connection.query("SET @master_binlog_checksum='CRC32', @source_binlog_checksum='CRC32', @mariadb_slave_capability=4")
            connection._execute_command(BINLOG_DUMP, struct.pack("<IHI", 4, flags, 0) + name.encode())  # type: ignore[attr-defined]
            with to.open("wb") as out:
                out.write(MAGIC)
                while not (packet := connection._read_packet()).is_eof_packet():  # type: ignore[attr-defined]
                    event = packet.get_all_data()[1:]
                    if event[4] != ROTATE_EVENT:  # the server's own remarks about this file and the next
                        out.write(event if event[4] != GTID_EVENT else _of_other_source(event))
        return to


def _of_other_source(event: bytes) -> bytes:
    changed = event[:20] + OTHER_SOURCE + event[36:-4]
    return changed + struct.pack("<I", zlib.crc32(changed))


def run_history(server: Server, tables: list[Table], chance: random.Random, transactions: int) -> None:
    """Makes the schema and runs random transactions one after another; statements that the server refuses have no effect."""
    with contextlib.closing(server.connect()) as connection, connection.cursor() as cursor:
        cursor.execute("SET sql_mode='', foreign_key_checks=1")
        if not server.mariadb:
            cursor.execute("SET restrict_fk_on_non_standard_key=OFF")
        images = chance.choice([["FULL"], ["FULL"], ["FULL"], ["MINIMAL"], ["NOBLOB"], ["FULL", "MINIMAL"]])
        cursor.execute(f"SET binlog_row_image={images[0]}")
        cursor.execute(f"CREATE DATABASE {server.database}")
        cursor.execute(f"USE {server.database}")
        for table in tables:
            cursor.execute(table.create())
        for number in range(transactions):
            # As a session of its own would.
            cursor.execute(f"SET binlog_row_image={chance.choice(images)}")
            _run_transaction(cursor, tables, chance, filling=number < transactions // 3)


def _run_transaction(cursor: Any, tables: list[Table], chance: random.Random, *, filling: bool) -> None:
    checked = chance.random() > 0.07
    cursor.execute(f"SET foreign_key_checks={int(checked)}")
    cursor.execute("BEGIN")
    for _ in range(chance.choice([1, 1, 2, 3])):
        table = chance.choice(tables)
        # A duplicate key, a missing parent, a child that is in the way: the statement is as if it had not been.
        with contextlib.suppress(pymysql.MySQLError):
            cursor.execute(random_insert(table, chance) if filling else random_statement(table, chance))
    cursor.execute("COMMIT")


def random_insert(table: Table, chance: random.Random) -> str:
    """A statement that adds rows."""
    rows = ",".join(f"({','.join(column.value(chance) for column in table.columns)})" for _ in range(chance.choice([1, 1, 2, 3])))
    verb = chance.choice(["INSERT", "INSERT", "INSERT IGNORE", "REPLACE"])
    if verb == "REPLACE" and table.is_parent:
        # MySQL 9.7 does not carry cascades out where REPLACE deletes a parent, and its own log then fails in its own client.
        verb = "INSERT"
    return f"{verb} INTO {table.name} VALUES {rows}"


def random_statement(table: Table, chance: random.Random) -> str:
    """A statement that adds, changes or removes rows."""
    kind = chance.choice(["insert", "insert", "upsert", "update", "update", "update", "delete", "delete"])
    if kind == "insert":
        return random_insert(table, chance)
    if kind == "upsert":
        row = ",".join(column.value(chance) for column in table.columns)
        return f"INSERT INTO {table.name} VALUES ({row}) ON DUPLICATE KEY UPDATE {_assignments(table, chance)}"
    where = ""
    if chance.random() < 0.9:
        column = chance.choice(table.columns)
        value = column.value(chance)
        where = f" WHERE {column.name} {'IS NULL' if value == 'NULL' else '= ' + value}"
    if kind == "delete":
        return f"DELETE FROM {table.name}{where} LIMIT {chance.choice([1, 2, 9])}"
    return f"UPDATE {table.name} SET {_assignments(table, chance)}{where} LIMIT {chance.choice([1, 1, 9])}"


def _assignments(table: Table, chance: random.Random) -> str:
    columns = chance.sample(table.columns, k=min(len(table.columns), chance.choice([1, 1, 2])))
    return ", ".join(f"{column.name}={column.value(chance)}" for column in columns)
