"""What the native module offers, in plain Python, for tests of the targets by themselves: real events of real logs, real servers."""

from __future__ import annotations

import base64
import re
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from zlib import crc32

import pymysql
from pymysql.constants import CLIENT, FIELD_TYPE

from paraply.errors import ConnectionLost, ServerError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


class GtidSet:
    """Intervals as sets of numbers: slow and simple. MariaDB's GTIDs are a position: the highest number of a domain."""

    def __init__(self, text: str = "") -> None:
        self.numbers: dict[str, set[int]] = {}
        for part in filter(None, (piece.strip() for piece in text.replace("\n", "").split(","))):
            mariadb = re.fullmatch(r"(\d+)-(\d+)-(\d+)", part)
            if mariadb:
                domain, _, number = map(int, mariadb.groups())
                self.numbers.setdefault(f"{domain}", set()).update(range(1, number + 1))
                continue
            uuid, *intervals = part.split(":")
            name = uuid
            for interval in intervals:
                if not interval[0].isdigit():
                    name = f"{uuid}:{interval}"
                    continue
                first, _, last = interval.partition("-")
                self.numbers.setdefault(name, set()).update(range(int(first), int(last or first) + 1))

    @classmethod
    def _of(cls, numbers: dict[str, set[int]]) -> GtidSet:
        made = cls()
        made.numbers = {name: values for name, values in numbers.items() if values}
        return made

    def __or__(self, other: GtidSet) -> GtidSet:
        names = self.numbers.keys() | other.numbers.keys()
        return self._of({name: self.numbers.get(name, set()) | other.numbers.get(name, set()) for name in names})

    def __sub__(self, other: GtidSet) -> GtidSet:
        return self._of({name: values - other.numbers.get(name, set()) for name, values in self.numbers.items()})

    def __le__(self, other: GtidSet) -> bool:
        return not (self - other).numbers

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GtidSet) and self.numbers == other.numbers

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        return bool(self.numbers)

    def __len__(self) -> int:
        return sum(map(len, self.numbers.values()))

    def __contains__(self, gtid: str) -> bool:
        return GtidSet(gtid) <= self

    def copy(self) -> GtidSet:
        return self._of({name: set(values) for name, values in self.numbers.items()})

    def __str__(self) -> str:
        parts = []
        for name, values in sorted(self.numbers.items()):
            if name.isdigit():
                parts.append(f"{name}-1-{max(values)}")
                continue
            ordered, intervals = sorted(values), []
            start = previous = ordered[0]
            for number in [*ordered[1:], -1]:
                if number != previous + 1:
                    intervals.append(f"{start}-{previous}" if start != previous else f"{start}")
                    start = number
                previous = number
            parts.append(":".join([name, *intervals]))
        return ",".join(parts)


class MySqlConnection:
    """PyMySQL with the interface of the native connection."""

    def __init__(self, host: str, port: int, user: str, password: str | None, *, database: str | None = None, socket: str | None = None,
                 tls: Mapping[str, str] | None = None, connect_timeout: float = 10.0) -> None:  # fmt: skip
        try:
            self.raw = pymysql.connect(host=host, port=port, user=user, password=password or "", database=database, unix_socket=socket,
                                       connect_timeout=int(connect_timeout), autocommit=None,
                                       client_flag=CLIENT.MULTI_STATEMENTS)  # fmt: skip
        except pymysql.MySQLError as error:
            raise _error(error) from None

    @property
    def connection_id(self) -> int:
        return int(self.raw.thread_id())

    @property
    def server_version(self) -> str:
        return str(self.raw.get_server_info())

    def query(self, sql: bytes | str) -> list[tuple[list[str], list[tuple[Any, ...]], int]]:
        results = []
        try:
            self.raw.query(sql.decode() if isinstance(sql, bytes) else sql)
            while True:
                result = self.raw._result
                fields = getattr(result, "fields", None) or []
                columns = [f.name for f in fields]
                rows = [tuple(_cell(value, f) for value, f in zip(row, fields, strict=True)) for row in result.rows or ()]
                results.append((columns, rows, int(result.affected_rows)))
                if not result.has_next:
                    return results
                self.raw.next_result()
        except pymysql.MySQLError as error:
            raise _error(error) from None

    def close(self) -> None:
        if self.raw.open:
            self.raw.close()


def _cell(value: Any, column: Any) -> Any:
    if value is None or (isinstance(value, (int, float, bytes)) and column.type_code != FIELD_TYPE.BIT):
        return value
    return value if isinstance(value, bytes) else str(value).encode()


def _error(error: pymysql.MySQLError) -> ServerError | ConnectionLost:
    code = error.args[0] if error.args and isinstance(error.args[0], int) else 0
    message = str(error.args[1]) if len(error.args) > 1 else str(error)
    if code in (0, 2002, 2003, 2006, 2013, 2014) or isinstance(error, pymysql.InterfaceError):
        return ConnectionLost(message)
    return ServerError(message, code)


@dataclass
class Format:
    event: bytes
    server_version: str
    version: tuple[int, int, int]
    mariadb: bool
    server_id: int
    created: int


@dataclass
class Statement:
    sql: bytes
    database: str
    timestamp: int
    offset: int
    context: dict[str, Any]


@dataclass
class ColumnInfo:
    type_code: int
    metadata: int
    nullable: bool = True
    unsigned: bool | None = None
    name: str | None = None
    collation_id: int | None = None


@dataclass
class TableMap:
    database: str
    table: str
    columns: list[ColumnInfo]
    fingerprint: int


@dataclass
class Transaction:
    gtid: str | None
    format: Format
    offset: int
    end_offset: int = 0
    kind: str = "empty"
    statements: list[Statement] = field(default_factory=list)
    events: list[tuple[int, bytes]] = field(default_factory=list)
    file: str = "log"


@dataclass
class Block:
    id: int
    transactions: list[Transaction]
    ordinal: int

    @property
    def kind(self) -> str:
        return self.transactions[0].kind

    @property
    def gtids(self) -> GtidSet:
        return GtidSet(",".join(t.gtid for t in self.transactions if t.gtid))

    @property
    def first_gtid(self) -> str | None:
        return self.transactions[0].gtid

    @property
    def last_gtid(self) -> str | None:
        return self.transactions[-1].gtid

    @property
    def file(self) -> str:
        return self.transactions[0].file

    end_file = file

    @property
    def offset(self) -> int:
        return self.transactions[0].offset

    @property
    def end_offset(self) -> int:
        return self.transactions[-1].end_offset

    @property
    def format(self) -> Format:
        return self.transactions[0].format

    @property
    def statement(self) -> Statement | None:
        return next(iter(self.transactions[0].statements), None)

    def table_maps(self) -> list[TableMap]:
        maps = [read_table_map(event) for t in self.transactions for code, event in t.events if code == 19]
        return list({m.fingerprint: m for m in maps}.values())


def binlog_statements(block: Block, max_events: int | None = None, max_bytes: int | None = None) -> list[bytes]:
    statements, buffer, count = [], b"", 0
    for transaction in block.transactions:
        for code, event in transaction.events:
            buffer, count = buffer + event, count + 1
            if code != 19 and event[25] & 1 and count >= (max_events or 1 << 30):
                statements, buffer, count = [*statements, buffer], b"", 0
    return [b"BINLOG '" + base64.b64encode(part) + b"'" for part in [*statements, buffer] if part]


def format_statement(block: Block) -> bytes:
    return b"BINLOG '" + base64.b64encode(block.format.event) + b"'"


_METADATA = {4: 1, 5: 1, 17: 1, 18: 1, 19: 1, 242: 1, 245: 1, 252: 1, 255: 1, 15: 2, 16: 2, 246: 2, 254: 2, 247: 2, 248: 2}


def read_table_map(event: bytes) -> TableMap:
    at = 27
    database, at = event[at + 1 : at + 1 + event[at]].decode(), at + event[at] + 2
    table, at = event[at + 1 : at + 1 + event[at]].decode(), at + event[at] + 2
    count, at = event[at], at + 1
    codes, at = event[at : at + count], at + count + 1
    columns = []
    for code in codes:
        size = _METADATA.get(code, 0)
        raw, at = event[at : at + size], at + size
        metadata = int.from_bytes(raw, "big" if code in (16, 246) else "little")
        if code == 254:
            kind, length = raw
            code, metadata = kind | 0x30, (((kind & 0x30) ^ 0x30) << 4) | length
        columns.append(ColumnInfo(code, metadata))
    return TableMap(database, table, columns, crc32(event[27:]))


def read_context(variables: bytes) -> dict[str, Any]:
    context: dict[str, Any] = {"unknown": []}
    at = 0
    shapes = {0: ("flags2", "<I"), 1: ("sql_mode", "<Q"), 4: ("charset", "<HHH"), 3: ("auto_increment", "<HH"), 7: ("lc_time_names", "<H"),
              8: ("charset_database", "<H"), 13: ("microseconds", "<HB"), 16: ("explicit_defaults_for_timestamp", "<B"), 17: ("xid", "<Q"),
              18: ("default_collation_for_utf8mb4", "<H"), 19: ("sql_require_primary_key", "<B"), 20: ("default_table_encryption", "<B"),
              128: ("microseconds", "<HB"), 129: ("xid", "<Q")}  # fmt: skip
    while at < len(variables):
        code, at = variables[at], at + 1
        if code in shapes:
            name, shape = shapes[code]
            values = struct.unpack_from(shape, variables, at)
            at += struct.calcsize(shape)
            context[name] = values[0] | values[1] << 16 if name == "microseconds" else values[0] if len(values) == 1 else values
        elif code in (5, 6):
            size = variables[at]
            context["time_zone" if code == 5 else "catalog"] = variables[at + 1 : at + 1 + size].decode()
            at += size + 1
        elif code == 12:
            count, at = variables[at], at + 1
            for _ in range(count if count < 254 else 0):
                at = variables.index(0, at) + 1
        else:
            raise AssertionError(f"status variable {code}")
    return context


def read_log(path: Path) -> Iterator[Transaction]:
    data = path.read_bytes()
    at, checksums, log, current = 4, False, None, None
    while at < len(data):
        timestamp, code, server_id, length, _, _ = struct.unpack_from("<IBIIIH", data, at)
        event = bytearray(data[at : at + length])
        if code == 15:
            checksums, event[-5] = event[-5] == 1, 0
            text = bytes(event[21:71]).rstrip(b"\0").decode()
            numbers = [int(n) for n in re.findall(r"\d+", text)[:3]]
            log = Format(bytes(event), text, (numbers[0], numbers[1], numbers[2]), "MariaDB" in text, server_id, timestamp)
        elif checksums:
            event = event[:-4]
            struct.pack_into("<I", event, 9, len(event))
        body, start, at = bytes(event[19:]), at, at + length
        if code in (33, 34, 162):
            assert log is not None
            current = Transaction(_gtid(code, server_id, body), log, start)
            standalone = code == 162 and body[12] & 1
        elif current is not None:
            if code in (19, 23, 24, 25, 30, 31, 32, 39):
                current.events.append((code, bytes(event)))
                current.kind = "dml"
            ends = code == 16
            if code == 2:
                size, names = struct.unpack_from("<H", body, 11)[0], body[8]
                sql = body[13 + size + names + 1 :]
                if sql != b"BEGIN":
                    current.statements.append(Statement(sql, body[13 + size:13 + size + names].decode(), timestamp, start,
                                                        read_context(body[13:13 + size])))  # fmt: skip
                    current.kind, ends = "ddl", True
            if ends:
                current.end_offset = at
                yield current
                current = None
    assert standalone in (0, 1, True, False)


def _gtid(code: int, server_id: int, body: bytes) -> str | None:
    if code == 34:
        return None
    if code == 162:
        number, domain = struct.unpack_from("<QI", body)
        return f"{domain}-{server_id}-{number}"
    raw = body[1:17].hex()
    return f"{raw[:8]}-{raw[8:12]}-{raw[12:16]}-{raw[16:20]}-{raw[20:]}:{struct.unpack_from('<Q', body, 17)[0]}"


def read_blocks(path: Path, merge: int) -> Iterator[Block]:
    """Blocks of up to ``merge`` row transactions; statements stand alone."""
    pending: list[Transaction] = []
    number = ordinal = 0
    for transaction in read_log(path):
        if transaction.kind != "dml" or len(pending) >= merge:
            if pending:
                number, ordinal = number + 1, ordinal + len(pending)
                yield Block(number, pending, ordinal)
            pending = []
        if transaction.kind != "dml":
            number, ordinal = number + 1, ordinal + 1
            yield Block(number, [transaction], ordinal)
        else:
            pending.append(transaction)
    if pending:
        yield Block(number + 1, pending, ordinal + len(pending))
