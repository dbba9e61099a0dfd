"""Receiving and applying at the same time."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from paraply._native import GtidSet, RelayLog, log_head
from paraply.applier import Applier
from paraply.applier.commit.consistency import Consistency
from paraply.applier.execute.supervisor import stopped_error
from paraply.applier.options import check_channel, keeps_gtids_right
from paraply.applier.preflight.fingerprint import plan_fingerprint
from paraply.applier.preflight.inspect import parse_gtids
from paraply.applier.selection.renaming import parse_renames
from paraply.applier.via_replication.options import live_gtid_mode
from paraply.errors import AlreadyRunning, CommitsLost, ConnectionFailed, ParaplyError, Stopped, UsageError
from paraply.observe.counters import Counters
from paraply.observe.timeline import Timeline
from paraply.replication.outcome import added, publish_failure, until_after
from paraply.replication.receiver import Receiver
from paraply.replication.relay_folder import RotationNote, locked_relay_log, receiver_status, words_of_cut
from paraply.replication.remarks import Remarks
from paraply.replication.source import Source, look
from paraply.runtime import runtime
from paraply.targets.protocol import ApplyPlan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from paraply._native import Transaction
    from paraply.applier import ApplyReport
    from paraply.applier.selection.filters import Filters
    from paraply.observe.status_json import RunIdentity
    from paraply.replication.options import ReplicationOptions
    from paraply.targets.protocol import Progress, Target
    from paraply.targets.url import DatabaseUrl

__all__ = ["Replication"]

_T = TypeVar("_T")

_PURGE_SECONDS = 5.0
_LOOK_SECONDS = 0.1
_FIRST_WAIT = 0.5
_LONGEST_WAIT = 5.0
_GRACE = 2_000_000
"""Microseconds by which the clocks of source and replica may differ, when a time is waited for."""


class Replication:
    """Replica of a live source, which receives into a relay log and applies from it.

    It survives restarts of source and target, and may itself be killed at any moment: with the same arguments it continues, and applies
    every transaction exactly once (R25). GTIDs decide which transactions are received and applied; positions do so only if the source has
    no GTIDs.

    Args:
        source: The source's URL.
        make_target: Opens the target, also again after its loss.
        options: Options of the replication.
        on_event: Called with one line about each event, such as a missing source; None to write them to the log.
    """

    def __init__(
        self,
        source: DatabaseUrl,
        make_target: Callable[[], AbstractContextManager[Target]],
        options: ReplicationOptions,
        on_event: Callable[[str], None] | None = None,
    ) -> None:
        check_channel(options.channel)
        self._url = source
        self._make_target = make_target
        self._options = options
        self._remarks = Remarks(on_event)
        self._applier: Applier | None = None
        self._receiver: Receiver | None = None
        self._relay: RelayLog | None = None
        self._source: Source | None = None
        self._held = GtidSet()
        self._until = options.until
        self._goes_on = self._time_over = self._published = False
        self._stops = 0
        self._wake = runtime.event()
        self._timeline: Timeline | None = None
        self.report: ApplyReport | None = None
        """Result of the apply, added up over losses of the target."""

    def stop(self) -> None:
        """End at a transaction boundary; a second call rolls back blocks in progress. May be called from any thread or signal handler."""
        self._stops += 1
        self._wake.set()
        applier = self._applier
        if applier is not None:
            applier.stop()

    def run(self) -> ApplyReport | None:
        """Replicate until the stop of ``until``; without one only an error or ``stop`` ends it.

        Returns:
            Result of the apply; None if the target already held everything.

        Raises:
            Stopped: On request.
            ReceiveFailed: The source does not send its log.
            ParaplyError: The error that ended the apply, by its class.
        """
        try:
            return self._run()
        except (AlreadyRunning, ConnectionFailed, Stopped):
            raise
        except ParaplyError as error:
            if self._source is not None and not self._published:
                publish_failure(self._make_target, self._options.channel, error, self._options.until, self.status(self._held))
            raise

    def _run(self) -> ApplyReport | None:
        """Replicate from an asked source into an asked target; see ``run``."""
        self._goes_on = any(index.stat().st_size for index in self._options.relay_folder.glob("*.index"))
        source = self._source = self._reached("source", lambda: look(self._url, self._options.source_timeout))
        by_gtid = source.gtids and self._options.start_at is None
        if not by_gtid and self._options.start_after:
            raise UsageError("--start-after names GTIDs, but the source has none; use --start-at FILE:POSITION")
        with locked_relay_log(self._options.relay_folder):
            relay = RelayLog(self._options.relay_folder, max_bytes=self._options.relay_file_bytes)
            self._relay = relay
            if (cut := relay.cut) is not None:
                self._remarks.warn(words_of_cut(cut.file, cut.position, cut.bytes))
            plan = self._plan(source, by_gtid=by_gtid)
            progress = self._reached("target", lambda: self._progress(plan))
            self._check_place(relay, progress, by_gtid=by_gtid)
            held = self._held = progress.executed | parse_gtids(self._options.start_after)
            if self._is_reached(held):
                self._complete(progress, plan)
                self._remarks.note(f"the target holds {self._options.until.text if self._options.until else ''} already")
                return None
            self._until = until_after(self._options.until, held)
            if by_gtid:
                relay.hold(held)
            receiver = self._receiver = Receiver(
                source,
                relay,
                server_id=self._options.server_id,
                place=self._options.start_at,
                by_gtid=by_gtid,
                semi_sync=self._options.semi_sync,
                report=self._options.report,
            )
            receiver.start()
            keeper = runtime.thread(self._keep, args=(relay,), name="paraply-relay-keeper")
            keeper.start()
            try:
                self._follow(relay, receiver)
            finally:
                self._wake.set()
                receiver.stop()
                keeper.join()
                relay.close()
                if self._timeline is not None:
                    self._timeline.close()
                if self.report is None and self._stops:  # nothing came, and an earlier run may have been killed
                    self._complete(progress, plan)
        return self.report

    def status(self, executed: GtidSet) -> Mapping[str, Any]:
        """Return the receiver's part of the status, with the number of transactions not applied yet.

        Args:
            executed: GTIDs that are applied.
        """
        relay, receiver = self._relay, self._receiver
        if relay is None or receiver is None:
            return {}
        pending = len(relay.status().received - executed - self._held) if self._source is not None and self._source.gtids else None
        lag = pending if receiver.connected or receiver.heard_to_the_stop else None
        return {**receiver_status(self._url, relay, receiver), "lag_transactions": lag, "unapplied_transactions": pending}

    def received(self) -> Mapping[str, Any]:
        """Return the receiver's part of the status at the end of the run."""
        executed = GtidSet(self.report.executed) if self.report is not None and self.report.executed else self._held
        return self.status(executed)

    def counters(self) -> Counters:
        """Return a snapshot of the apply; it counts from the last loss of the target. May be called from any thread at any time."""
        applier = self._applier
        return Counters() if applier is None else applier.counters()

    def identity(self) -> RunIdentity | None:
        """Return the apply's identity, or None before it has begun. May be called from any thread."""
        applier = self._applier
        return None if applier is None else applier.identity()

    def paused(self) -> str | None:
        """Return ``pausing`` while a pause of the apply has begun, then ``paused``; None without a pause. May be called from any thread."""
        applier = self._applier
        return None if applier is None else applier.paused()

    def receiver(self) -> Mapping[str, Any] | None:
        """Return the receiver's part of the status, or None before it has begun. May be called from any thread."""
        applier = self._applier
        executed = applier.executed() if applier is not None else None
        return self.status(executed if executed is not None else self._held) or None

    def _follow(self, relay: RelayLog, receiver: Receiver) -> None:
        """Apply until the end; wait for a target that was lost."""
        wait = _FIRST_WAIT
        while self._wait_for_first(relay):
            try:
                with self._make_target() as target, self._timed():
                    self._apply(relay, receiver, target)
                break
            except (CommitsLost, ConnectionFailed) as error:
                if self._stops or not self._used():
                    raise
                self._published = False
                self._remarks.lost(error)
                if self._report_progress():
                    wait = _FIRST_WAIT
            self._wake.wait(wait)
            wait = min(_LONGEST_WAIT, wait * 2)
        if self._stops:
            raise stopped_error()
        arrived = self._time_over or (self.report is not None and self.report.stop is not None)
        if receiver.failure is not None and not arrived:
            raise receiver.failure

    @contextmanager
    def _timed(self) -> Iterator[None]:
        """Open the timeline before the first apply; write all of it after each."""
        if self._timeline is None and self._options.trace is not None:
            self._timeline = Timeline(self._options.trace, "paraply replicate")
        try:
            yield
        finally:
            if self._timeline is not None:
                self._timeline.flush()

    def _apply(self, relay: RelayLog, receiver: Receiver, target: Target) -> None:
        options = self._options
        applier = self._applier = Applier(
            relay.files,
            target,
            relay=relay,
            receiver=self.status,
            outage=self._remarks.outage,
            stop=self._until,
            relay_failure=lambda: None if self._time_over else receiver.failure,
            channel=options.channel,
            start_after=options.start_after,
            trace=self._timeline,
            skip=options.skip,
            lower_case_table_names=self._source.lower_case_table_names if self._source is not None else None,
            local_time=self._source.local_time if self._source is not None else None,
            **self._applier_options(),
        )
        if self._stops:
            raise stopped_error()
        try:
            applier.run()
        finally:
            self._published = applier.identity() is not None
            self.report = added(self.report, applier.report)

    def _applier_options(self) -> Mapping[str, Any]:
        """Return the further arguments of the applier; the answer about a statement is for the first one that is applied, not for later."""
        options = self._options.applier
        applied = self.report is not None and self.report.transactions > 0
        return {**options, "ddl_decision": None} if applied else options

    def _reached(self, what: Literal["source", "target"], ask: Callable[[], _T]) -> _T:
        """Return the answer of a server at the start. If the server is down and the replication is a continuation, wait for it."""
        wait = _FIRST_WAIT
        while True:
            try:
                answer = ask()
                self._remarks.found(what)
                return answer
            except ConnectionFailed as error:
                if not self._goes_on or self._stops:
                    raise
                self._remarks.missing(what, error)
            self._wake.wait(wait)
            if self._stops:
                raise stopped_error()
            wait = min(_LONGEST_WAIT, wait * 2)

    def _used(self) -> bool:
        """Return True if the target was available before: a target that is missing at the start is an error."""
        return self.report is not None

    def _report_progress(self) -> bool:
        report = self._applier.report if self._applier is not None else None
        return report is not None and report.transactions > 0

    def _wait_for_first(self, relay: RelayLog) -> bool:
        """Wait for the first transaction; return False if none will come."""
        reader = relay.reader()
        while not self._stops:
            batch = reader.next_batch(1)
            if batch is None:
                return False
            if len(batch):
                return True
        return False

    def _plan(self, source: Source, *, by_gtid: bool) -> ApplyPlan:
        """Return the plan with which the target is asked for its progress, before anything is received."""
        options = self._options
        filters: Filters | None = options.applier.get("filters")
        filters = filters.in_lower_case() if filters is not None and source.lower_case_table_names else filters
        renamed = (options.applier.get(name, ()) for name in ("rename_database", "rename_table"))
        renames = parse_renames(*renamed, lower_case=bool(source.lower_case_table_names))
        first = SimpleNamespace(
            gtid="one" if by_gtid or source.gtids else None,
            file="relay-bin.000001",
            format=SimpleNamespace(mariadb=source.mariadb, server_id=source.server_id),
        )
        start_after, mode = parse_gtids(options.start_after), options.applier.get("gtid", "auto")
        mode = live_gtid_mode(mode, options.applier.get("via"), mariadb=source.mariadb)
        return ApplyPlan(
            channel=options.channel,
            fingerprint=plan_fingerprint(
                cast("Transaction", first),
                str(start_after) if start_after else None,
                {**(filters.identity() if filters is not None else {}), **renames.identity()},
            ),
            workers=options.applier.get("workers") or 0,
            gtid_mode="none" if renames else mode,
            renames=bool(renames),
            has_gtids=first.gtid is not None,
            mariadb=source.mariadb,
            gaps=not Consistency(options.applier.get("consistency", "any-time")).keeps_order,
            live=keeps_gtids_right(options.applier.get("merge", "auto")),
        )

    def _progress(self, plan: ApplyPlan) -> Progress:
        """Return the target's progress, and report its GTID mode."""
        with self._make_target() as target:
            found = target.inspect(plan)
        if found.mode_note:
            (self._remarks.warn if found.mode_is_fallback else self._remarks.note)(found.mode_note)
        return found.progress

    def _complete(self, progress: Progress, plan: ApplyPlan) -> None:
        """Finish the channel where nothing is left to apply, as an earlier run that was killed did not (R26)."""
        if not progress.resumed:
            return
        with self._make_target() as target:
            found = target.open(plan)
            target.finish((found.low if found.low is not None else found.executed) | parse_gtids(self._options.start_after))

    def _check_place(self, relay: RelayLog, progress: Progress, *, by_gtid: bool) -> None:
        """Check, for a source without GTIDs, that the relay log is the one whose offsets are the progress.

        Raises:
            UsageError: It is another relay log.
        """
        if by_gtid or progress.file is None or progress.offset is None:
            return
        for file in relay.files:
            if Path(file).name == Path(progress.file).name:
                if Path(file).stat().st_size >= progress.offset:
                    return
                break
        raise UsageError(
            f"the target was applied to up to {progress.file}:{progress.offset}, which the relay log in {relay.folder} does not hold:"
            " name the folder that was used then, or begin anew with another --channel and --start-at",
        )

    def _is_reached(self, held: GtidSet) -> bool:
        until = self._options.until
        return until is not None and until.after is not None and until.after in held

    def _keep(self, relay: RelayLog) -> None:
        """Remove applied files, and end the log when the time of ``until`` is over and the source has sent everything."""
        next_purge = runtime.monotonic() + _PURGE_SECONDS
        until = self._options.until
        rotation = RotationNote(relay)
        while not self._wake.wait(_LOOK_SECONDS):
            rotation.look()
            if until is not None and until.time is not None and (relay.idle_at or 0) > until.time + _GRACE:
                self._time_over = True
                relay.close()
                return
            if runtime.monotonic() >= next_purge:
                next_purge = runtime.monotonic() + _PURGE_SECONDS
                try:
                    self._purge(relay)
                except ParaplyError as error:
                    self._remarks.warn(f"applied files of the relay log were not removed: {error}")

    def _purge(self, relay: RelayLog) -> None:
        applier = self._applier
        executed = applier.executed() if applier is not None else None
        if executed is None or self._source is None or not self._source.gtids:
            return
        files = relay.files
        for file in reversed(files[1:]):
            before = log_head(file).previous_gtids
            if before is not None and before <= executed | self._held:
                relay.purge(file)
                return
