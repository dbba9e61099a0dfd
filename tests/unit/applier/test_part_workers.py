"""Connections that apply the parts of a split transaction."""

from __future__ import annotations

from typing import Any, cast

import pytest

from paraply.applier.execute.split import PartMaker, PartWorkers
from paraply.errors import ConnectionFailed, ConnectionLost
from paraply.targets.two_phase import BranchTarget


class DownTarget:
    """A target that does not accept connections."""

    def new_split(self) -> str:
        return "split"

    def session(self) -> Any:
        raise ConnectionFailed("the server cannot be reached")


def test_a_part_that_gets_no_connection_is_tried_again_as_after_a_lost_one() -> None:
    workers = PartWorkers(cast("BranchTarget", DownTarget()), PartMaker(2), 1)
    assert workers.engage(cast("Any", object()))
    try:
        with pytest.raises(ConnectionLost, match="a connection for one part could not be opened: the server cannot be reached"):
            workers.begin([cast("Any", object())])
        workers.undo()
    finally:
        workers.close()
