"""A connection that is lost at any question of a run, from its first look at the target to the end of its progress (R24, R25)."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
from server.history_source import ITEMS, Source, with_other_uuid

from paraply import Applier
from paraply._native import ResultSet
from paraply.errors import ParaplyError, ServerError
from paraply.targets.mysql.sql import Connection
from paraply.targets.mysql.target import MySqlTarget, connect
from paraply.targets.url import DatabaseUrl, parse_url

#: One run for every so many questions; which ones is another choice for each way.
STEP = 3


class Hurting:
    """Counts the questions of all connections of a run, and hurts one of them."""

    def __init__(self, at: int, how: str) -> None:
        self.at = at
        self.how = how
        self.asked = 0

    def connect(self, url: DatabaseUrl) -> Connection:
        return Hurt(connect(url), url, self)

    def is_hit(self) -> bool:
        self.asked += 1
        return self.asked == self.at


class Hurt:
    """One connection of such a run."""

    def __init__(self, connection: Connection, url: DatabaseUrl, hurting: Hurting) -> None:
        self._connection = connection
        self._url = url
        self._hurting = hurting

    def query(self, sql: bytes | str) -> list[ResultSet]:
        if self._hurting.is_hit():
            if self._hurting.how == "KILL QUERY":
                raise ServerError("Query execution was interrupted", 1317, "70100")
            with contextlib.closing(connect(self._url)) as other:
                other.query(f"KILL {self._connection.connection_id}")
        return self._connection.query(sql)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


@pytest.fixture
def log(history_source: Source, tmp_path: Path) -> Path:
    (log,) = history_source.logs([ITEMS], tmp_path)
    return log if history_source.place.mariadb else with_other_uuid(log, log)


@pytest.mark.by_turns
@pytest.mark.parametrize("how", ["KILL", pytest.param("KILL QUERY", marks=pytest.mark.slow)])
def test_r24_a_connection_may_be_lost_at_any_question(history_source: Source, log: Path, how: str) -> None:
    place = history_source.place
    questions, at, failed = 0, 0, []
    while at <= questions:
        place.empty()
        hurting = Hurting(at, how)
        try:
            with Applier([str(log)], MySqlTarget(parse_url(place.url), hurting.connect), workers=2, gtid="record") as applier:
                report = applier.run()
        except ParaplyError as error:
            failed.append((at, repr(error)))
        else:
            assert report.transactions == len(ITEMS)
            assert place.sql("SELECT id, n FROM shop.item ORDER BY id") == [(1, 11), (2, 12), (3, 3)], at
        questions = hurting.asked if at == 0 else questions
        at = at + STEP if at else 1 + (how == "KILL")
    assert questions > 10 * STEP
    assert not failed, f"{len(failed)} of {questions // STEP} runs"
