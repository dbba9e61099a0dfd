"""The members of a group: statements, waiting for each other, and their relay logs."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from urllib.parse import urlsplit

from paraply._native import MySqlConnection
from paraply.errors import ParaplyError

__all__ = ["Group", "GroupBroken", "Member", "run_script"]

CHANNEL = "relay-group_replication_applier"
PATIENCE = 900.0
STATE = "select member_state from performance_schema.replication_group_members where member_id=@@server_uuid"


class GroupBroken(Exception):
    """A member left the group: concurrent changes of a parent and its children that certification lets pass cannot be applied."""


class Member:
    """One member.

    Args:
        url: ``mysql://user:password@host:port``.
        folder: Where its relay logs lie on this machine.
    """

    def __init__(self, url: str, folder: Path) -> None:
        self.url = urlsplit(url)
        self.folder = folder
        self.admin = self.connect()
        self.server_id = int(self.value("select @@server_id"))

    def connect(self) -> MySqlConnection:
        """A new session."""
        url = self.url
        return MySqlConnection(url.hostname or "127.0.0.1", url.port or 3306, url.username or "root", url.password)

    def value(self, sql: str) -> str:
        """The first value of a query's last result."""
        value = self.admin.query(sql)[-1][1][0][0]
        return value.decode() if isinstance(value, bytes) else str(value)

    @property
    def executed(self) -> str:
        """Its gtid_executed."""
        return self.value("select @@global.gtid_executed")

    def wait_for(self, gtids: str) -> None:
        """Waits until these transactions are executed."""
        deadline = time.monotonic() + PATIENCE
        while self.value(f"select wait_for_executed_gtid_set('{gtids}', 2)") != "0":
            self.be_online()
            if time.monotonic() > deadline:
                raise GroupBroken(f"{self.url.port} has not executed {gtids}")

    def be_online(self) -> None:
        """Raises unless it is a member in good health."""
        if (state := self.value(STATE)) != "ONLINE":
            raise GroupBroken(f"member {self.server_id} is {state}: its error log says why")

    def forgive(self) -> None:
        """Makes its applier pass over rows that are missing, there already, or held by a foreign key.

        What the certifier stamped is in the relay log by then, and that alone is compared. Without this, loads that are right on the
        member that runs them stop the others: MySQL 9.7 logs some changes of parents and children so that they cannot be applied (a
        ``REPLACE`` that updates a parent in place is logged as a delete, which the child refuses; a row reached by two cascades is
        deleted twice), and in multi-primary mode certification lets a child of one member pass by its parent's end on another.
        """
        self.admin.query("set global replica_exec_mode = 'IDEMPOTENT'")

    def relay_logs(self) -> list[Path]:
        """The files of the group's channel, oldest first."""
        return sorted(path for path in self.folder.glob(CHANNEL + ".*") if path.suffix[1:].isdigit())

    def rejoin(self) -> None:
        """Leaves the group and comes back, so that its numbers start over in a new relay log (rule R6)."""
        self.admin.query("stop group_replication; start group_replication")
        deadline = time.monotonic() + 60
        while self.value(STATE) != "ONLINE":
            if time.monotonic() > deadline:
                raise GroupBroken(f"{self.url.port} does not come online")
            time.sleep(0.1)


class Group:
    """All members; the last one only applies, and its relay log holds everything in the order of certification."""

    def __init__(self, members: list[Member]) -> None:
        self.members = members
        self.observer = members[-1]
        self.single_primary = members[0].value("select @@group_replication_single_primary_mode") == "1"

    @property
    def writers(self) -> list[Member]:
        """The members that sessions may write to."""
        return self.members[:1] if self.single_primary else self.members[:-1]

    def settle(self) -> None:
        """Waits until all members have executed the same."""
        for member in self.members:
            member.be_online()
        for _ in range(2):
            for member in self.members:
                for other in self.members:
                    other.wait_for(member.executed)

    def begin(self) -> dict[int, int]:
        """Starts the numbers of all but the first member over; how many relay logs each had before."""
        self.settle()
        for member in self.members:
            member.forgive()
        for member in self.members[1:]:
            member.rejoin()
        return {member.server_id: len(member.relay_logs()) for member in self.members[1:]}

    def logs(self, member: Member, begun: dict[int, int], to: Path) -> list[Path]:
        """Copies what a member's relay log got since ``begin``."""
        to.mkdir(parents=True, exist_ok=True)
        new = member.relay_logs()[begun[member.server_id] - 1 :]
        return [Path(shutil.copy(path, to)) for path in new]


def run_script(connection: MySqlConnection, statements: list[str]) -> int:
    """Runs statements one after another; the number of a server's error, 0 without one."""
    for sql in statements:
        try:
            connection.query(sql)
        except ParaplyError as error:
            return int(getattr(error, "code", None) or -1)
    return 0
