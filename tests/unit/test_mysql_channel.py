"""Making the replication channel of ``--via replication`` (R24)."""

from __future__ import annotations

from typing import Any, cast

import pytest

from paraply._native import ResultSet
from paraply.errors import ApplyFailed, ServerError, UsageError
from paraply.targets.mysql.ddl.context import ServerKind
from paraply.targets.mysql.replication.mysql_channel import MySqlChannel, remove


class Starting:
    """A MySQL whose channel was half made by a connection that was killed: it begins only after so many removals."""

    user = b"paraply"

    def __init__(self, removals: int) -> None:
        self.removals = removals
        self.made = True
        self.begun = 0

    def query(self, statement: str) -> Any:
        if statement.startswith("RESET REPLICA ALL"):
            self.removals -= 1
            self.made = False
        elif statement.startswith("CHANGE REPLICATION SOURCE"):
            self.made = True
        elif statement.startswith("START REPLICA"):
            if self.removals > 0:
                raise ServerError("Replica failed to initialize applier metadata structure from the repository", 1872)
            self.begun += 1
        elif "replication_connection_configuration" in statement:
            return [ResultSet(["user"], [(self.user,)] if self.made else [], 0)]
        elif "replica_skip_errors" in statement:
            return [ResultSet(["skipped"], [(b"OFF",)], 0)]
        return [ResultSet([], [], 0)]


def channel_on(server: Starting) -> MySqlChannel:
    return MySqlChannel(cast("Any", server), ServerKind.parse("9.7.0"), "default", 8)


@pytest.mark.parametrize("removals", [0, 1, 2, 3])
def test_r24_a_channel_that_was_half_made_is_removed_and_made_again(removals: int) -> None:
    server = Starting(removals)
    channel_on(server).begin("127.0.0.1", 3306, "paraply", "secret")
    assert (server.begun, server.made) == (1, True)


def test_r24_one_that_cannot_be_begun_is_given_up_and_gone() -> None:
    server = Starting(100)
    with pytest.raises(ApplyFailed, match="failed to initialize"):
        channel_on(server).begin("127.0.0.1", 3306, "paraply", "secret")
    assert (server.begun, server.made) == (0, False)


def test_r25a_a_channel_that_somebody_else_made_stays() -> None:
    server = Starting(removals=0)
    server.user = b"repl"
    with pytest.raises(UsageError, match="a replication channel paraply with user 'repl'"):
        remove(cast("Any", server), "default")
    assert server.made
    server.user = b""  # half made
    remove(cast("Any", server), "default")
    assert not server.made
