"""``serve --stamp``: replicas get the numbers that ``stamp`` writes, while the log grows, after restarts and from a relay log (R37)."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from unit.served_logs import make_logs, make_relay_log, numbers_of, received_numbers, receiving, running, wait_until
from unit.stamp_history import DDL, random_history, write_log

from paraply import open_log
from paraply._native import GtidSet
from paraply.analysis.stamp import stamp
from paraply.analysis.verify import verify
from paraply.errors import LogDamaged, LogNotUnderstood, ParaplyError, UsageError
from paraply.replication.retention import Retention
from paraply.replication.serving import LogService

DATA = Path(__file__).parent.parent / "data"


@pytest.mark.parametrize("workers", [2, 8, 1024])
def test_r37_a_replica_gets_the_numbers_that_stamp_writes(tmp_path: Path, workers: int) -> None:
    logs, history = make_logs(tmp_path / "logs")
    stamp(logs, tmp_path / "new", workers=workers)
    expected = [numbers_of(tmp_path / "new" / log.name) for log in logs]
    with running(tmp_path / "logs", workers=workers) as service:
        got = received_numbers(service, tmp_path / "one", len(DDL) + len(history))
        assert got == expected[0] + expected[1]
        # The second file only, and from the middle of it, by a position.
        uuid = open_log([logs[0]]).__next__().gtid or ""
        half = f"{uuid.partition(':')[0]}:1-{len(expected[0])}"
        assert received_numbers(service, tmp_path / "two", len(expected[1]), half) == expected[1]
        offset = [one.offset for one in open_log([logs[1]])][10]
        place = (logs[1].name, offset)
        assert received_numbers(service, tmp_path / "three", len(expected[1]) - 10, place=place) == expected[1][10:]
        status = service.status()["stamp"]
    assert status["transactions"] == len(got)
    assert status["parallel_after"] > status["parallel_before"]


def test_r37_a_log_that_grows_gets_the_same_numbers_as_a_finished_one(tmp_path: Path) -> None:
    logs, history = make_logs(tmp_path / "whole", 3)
    stamp(logs, tmp_path / "new", workers=8)
    expected = numbers_of(*sorted((tmp_path / "new").iterdir()))
    growing = tmp_path / "logs"
    growing.mkdir()
    ends = [one.end_offset for one in open_log([logs[0]])]
    content = logs[0].read_bytes()
    (growing / logs[0].name).write_bytes(content[: ends[2]])
    with running(growing) as service, receiving(service, tmp_path / "relay") as receiver:
        receiver.wait_for(3)
        for end, after in pairwise(ends[2:]):
            with (growing / logs[0].name).open("ab") as log:
                log.write(content[end : (end + after) // 2])
                log.flush()
                time.sleep(0.002)
                log.write(content[(end + after) // 2 : after])
        (growing / logs[1].name).write_bytes(logs[1].read_bytes())
        receiver.wait_for(len(DDL) + len(history))
        assert numbers_of(*receiver.relay.files) == expected


def test_r37_a_relay_sends_the_numbers_of_its_sources_files(tmp_path: Path) -> None:
    logs, history = make_relay_log(tmp_path / "relay")
    stamp(logs, tmp_path / "new", workers=8)
    expected = numbers_of(*sorted((tmp_path / "new").iterdir()))
    for attempt in ("first", "second"):
        with running(tmp_path / "relay", relay_log=True) as service:
            assert received_numbers(service, tmp_path / attempt, len(DDL) + len(history)) == expected


def test_r37_after_older_files_are_removed_a_relay_still_knows_the_tables_and_goes_on_with_the_numbers(tmp_path: Path) -> None:
    relay = tmp_path / "relay"
    logs, history = make_relay_log(relay)
    stamp(logs, tmp_path / "new", workers=8)
    expected = numbers_of(*sorted((tmp_path / "new").iterdir()))
    before = sorted(relay.glob("relay-bin.0*"))
    with running(relay, relay_log=True, retention=Retention(relay, bytes=20_000)) as service:
        wait_until(lambda: not before[0].exists(), "the oldest files are removed")
        assert service.status()["stamp"]["barriers"] < 20
    left = sorted(relay.glob("relay-bin.0*"))
    assert {path.stem for path in (relay / "numbers").iterdir()} >= {left[0].name}
    numbers = numbers_of(*left)
    skipped = len(DDL) + len(history) - len(numbers)
    gtids = GtidSet(",".join(one.gtid or "" for one in open_log(logs) if one.gtid)) - GtidSet(
        ",".join(one.gtid or "" for one in open_log(left))
    )
    with running(relay, relay_log=True) as service:
        got = received_numbers(service, tmp_path / "got", len(numbers), str(gtids))
        assert service.status()["stamp"]["parallel_after"] > 0
    assert [number for _, number in got] == [number for _, number in expected[skipped:]]
    assert all(mine >= wanted or mine == 0 for (mine, _), (wanted, _) in zip(got, expected[skipped:], strict=True))
    for file in (relay / "numbers").iterdir():
        if file.stem == left[0].name:
            file.unlink()
    with pytest.raises(UsageError, match=r"the tables at the start of .* are not known"), running(relay, relay_log=True):
        pass


def test_what_a_replica_got_is_verified(tmp_path: Path) -> None:
    logs, history = make_logs(tmp_path / "logs", 9)
    with running(logs[0].parent) as service, receiving(service, tmp_path / "relay") as receiver:
        receiver.wait_for(len(DDL) + len(history))
        files = [Path(file) for file in receiver.relay.files]
    assert verify(files, scheme="fine").different == 0


def test_a_table_that_a_dump_makes_known_is_no_barrier(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    history = random_history(random.Random(4), 60)
    write_log(folder / "binlog.000001", history, ddl=False)
    dump = tmp_path / "schema.sql"
    dump.write_text("".join(f"{'USE d; ' if not number else ''}{sql};\n" for number, sql in enumerate(DDL[1:])))
    barriers = []
    for schema in (None, dump):
        with running(folder, schema=schema) as service:
            wait_until(lambda service=service: service.status()["stamp"]["transactions"] == 60, "all have numbers")  # type: ignore[misc]
            barriers.append(service.status()["stamp"]["barriers"])
    assert barriers[0] == 60 > barriers[1]


def failure_of(folder: Path, look: Callable[[LogService], None]) -> ParaplyError:
    """Return the error of the log that ends a service, once it has reported it."""
    try:
        with running(folder, ends=True) as service:
            look(service)
            wait_until(lambda: service.status()["failure"] is not None, "the error is reported")
    except ParaplyError as error:
        return error
    raise AssertionError("the service has not ended with an error")


def test_damage_ends_the_log_and_what_is_before_it_gets_numbers(tmp_path: Path) -> None:
    logs, history = make_logs(tmp_path / "logs", 2)
    ends = [one.end_offset for one in open_log([logs[1]])]
    content = bytearray(logs[1].read_bytes())
    content[ends[20] - 6] ^= 1
    logs[1].write_bytes(content)

    def look(service: LogService) -> None:
        got = received_numbers(service, tmp_path / "relay", len(DDL) + 50 + 20)
        assert len(got) == len(DDL) + 70 < len(DDL) + len(history)

    assert isinstance(failure_of(tmp_path / "logs", look), LogDamaged)


def test_r27_changes_in_statement_format_end_the_log_with_their_place(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "binlog.000001").write_bytes((DATA / "errors" / "statement-format.binlog").read_bytes())
    failures: list[str] = []

    def look(service: LogService) -> None:
        wait_until(lambda: service.status()["failure"] is not None, "the error is reported")
        failures.append(service.status()["failure"])

    error = failure_of(folder, look)
    assert isinstance(error, LogNotUnderstood)
    assert error.exit_code == 3
    assert f"binlog.000001: the event at position {error.position} " in failures[0]
