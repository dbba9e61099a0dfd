"""Logs that are written again with new numbers: no dependency is missing, and nothing else changes (R37)."""

from __future__ import annotations

import random
import struct
import zlib
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.stamp_history import DDL, Transaction, random_history, replay, write_log

import paraply.analysis.stamp as module
from paraply import open_log
from paraply.analysis.stamp import MOST_WORKERS, stamp
from paraply.analysis.verify import require_equal, verify
from paraply.errors import LogDamaged, LogNotUnderstood, LogTruncated, NumbersDiffer, ParaplyError, UsageError

DATA = Path(__file__).parent.parent / "data"
NATIVE = Path(__file__).parent.parent.parent / "rust" / "binlog" / "tests" / "data"


def numbers_of(*paths: Path) -> list[tuple[int, int]]:
    """Return both numbers of each transaction."""
    return [(one.last_committed or 0, one.sequence_number or 0) for one in open_log(paths)]


def left(folder: Path) -> list[str]:
    """Return the names of all files in a folder; none if there is no folder."""
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


@given(seed=st.integers(0, 1 << 32), workers=st.sampled_from([1, 2, 3, 8, 50, MOST_WORKERS]))
def test_r37_no_dependency_is_missing_in_random_orders(tmp_path_factory: pytest.TempPathFactory, seed: int, workers: int) -> None:
    chance = random.Random(seed)
    folder = tmp_path_factory.mktemp("stamp")
    history = random_history(chance, 60)
    log = write_log(folder / "log.000001", history)
    report = stamp(log, folder / "new", workers=workers)
    assert (report.transactions, report.fallbacks) == (len(DDL) + len(history), 0)
    stamps = numbers_of(folder / "new" / "log.000001")
    for index, one in enumerate(history, len(DDL)):
        for older, other in enumerate(history[: index - len(DDL)], len(DDL)):
            assert not one.depends_on(other) or stamps[older][1] <= stamps[index][0], (older, index, stamps)
    whole = [Transaction([])] * len(DDL) + history
    serial = replay(whole, [(0, 0)] * len(whole), chance, 1)
    for threads in (1, 4, len(whole)):
        assert replay(whole, stamps, chance, threads) == serial
    assert verify(folder / "new" / "log.000001", scheme="fine").different == 0


def test_r37_a_replica_that_ignores_the_numbers_fails_on_the_same_histories() -> None:
    failures = 0
    for seed in range(20):
        chance = random.Random(seed)
        history = random_history(chance, 60)
        try:
            replay(history, [(0, 1)] + [(1, number) for number in range(2, 61)], chance, 60)
        except AssertionError:
            failures += 1
    assert failures > 15


def test_r37_most_transactions_of_one_session_may_overlap(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.000001", random_history(random.Random(7), 300))
    report = stamp(log, tmp_path / "new")
    assert report.parallel_before == 0
    assert report.parallel_after > 100
    assert report.changed > 100
    assert report.bytes == log.stat().st_size


def test_r37_numbers_are_dense_and_start_over_in_each_file_of_a_source(tmp_path: Path) -> None:
    first = write_log(tmp_path / "log.000001", random_history(random.Random(1), 40))
    second = write_log(tmp_path / "log.000002", random_history(random.Random(2), 30), ddl=False, first=len(DDL) + 41)
    stamp([first, second], tmp_path / "new", workers=5)
    for name in ("log.000001", "log.000002"):
        stamps = numbers_of(tmp_path / "new" / name)
        assert [number for _, number in stamps] == list(range(1, len(stamps) + 1))
        assert stamps[0][0] == 0
        assert all(1 <= last < number <= last + 5 for last, number in stamps[1:])


def test_r37_numbers_of_a_relay_log_go_on_from_one_file_to_the_next(tmp_path: Path) -> None:
    logs = [write_log(tmp_path / f"relay.{number:06}", random_history(random.Random(number), 40)) for number in (1, 2)]
    for log in logs:
        data = bytearray(log.read_bytes())
        struct.pack_into("<H", data, 4 + 17, 0x40)
        struct.pack_into("<I", data, 4 + 119, zlib.crc32(data[4 : 4 + 119]))
        log.write_bytes(data)
    stamp(logs, tmp_path / "new")
    stamps = numbers_of(*(tmp_path / "new" / log.name for log in logs))
    assert all(newer[1] == older[1] + 1 for older, newer in pairwise(stamps))


def test_r37_unknown_tables_are_barriers_and_a_dump_makes_them_known(tmp_path: Path) -> None:
    history = [one for one in random_history(random.Random(5), 80) if one.changes]
    log = write_log(tmp_path / "log.000001", history, ddl=False)
    unknown = stamp(log, tmp_path / "unknown")
    assert unknown.barriers == unknown.transactions == len(history)
    assert {one["reason"] for one in unknown.fallback_reasons} == {"unknown table"}
    assert numbers_of(tmp_path / "unknown" / log.name)[1:] == [(number, number + 1) for number in range(1, len(history))]
    dump = tmp_path / "dump.sql"
    dump.write_text("USE d;\n" + ";\n".join(DDL[1:]) + ";\n")
    known = stamp(log, tmp_path / "known", schema=dump)
    assert (known.barriers, known.fallbacks) == (0, 0)
    assert verify(tmp_path / "known" / log.name, scheme="fine", schema=dump).different == 0


def test_r37_verify_finds_numbers_that_are_too_low(tmp_path: Path) -> None:
    history = random_history(random.Random(3), 80)
    log = write_log(tmp_path / "log.000001", history)
    stamp(log, tmp_path / "new")
    bytewise = verify(tmp_path / "new" / log.name, scheme="fine", bytewise=True)
    assert bytewise.different == 0, "fewer dependencies"
    stamps = [(max(1, number - 60) if number > len(DDL) else last, number) for last, number in numbers_of(log)]
    lowered = tmp_path / "lowered"
    lowered.write_bytes(with_numbers(log.read_bytes(), stamps))
    report = verify(lowered, scheme="fine")
    expected = numbers_of(tmp_path / "new" / log.name)
    too_low = [logged for logged, least in zip(stamps, expected, strict=True) if logged[0] < least[0]]
    assert report.different == len(too_low) > 10
    assert report.first_difference is not None
    assert tuple(report.first_difference["logged"]) == too_low[0]
    with pytest.raises(NumbersDiffer, match="below the number of a transaction"):
        require_equal(report, "fine")


def with_numbers(log: bytes, stamps: list[tuple[int, int]]) -> bytes:
    """Return a log without checksums compared, with other numbers."""
    data, at, left_over = bytearray(log), 4, iter(stamps)
    while at < len(data):
        size = struct.unpack_from("<I", data, at + 9)[0]
        if data[at + 4] == 33:
            struct.pack_into("<QQ", data, at + 19 + 26, *next(left_over))
            struct.pack_into("<I", data, at + size - 4, zlib.crc32(data[at : at + size - 4]))
        at += size
    return bytes(data)


def test_an_existing_file_is_not_replaced(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.000001", [])
    with pytest.raises(UsageError, match="exists, and is not replaced"):
        stamp(log, tmp_path)
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "log.000001").symlink_to("nowhere")
    with pytest.raises(UsageError, match="exists, and is not replaced"):
        stamp(log, tmp_path / "new")
    with pytest.raises(UsageError, match="name a folder"):
        stamp(log, log)


def test_two_logs_of_one_name_and_odd_workers_are_refused(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.000001", [])
    (tmp_path / "other").mkdir()
    other = write_log(tmp_path / "other" / "log.000001", [])
    with pytest.raises(UsageError, match=r"have the name log\.000001"):
        stamp([log, other], tmp_path / "new")
    for workers in (0, MOST_WORKERS + 1):
        with pytest.raises(UsageError, match="from 1 to 1024"):
            stamp(log, tmp_path / "new", workers=workers)


def test_r37_a_log_of_mariadb_is_refused_as_wrong_use(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a log of MariaDB"):
        stamp(NATIVE / "mariadb-10.11.000001", tmp_path / "new")
    assert left(tmp_path / "new") == []


@pytest.mark.parametrize("cut", [1, 5, 40, 61])
def test_r27_a_log_that_ends_inside_a_transaction_is_refused(tmp_path: Path, cut: int) -> None:
    log = write_log(tmp_path / "log.000001", random_history(random.Random(4), 30))
    short = tmp_path / "short"
    short.write_bytes(log.read_bytes()[:-cut])
    with pytest.raises(LogTruncated):
        stamp([log, short], tmp_path / "new")
    assert left(tmp_path / "new") == []


def test_r27_damage_is_refused_and_leaves_no_file(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.000001", random_history(random.Random(4), 30))
    data = log.read_bytes()
    for seed in range(60):
        chance = random.Random(seed)
        damaged = bytearray(data)
        damaged[chance.randrange(123 + 4, len(data))] ^= 1 << chance.randrange(8)
        path = tmp_path / f"damaged.{seed:06}"
        path.write_bytes(damaged)
        with pytest.raises(LogDamaged):
            stamp(path, tmp_path / "new")
    assert left(tmp_path / "new") == []


def test_r27_statements_that_change_rows_and_encrypted_logs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(LogNotUnderstood):
        stamp(DATA / "errors" / "statement-format.binlog", tmp_path / "new")
    encrypted = tmp_path / "encrypted"
    encrypted.write_bytes(b"\xfdbin" + bytes(600))
    with pytest.raises(LogNotUnderstood, match="encrypted"):
        stamp(encrypted, tmp_path / "new")
    assert left(tmp_path / "new") == []


def test_an_interrupted_run_leaves_no_file(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.000001", random_history(random.Random(4), 30))

    def interrupt(_read: int, _written: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stamp(log, tmp_path / "new", on_progress=interrupt)
    assert left(tmp_path / "new") == []


def test_what_is_written_to_a_log_meanwhile_is_left_out(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.000001", random_history(random.Random(4), 30))
    size = log.stat().st_size

    def grow(_read: int, _written: int) -> None:
        with log.open("ab") as file:
            file.write(b"half an event")

    stamp(log, tmp_path / "new", on_progress=grow)
    assert (tmp_path / "new" / log.name).stat().st_size == size


def test_a_file_keeps_the_mode_of_its_log(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.000001", [])
    log.chmod(0o640)
    stamp(log, tmp_path / "new")
    assert (tmp_path / "new" / log.name).stat().st_mode & 0o777 == 0o640


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = write_log(tmp_path / "log.000001", random_history(random.Random(4), 30))
    monkeypatch.setattr(module.NewFiles, "__enter__", lambda files: files)  # its folder is not made
    with pytest.raises(ParaplyError, match=r"folder/log\.000001 cannot be written: No such file or directory"):
        stamp(log, tmp_path / "no" / "folder")
