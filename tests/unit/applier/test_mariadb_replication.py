"""``--via replication`` into MariaDB: order of domains and statements, positions, and the replication connection (R17, R25, R26)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from paraply._native import GtidSet, ResultSet
from paraply.applier.execute.retry import RetryPolicy
from paraply.applier.schedule.job_list import Job
from paraply.applier.via_replication.isolation import Isolation
from paraply.applier.via_replication.outbox import DomainOutbox
from paraply.applier.via_replication.position import check_writers
from paraply.errors import ApplyFailed, ConnectionLost, ServerError, UsageError
from paraply.targets.mysql.gtid_position import held_by_replication
from paraply.targets.mysql.preflight.mariadb_replication import check_replication
from paraply.targets.mysql.replication.mariadb_channel import MariaDbChannel, remove
from paraply.targets.mysql.server_version import ServerKind

TARGET = ServerKind.parse("10.11.6-MariaDB-log")


def job(number: int, gtid: str, kind: str = "dml", version: tuple[int, int, int] = (10, 11, 6)) -> Job:
    """A job that is put in as this number."""
    block = SimpleNamespace(
        first_gtid=gtid, bytes=100, kind=kind, transactions=[SimpleNamespace(statements=[])], format=SimpleNamespace(version=version)
    )
    return Job(number, 0, cast("Any", block), cast("Any", None))


def numbers(jobs: list[Job] | None) -> list[int]:
    """Return the numbers of jobs."""
    return [one.number for one in jobs or ()]


def test_r17_a_position_counts_every_job_up_to_its_transaction() -> None:
    outbox = DomainOutbox()
    for number in range(1, 6):
        assert outbox.put(job(number, f"3-1-{10 * number}"))
    assert numbers(outbox.committed(GtidSet("0-1-99"))) == []
    assert numbers(outbox.committed(GtidSet("0-1-99,3-1-30"))) == [1, 2, 3]
    assert numbers(outbox.committed(GtidSet("0-1-99,3-1-30"))) == []
    sending = outbox.begin(GtidSet("3-1-40"))
    assert numbers(outbox.take(sending, 0)) == [4, 5], "the relay log of an earlier connection is gone"


def test_a_position_that_the_run_has_not_sent_is_another_ones() -> None:
    outbox = DomainOutbox()
    outbox.put(job(1, "0-1-7"))
    outbox.put(job(2, "0-1-8"))
    assert outbox.committed(GtidSet("0-1-6")) == []
    assert outbox.committed(GtidSet("0-1-5"), exact=False) == []
    with pytest.raises(ApplyFailed, match=r"0-2-900.*somebody else"):
        outbox.committed(GtidSet("0-2-900"))
    assert numbers(outbox.committed(GtidSet("0-1-7"))) == [1]


class Ordered:
    """Steps of an isolation, in their order."""

    def __init__(self, **target_of: object) -> None:
        self.done: list[str] = []
        target = SimpleNamespace(server_id=lambda: 9, server=TARGET, **target_of)
        self.isolation = Isolation(cast("Any", target), self._put, self._drain, RetryPolicy())

    def _put(self, one: Job) -> bool:
        self.done.append(f"put {one.number}")
        return True

    def _drain(self, number: int) -> bool:
        self.done.append(f"drain {number}")
        return True

    def after(self, *jobs: Job) -> list[str]:
        """Hand jobs on; return what happened."""
        for one in jobs:
            assert self.isolation.put(one)
        return self.done


def test_r17_another_domain_begins_when_everything_before_is_committed() -> None:
    jobs = [job(1, "0-1-1"), job(2, "0-1-2"), job(3, "4-1-1"), job(4, "4-1-2"), job(5, "0-1-3")]
    assert Ordered().after(*jobs) == ["put 1", "put 2", "drain 2", "put 3", "put 4", "drain 4", "put 5"]


def test_r25b_a_statement_is_alone_on_its_way() -> None:
    jobs = [job(1, "0-1-1"), job(2, "0-1-2", "ddl"), job(3, "0-1-3")]
    assert Ordered().after(*jobs) == ["put 1", "drain 1", "put 2", "drain 2", "put 3"]


class Recording:
    """A connection that counts the statements that delete a record."""

    def __init__(self, *, broken: bool = False) -> None:
        self.broken = broken
        self.deleted = 0

    def query(self, statement: str) -> list[object]:
        if self.broken:
            raise ConnectionLost("server disconnected")
        self.deleted += statement == "end"
        return []

    def close(self) -> None:
        pass


@pytest.mark.parametrize(("broken", "settled"), [(False, True), (True, True), (False, False)])
def test_r25b_a_record_goes_only_where_the_statement_cannot_have_run(broken: bool, settled: bool) -> None:
    connection = Recording()
    context = SimpleNamespace(quiet_settings=(), store=SimpleNamespace(end_ddl=lambda: "end"))
    isolation = Ordered(connect=lambda: connection, context=context).isolation
    isolation._recorded = isolation._quiet() is connection
    connection.broken = broken
    isolation.end(settled=settled)
    assert isolation._recorded is (broken or not settled)
    assert connection.deleted == (not isolation._recorded)
    isolation.end(settled=True)
    assert isolation._recorded is (broken or not settled), "a connection made later knows nothing about a restart in between"


def test_a_transaction_of_the_targets_own_number_is_refused() -> None:
    with pytest.raises(ApplyFailed, match="server_id 9"):
        Ordered().after(job(1, "0-9-1"))


def test_r36_a_log_of_a_newer_version_is_refused() -> None:
    assert Ordered().after(job(1, "0-1-1", version=(10, 11, 99)))
    with pytest.raises(ApplyFailed, match=r"MariaDB 11\.5 wrote"):
        Ordered().after(job(1, "0-1-1", version=(11, 5, 2)))


class FakeMariaDb:
    """A MariaDB that answers by the beginning of a statement, and remembers what it was asked."""

    connection_id = 1
    server_version = "10.11.6-MariaDB-log"

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers = answers
        self.asked: list[str] = []

    def query(self, statement: str) -> Any:
        self.asked.append(statement)
        for beginning, answer in self.answers.items():
            if statement.startswith(beginning):
                if isinstance(answer, Exception):
                    raise answer
                return [ResultSet(*answer)]
        return [ResultSet([], [], 0)]


def status(**changes: object) -> tuple[list[str], list[tuple[object, ...]], int]:
    """Return the status of paraply's connection and, if named, of another one."""
    own = {"Connection_name": "paraply", "Slave_SQL_Running": "Yes", "Slave_IO_Running": "Yes", "Last_SQL_Errno": 0, "Last_SQL_Error": "",
            "Last_IO_Errno": 0, "Last_IO_Error": ""}  # fmt: skip
    other = changes.pop("other", None)
    row = own | changes
    rows = [tuple(row.values())] + ([tuple({**own, "Connection_name": other}.values())] if other is not None else [])
    return list(row), rows, 0


def channel(**changes: object) -> MariaDbChannel:
    return MariaDbChannel(cast("Any", FakeMariaDb({"SHOW ALL SLAVES": status(**changes)})), TARGET, "default", 8)


def test_r24_the_reason_of_a_stop_is_found() -> None:
    assert channel().fault() is None
    text = "Could not execute Write_rows_v1 event on table a.t; Duplicate entry '1' for key 'PRIMARY', Error_code: 1062"
    fault = channel(Slave_SQL_Running="No", Last_SQL_Errno=1062, Last_SQL_Error=text).fault()
    assert fault is not None
    assert (fault.error.code, fault.receiving) == (1062, False)
    fault = channel(Slave_IO_Running="No", Last_IO_Errno=1236, Last_IO_Error="sent once").fault()
    assert fault is not None
    assert (fault.error.code, fault.receiving) == (1236, True)
    assert channel(Slave_IO_Running="Connecting", Last_IO_Errno=2003).fault() is None, "it may connect yet"
    fault = channel(Connection_name="elsewhere", Slave_SQL_Running="No").fault()
    assert fault is not None
    assert "does not exist any more" in fault.error.message


def test_another_connection_beside_it_is_a_fault() -> None:
    fault = channel(other="analytics").fault()
    assert fault is not None
    assert "analytics" in fault.error.message


def test_r25a_a_connection_is_removed_whether_the_server_shows_it_or_not() -> None:
    for gone in ({}, {"STOP SLAVE": ServerError("there is no master connection", 1617)}):
        server = FakeMariaDb(gone)
        remove(cast("Any", server), "default")
        assert server.asked == ["SHOW ALL SLAVES STATUS", "STOP SLAVE 'paraply'", "RESET SLAVE 'paraply' ALL"]
    with pytest.raises(ServerError):
        remove(cast("Any", FakeMariaDb({"STOP SLAVE": ServerError("disk full", 1021)})), "default")


def test_r25a_a_connection_that_somebody_else_made_stays() -> None:
    server = FakeMariaDb({"SHOW ALL SLAVES": status(Master_User="repl")})
    with pytest.raises(UsageError, match="a replication channel paraply with user 'repl'"):
        remove(cast("Any", server), "default")
    assert server.asked == ["SHOW ALL SLAVES STATUS"]
    remove(cast("Any", FakeMariaDb({"SHOW ALL SLAVES": status(Master_User="paraply")})), "default")


def test_r25a_a_user_who_may_not_remove_it_is_refused_where_a_run_was_killed() -> None:
    denied = ServerError("denied", 1227)
    server = FakeMariaDb({"STOP SLAVE": denied})
    remove(cast("Any", server), "default")
    assert len(server.asked) == 3
    left = {"STOP SLAVE": denied, "SELECT 1 FROM paraply.setting": ([], [(1,)], 0), "SELECT CURRENT_USER": ([], [("app@%",)], 0)}
    with pytest.raises(UsageError, match="may still apply"):
        remove(cast("Any", FakeMariaDb(left)), "default")


@pytest.mark.parametrize(
    ("state", "position", "held"),
    [
        ("0-1-14,0-9-20", "", "0-1-14"),
        ("0-9-20", "0-1-5", "0-1-5"),
        ("0-1-14,2-1-3", "0-1-15", "0-1-15,2-1-3"),
        ("", "", ""),
    ],
)
def test_r26_what_the_server_wrote_itself_is_no_progress(state: str, position: str, held: str) -> None:
    server = FakeMariaDb({"SELECT @@GLOBAL.server_id": ([], [(9, state, position)], 0)})
    assert held_by_replication(cast("Any", server)) == held


VARIABLES = {
    "log_bin": "ON", "log_slave_updates": "ON", "server_id": "9", "slave_skip_errors": "OFF", "gtid_ignore_duplicates": "OFF",
    "replicate_events_marked_for_skip": "REPLICATE", "replicate_do_db": "",
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"log_bin": "OFF"}, "log_bin of the target"),
        ({"log_slave_updates": "OFF"}, "log_slave_updates"),
        ({"server_id": "1"}, "server_id 1"),
        ({"slave_skip_errors": "1062"}, "slave_skip_errors of the target is 1062"),
        ({"gtid_ignore_duplicates": "ON"}, "gtid_ignore_duplicates"),
        ({"replicate_events_marked_for_skip": "FILTER_ON_SLAVE"}, "replicate_events_marked_for_skip"),
        ({"replicate_do_db": "shop"}, "replicate_do_db"),
    ],
)
def test_a_target_that_would_pass_over_transactions_is_refused(changes: dict[str, str], reason: str) -> None:
    def check(variables: dict[str, str], engine: str = "InnoDB", other: str | None = None, version: tuple[int, ...] = (10, 5, 23)) -> None:
        answers = {
            "SHOW GLOBAL VARIABLES": ([], list(variables.items()), 0),
            "SELECT table_name": ([], [("gtid_slave_pos", engine)], 0),
            "SHOW ALL SLAVES": status(other=other),
        }
        plan = SimpleNamespace(by_replication=True, first_gtid="0-1-5", channel="default", log_version=version)
        check_replication(cast("Any", FakeMariaDb(answers)), cast("Any", plan), TARGET)

    check(VARIABLES)
    with pytest.raises(UsageError, match=reason):
        check(VARIABLES | changes)
    with pytest.raises(UsageError, match="engine Aria"):
        check(VARIABLES, engine="Aria")
    with pytest.raises(UsageError, match="analytics"):
        check(VARIABLES, other="analytics")
    with pytest.raises(UsageError, match=r"MariaDB 11\.8 wrote the log, the target is 10\.11"):
        check(VARIABLES, version=(11, 8, 1))


def test_r26_a_position_of_another_history_is_refused() -> None:
    head = SimpleNamespace(server_id=1, previous_gtids=GtidSet("0-2-40,5-1-3"))
    files = cast("Any", [SimpleNamespace(head=head), SimpleNamespace(head=None)])
    first = cast("Any", SimpleNamespace(gtid="0-1-41"))
    for position in ("", "0-2-40", "0-1-60", "7-7-7", "5-1-3"):
        check_writers(files, first, GtidSet(position), GtidSet(""))
    for position in ("0-7-5000", "5-7-1"):
        with pytest.raises(UsageError, match="no server of the log is 7"):
            check_writers(files, first, GtidSet(position), GtidSet(""))
    check_writers(files, first, GtidSet("0-7-30"), GtidSet("0-1-50"))
