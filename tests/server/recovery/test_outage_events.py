"""Events of a target that is away: each names the loss, and one line says that it answers again."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

import pytest
from own_mysql import OwnMySql, running_mysql
from server.replay import SqlPlace
from server.waiting import wait_until

from paraply.applier.execute.retry import RetryPolicy
from paraply.errors import Stopped
from paraply.replication import Replication, ReplicationOptions, parse_source
from paraply.targets import open_target

pytestmark = [pytest.mark.mysql, pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")]

SHORT = RetryPolicy(reconnects=2, reconnect_base=0.05, reconnect_cap=0.1)


def rows(server: OwnMySql) -> int:
    return int(SqlPlace(server.url).sql("SELECT COUNT(*) FROM shop.t")[0][0])


def test_the_loss_and_the_return_of_a_target_have_events(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="paraply")
    with running_mysql(["--server-id=51"]) as source, running_mysql(["--server-id=52"]) as target:
        place = SqlPlace(source.url)
        place.sql("CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY)", "INSERT INTO shop.t VALUES (1)")
        options = ReplicationOptions(relay_folder=tmp_path / "relay", applier={"workers": 2, "retries": SHORT})
        replication = Replication(parse_source(source.url), lambda: open_target(target.url), options)
        ended: list[BaseException] = []
        thread = threading.Thread(target=lambda: ended.extend(failure_of(replication)))
        thread.start()
        wait_until(lambda: replication.counters().transactions == 3, "the first row")
        target.kill()
        place.sql("INSERT INTO shop.t VALUES (2)")
        wait_until(lambda: "is tried again" in caplog.text, "a new apply")
        target.start()
        wait_until(lambda: rows(target) == 2, "the second row")
        wait_until(lambda: "answers again" in caplog.text, "the event")
        replication.stop()
        thread.join()
    assert isinstance(ended[0], Stopped)
    lost = [
        record for record in caplog.records if "the target was lost" in record.getMessage() or "connection to the" in record.getMessage()
    ]
    assert len(lost) >= 2
    assert {(record.levelname, getattr(record, "event", None)) for record in lost} == {("WARNING", "target-lost")}
    (back,) = [record for record in caplog.records if "answers again" in record.getMessage()]
    assert (back.levelname, getattr(back, "event", None)) == ("WARNING", "connected")
    (mode,) = [record for record in caplog.records if "GTID mode preserve" in record.getMessage()]
    assert mode.levelname == "INFO"


def failure_of(replication: Replication) -> list[BaseException]:
    """Return the error that ends a replication."""
    try:
        replication.run()
    except BaseException as error:
        return [error]
    return []
