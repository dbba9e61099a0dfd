"""Group with threads, logs in files and databases in PostgreSQL."""

from __future__ import annotations

import logging
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self, cast

import psycopg
from psycopg import sql

from paraply._native import GtidSet
from paraply.errors import MemberUnavailable, ParaplyError, UsageError
from paraply.group.appliers.live_applier import LiveApplier, Part
from paraply.group.base import RUNNING, BaseGroup
from paraply.group.delivery.relay_log import FileLog, LogFollower
from paraply.group.members.member import Disk, Member, MemberState, renumbered, view_gtid
from paraply.group.members.pending import Pending
from paraply.group.options import GroupOptions
from paraply.group.storage.definitions import Definitions
from paraply.group.storage.pg_store import PgStore
from paraply.targets.postgres.embedded import EmbeddedPostgres

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["LiveGroup"]

_log = logging.getLogger("paraply.group")

ANSWER_SECONDS = 60.0


class LiveGroup(BaseGroup):
    """Group whose members run in threads of this process, each with its own PostgreSQL database and logs.

    Use it as a context manager; at its end members stop, and a temporary folder is removed.

    Args:
        members: Number of members, or their names.
        options: Options of the group.
        schema: CREATE TABLE statements with full names, for the databases of new members.
        folder: Folder of databases and logs; a temporary one by default.
        period: Seconds between two reports of a member's executed transactions.
    """

    def __init__(
        self,
        members: int | list[str] = 3,
        options: GroupOptions | None = None,
        schema: Sequence[str] = (),
        *,
        folder: str | Path | None = None,
        period: float = 1.0,
    ) -> None:
        super().__init__(members, options, schema)
        self._temporary = folder is None
        self.folder = Path(tempfile.mkdtemp(prefix="paraply-group-") if folder is None else folder)
        """Folder of databases and logs."""
        self._period = period
        self._server = EmbeddedPostgres(self.folder / "databases")
        self._appliers: dict[str, LiveApplier] = {}
        self._statements: dict[str, tuple[Member, Pending]] = {}
        self._threads: list[threading.Thread] = []
        self._ended = threading.Event()
        self._definitions = Definitions()
        for statement in schema:
            self._definitions.advance(statement, "")

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._server.start()
        try:
            self._bootstrap()
            self._spawn(self._report, "reports")
            self.wait_online()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Stop all members at transaction boundaries."""
        self._ended.set()
        for name in list(self.members):
            self._stop(name, MemberUnavailable("the group has ended"))
        for thread in self._threads:
            thread.join()
        for disk in self._disks.values():
            disk.store.close()
            for log in (disk.relay, disk.log):
                cast("FileLog", log).close()
        self._server.stop()
        if self._temporary:
            shutil.rmtree(self.folder, ignore_errors=True)

    # Waiting.

    def wait_online(self, seconds: float = 60.0) -> None:
        """Wait until every member of the view is online.

        Raises:
            MemberUnavailable: A member failed, or it takes too long.
        """
        self._wait(lambda: all(self.members[me.name].state is MemberState.ONLINE for me in self.membership.view.members), seconds)

    def settle(self, seconds: float = 60.0) -> None:
        """Wait until every member has certified and applied everything; nothing may be sent meanwhile.

        Raises:
            MemberUnavailable: A member failed, or it takes too long.
        """
        self._wait(self._settled, seconds)

    def _settled(self) -> bool:
        online = [member for member in self.members.values() if member.state in RUNNING]
        executed = [member.store.executed() for member in online]
        return all(
            member.state is MemberState.ONLINE and not member.certifier_queue and member.certified <= done
            for member, done in zip(online, executed, strict=True)
        )

    def _wait(self, ready: Callable[[], bool], seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while True:
            failed = next((member for member in self.members.values() if member.state is MemberState.ERROR), None)
            if failed is not None:
                raise MemberUnavailable(f"member {failed.name} failed: {failed.failure}") from failed.failure
            if ready():
                return
            if time.monotonic() > deadline:
                states = ", ".join(f"{name} {member.state.value}" for name, member in self.members.items())
                raise MemberUnavailable(f"the members have not finished within {seconds:.0f} seconds: {states}")
            time.sleep(0.01)

    # Members that join and leave.

    def crash(self, name: str) -> None:
        """Crash a member: its transactions in progress are rolled back, its database and logs stay."""
        self.member(name)
        self._stop(name, MemberUnavailable(f"member {name} crashed"), abort=True)
        self._disks[name].store.close()

    def join(self, name: str) -> None:
        """Let a member join, with an empty database or, after an earlier membership, with its own."""
        if name in self._appliers:
            if self.members[name].state in RUNNING:
                raise UsageError(f"member {name} is in the group already")
            self._stop(name, MemberUnavailable(f"member {name} is restarted"))
        if name in self._disks:
            disk = self._disks[name]
            disk.store.close()
            cast("FileLog", disk.relay).close()
            disk.store = PgStore(self._server.uri_of(name))
            disk.relay = self._relay_log(name, self.membership.view.number + 1)
        super().join(name)

    def relay_files(self, name: str) -> list[str]:
        """Return the files of a member's relay log, in order."""
        return cast("FileLog", self._disks[name].relay).files

    def busy_seconds(self, name: str) -> float:
        """Return the seconds that a member's workers have applied, added up; known once the member has stopped."""
        return self._appliers[name].busy_seconds

    # Parts.

    def _make_disk(self, name: str, server_id: int) -> Disk:
        with psycopg.connect(self._server.uri, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        shutil.rmtree(self.folder / name, ignore_errors=True)
        log = FileLog(self.folder / name / "log", server_id, "log")
        return Disk(PgStore(self._server.uri_of(name)), self._relay_log(name, 1, server_id), log)

    def _relay_log(self, name: str, view: int, server_id: int = 0) -> FileLog:
        return FileLog(self.folder / name / f"relay.{view}", server_id, "relay-group_replication_applier")

    def _start(self, member: Member, *, joins: bool) -> None:
        store = cast("PgStore", member.store)
        own = Part(lambda executed: cast("FileLog", member.disk.relay).follow(executed))
        parts = [Part(partial(self._follow_donor, member), member.recovered), own] if joins else [own]
        applier = LiveApplier(member, store, self.options, parts, partial(self._failed, member), partial(self._statement_committed, member))
        member.on_local = partial(self._local_decided, member)
        self._appliers[member.name] = applier
        applier.open(list(self._definitions))
        if not joins:
            member.recovered()
        applier.start()
        self._spawn(partial(self._deliver, member), f"delivery-{member.name}")

    def _follow_donor(self, member: Member, executed: GtidSet) -> LogFollower | None:
        donor = self._donor(member.name)
        until = view_gtid(self._certifier, member.me.joined)
        return None if donor is None else cast("FileLog", donor.log).follow(executed, until)

    def _deliver(self, member: Member) -> None:
        """Deliver messages to a member; the body of its delivery thread."""
        try:
            while member.state in RUNNING and not self._ended.is_set():
                if member.awaited is None:
                    member.deliver(0.1)
                elif not self._transfer(member):
                    time.sleep(0.01)
        except BaseException as error:  # the member must not stay in the group without certifying
            self._failed(member, error)

    def _report(self) -> None:
        while not self._ended.wait(self._period):
            self.exchange()
            for member in list(self.members.values()):
                member.flow.next_period()

    def _spawn(self, body: Callable[[], None], name: str) -> None:
        thread = threading.Thread(target=body, name=f"paraply-{name}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _failed(self, member: Member, error: BaseException) -> None:
        """Remove a member that cannot continue from the group."""
        if member.state not in RUNNING:
            return
        _log.error("member %s failed: %s", member.name, error)
        member.close(error, MemberState.ERROR)
        member.flow.close()
        with suppress(UsageError):  # it has left already
            self.membership.remove(member.name)

    def _stop(self, name: str, reason: MemberUnavailable, *, abort: bool = False) -> None:
        member = self.members[name]
        if member.state is not MemberState.ERROR:
            member.close(reason)
        member.flow.close()
        applier = self._appliers.get(name)
        if applier is not None:
            applier.stop(abort=abort)

    # Local transactions.

    def _local_decided(self, member: Member, pending: Pending) -> None:
        """Append local DDL to the member's own relay log, which runs it alone and uses up no number (R4)."""
        entry = pending.entry
        if entry is not None and entry.statement is not None:
            self._statements[entry.gtid] = (member, pending)
            member.disk.relay.append(renumbered(entry, 0, 0))

    def _statement_committed(self, member: Member, gtid: str) -> None:
        owner, pending = self._statements.get(gtid, (None, None))
        if owner is member and pending is not None:
            del self._statements[gtid]
            member.local_committed(pending)
            pending.done()

    def _commit_local(self, pending: Pending) -> None:
        if not pending.wait(ANSWER_SECONDS):
            return
        entry, member = pending.entry, pending.owner
        if entry is None or not isinstance(member, Member) or pending.failure is not None:
            return
        if entry.statement is not None:
            pending.wait_done(ANSWER_SECONDS)
            return
        try:
            self._wait_executed(member, pending.needs)
            member.log(entry)
            member.store.commit_local(entry)
            member.local_committed(pending)
        except ParaplyError as error:
            if member.state in RUNNING:
                self._failed(member, error)
            raise MemberUnavailable(
                f"member {member.name} failed while it committed {entry.gtid}, which the group has committed: {error}"
            ) from error

    @staticmethod
    def _wait_executed(member: Member, needs: GtidSet) -> None:
        while not needs <= member.store.executed():
            if member.state not in RUNNING:
                raise MemberUnavailable(f"member {member.name} has stopped")
            time.sleep(0.001)
