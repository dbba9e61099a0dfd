"""Measurement of the native kernels, single thread, beside the plain Python references, on the same input."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa

from paraply._native import Catalog, Certifier, LogReader, TransactionBatch
from paraply.bench.reference import PlainCertifier, decode_rows, key_text, xxh64
from paraply.logs.feed import Feed
from paraply.schema import type_codes as codes
from paraply.schema.catalog import SchemaCatalog

__all__ = ["KernelResult", "measure_kernels"]

LIVE_KEYS = 10_000_000
KEYS_A_TRANSACTION = 4
PYTHON_SHARE = 100
TABLE_MAP_EVENT = 19
UPDATES = {24, 31}
ROW_EVENTS = {23, 24, 25, 30, 31, 32}


@dataclass(frozen=True, slots=True)
class KernelResult:
    """Rates of one kernel and of its reference, in the same unit.

    Attributes:
        name: Name of the kernel.
        unit: Unit of the rates.
        native: Rate of the kernel.
        python: Rate of the reference in plain Python.
    """

    name: str
    unit: str
    native: float
    python: float

    @property
    def ratio(self) -> float:
        """Rate of the kernel as a multiple of the reference's."""
        return self.native / self.python if self.python else 0.0

    def as_json(self) -> dict[str, object]:
        """Return the fields for the results file."""
        return asdict(self) | {"ratio": round(self.ratio, 1)}


def timed(work: Callable[[], object]) -> float:
    """Return the seconds that a function takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def measure_kernels(log: Path, live_keys: int = LIVE_KEYS) -> Iterator[KernelResult]:
    """Measure certification, hashing and decoding.

    Args:
        log: A log whose rows are decoded and hashed; its own DDL must give the schema.
        live_keys: Keys in the certification info when certification is measured.
    """
    yield certification(live_keys)
    batches, catalogs = read_all(log)
    yield reading(log)
    yield hashing(batches, catalogs)


def transactions(keys: int, count: int, seed: int) -> pa.RecordBatch:
    """Return transactions of four keys each, drawn from ``keys`` different ones."""
    chosen = random.Random(seed).choices(range(keys), k=count * KEYS_A_TRANSACTION)
    values = pa.array([xor_mixed(key) for key in chosen], pa.int64())
    offsets = pa.array(range(0, len(chosen) + 1, KEYS_A_TRANSACTION), pa.int32())
    return pa.RecordBatch.from_arrays([pa.ListArray.from_arrays(offsets, values)], ["write_set"])


def xor_mixed(key: int) -> int:
    """Return a number spread over 64 bits, as hashes are; signed, as in Arrow and Spark."""
    mixed = key * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF
    return mixed - (1 << 64) if mixed >> 63 else mixed


def certification(live_keys: int) -> KernelResult:
    """Measure the keys certified per second while ``live_keys`` are held."""
    certifier = Certifier(first_remote_alone=False)
    step = 1_000_000
    for first in range(0, live_keys, step):
        values = pa.array([xor_mixed(key) for key in range(first, min(first + step, live_keys))], pa.int64())
        offsets = pa.array(range(0, len(values) + 1, KEYS_A_TRANSACTION), pa.int32())
        certifier.certify_batch(pa.RecordBatch.from_arrays([pa.ListArray.from_arrays(offsets, values)], ["write_set"]))
    batch = transactions(live_keys, 500_000, seed=1)
    native = batch.num_rows * KEYS_A_TRANSACTION / min(timed(lambda: certifier.certify_batch(batch)) for _ in range(3))
    plain = PlainCertifier(started=True)
    plain.numbers = {xor_mixed(key): 2 for key in range(min(live_keys, 1_000_000))}
    write_sets = transactions(min(live_keys, 1_000_000), 500_000 // PYTHON_SHARE * 10, seed=2).column(0).to_pylist()
    python = len(write_sets) * KEYS_A_TRANSACTION / timed(lambda: [plain.certify(items) for items in write_sets])
    return KernelResult(f"certification, {live_keys / 1e6:g} million keys live", "million keys/s", native / 1e6, python / 1e6)


def read_all(log: Path) -> tuple[list[TransactionBatch], list[Catalog]]:
    """Return all batches of a log, each with the definitions valid for it."""
    batches: list[TransactionBatch] = []
    catalogs: list[Catalog] = []
    schema = SchemaCatalog()
    feed = Feed(LogReader([str(log)]), schema, Catalog(), threaded=False)
    for item in feed:
        batches.append(item.batch)
        frozen = Catalog()
        for table in item.schema or schema:
            frozen.put(table)
        catalogs.append(frozen)
    return batches, [Catalog(), *catalogs[:-1]]


def reading(log: Path) -> KernelResult:
    """Measure reading: megabytes of log decoded per second into transactions with counted rows; the reference only decodes row events."""

    def native() -> None:
        reader = LogReader([str(log)])
        while reader.next_batch() is not None:
            pass

    size = log.stat().st_size
    rate = size / min(timed(native) for _ in range(3))
    events = list(plain_row_events(log.read_bytes()))
    decoded = sum(len(body) for body, _, _ in events)
    python = decoded / timed(lambda: [decode_rows(body, columns, update) for body, columns, update in events])
    return KernelResult("reading and decoding", "MB/s", rate / 1e6, python / 1e6)


def plain_row_events(data: bytes) -> Iterator[tuple[bytes, list[tuple[int, int]], bool]]:
    """Yield the row events of an uncompressed log with checksums: body after the post-header, columns, and True for an update."""
    tables: dict[bytes, list[tuple[int, int]]] = {}
    at = 4
    while at + 19 <= len(data):
        code, size = data[at + 4], int.from_bytes(data[at + 9 : at + 13], "little")
        body = data[at + 19 : at + size - 4]
        if code == TABLE_MAP_EVENT:
            tables[body[:6]] = plain_columns(body)
        elif code in ROW_EVENTS:
            extra = int.from_bytes(body[8:10], "little") if code >= 30 else 0
            yield body[8 + extra :], tables[body[:6]], code in UPDATES
        at += size


def plain_columns(body: bytes) -> list[tuple[int, int]]:
    """Return type code and metadata of each column of a table-map event."""
    at = 8
    at += body[at] + 2
    at += body[at] + 2
    count = body[at]
    types = body[at + 1 : at + 1 + count]
    at += 1 + count
    at += 3 if body[at] == 252 else 1
    columns: list[tuple[int, int]] = []
    for code in types:
        if code in {codes.VARCHAR, codes.BIT}:
            columns.append((code, int.from_bytes(body[at : at + 2], "little")))
            at += 2
        elif code in {codes.NEWDECIMAL, codes.STRING}:
            is_label = code == codes.STRING and body[at] in {codes.ENUM, codes.SET}
            columns.append((body[at], body[at + 1]) if is_label else (code, body[at] << 8 | body[at + 1]))
            at += 2
        elif code in {codes.FLOAT, codes.DOUBLE, *codes.NEW_SECONDS, codes.JSON, codes.BLOB, codes.GEOMETRY}:
            columns.append((code, body[at]))
            at += 1
        else:
            columns.append((code, 0))
    return columns


def hashing(batches: list[TransactionBatch], catalogs: list[Catalog]) -> KernelResult:
    """Measure the keys hashed per second, from raw row images; the reference hashes ready-made values of a typical key."""

    def native() -> int:
        pairs = zip(batches, catalogs, strict=True)
        return sum(batch.write_sets(catalog, scheme="group").key_count for batch, catalog in pairs)

    keys = native()
    rate = keys / min(timed(native) for _ in range(3))
    values = [(b"%d" % number, b"sku-%d" % number) for number in range(2_000)]
    python = len(values) / timed(lambda: [xxh64(key_text("PRIMARY", "shop", "product", pair)) for pair in values])
    return KernelResult("decoding and hashing keys", "million keys/s", rate / 1e6, python / 1e6)
