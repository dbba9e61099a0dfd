"""Connections that apply the parts of a split transaction."""

from __future__ import annotations

from typing import Any, cast

import pytest

from paraply.applier.execute.split import PartMaker, PartWorkers
from paraply.errors import ConnectionFailed, ConnectionLost
from paraply.targets.two_phase import Branch, BranchTarget


class DownTarget:
    """A target that does not accept connections."""

    def new_split(self) -> str:
        return "split"

    def session(self) -> Any:
        raise ConnectionFailed("the server cannot be reached")


class Part:
    """A session whose part is prepared, and whose connection is then lost."""

    connection_id = 7

    def prepare(self, part: Any, branch: Branch) -> None:
        """Prepare it."""

    def end_branch(self, branch: Branch, *, commit: bool) -> None:
        raise ConnectionLost("the server has gone away")

    def close(self) -> None:
        """Close the connection."""


class CrashedTarget(DownTarget):
    """A target that is down for some calls after its crash."""

    def __init__(self, refused: int) -> None:
        self.refused = refused
        self.ended: list[tuple[Branch, int, bool]] = []

    def session(self) -> Any:
        return Part()

    def end_branch(self, branch: Branch, connection_id: int, *, commit: bool) -> None:
        if self.refused:
            self.refused -= 1
            raise ConnectionFailed("the server cannot be reached")
        self.ended.append((branch, connection_id, commit))


def test_parts_that_a_crash_left_prepared_are_ended_when_the_server_answers_again() -> None:
    target = CrashedTarget(refused=2)
    workers = PartWorkers(cast("BranchTarget", target), PartMaker(2), 1)
    try:
        assert workers.engage(cast("Any", object()))
        workers.begin([cast("Any", object())])
        workers.join()
        workers.undo()
        assert not target.ended
        with pytest.raises(ConnectionFailed, match="cannot be reached"):
            workers.end_left()
        workers.end_left()
        assert target.ended == [(Branch("split", 1), 7, False)]
        workers.end_left()
        assert len(target.ended) == 1
    finally:
        workers.close()


def test_a_part_that_gets_no_connection_is_tried_again_as_after_a_lost_one() -> None:
    workers = PartWorkers(cast("BranchTarget", DownTarget()), PartMaker(2), 1)
    assert workers.engage(cast("Any", object()))
    try:
        with pytest.raises(ConnectionLost, match="a connection for one part could not be opened: the server cannot be reached"):
            workers.begin([cast("Any", object())])
        workers.undo()
    finally:
        workers.close()
