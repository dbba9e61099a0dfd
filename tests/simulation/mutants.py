"""Planted faults of the applier, which the simulation has to find: a proof that it can."""

from __future__ import annotations

import importlib
import inspect
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from paraply.applier import applier as _applier

__all__ = ["MUTANTS", "Mutant", "planted"]

assert _applier


@dataclass(frozen=True, slots=True)
class Mutant:
    """One changed place in the source.

    Attributes:
        place: Module below ``paraply``, a colon, and the function.
        old: Text in its source.
        new: Text in place of that.
        harmless: Why no promise is broken, only a run slower; empty for a fault.
    """

    place: str
    old: str
    new: str
    harmless: str = ""

    @property
    def name(self) -> str:
        """Place and change in one line."""
        return f"{self.place.partition(':')[2]}: {_line(self.old)} -> {_line(self.new)}"


def _line(text: str) -> str:
    return " ".join(text.split())


@contextmanager
def planted(mutant: Mutant) -> Iterator[None]:
    """Change the code of a function, wherever it was imported."""
    function = _function(mutant.place)
    before = function.__code__
    function.__code__ = _changed(function, mutant)
    try:
        yield
    finally:
        function.__code__ = before


def _function(place: str) -> FunctionType:
    module, _, name = place.partition(":")
    found: Any = importlib.import_module(f"paraply.{module}")
    for part in name.split("."):
        found = inspect.getattr_static(found, part)
    if isinstance(found, property):
        found = found.fget
    found = inspect.unwrap(found)
    assert isinstance(found, FunctionType), place
    return found


def _changed(function: FunctionType, mutant: Mutant) -> Any:
    source = textwrap.dedent(inspect.getsource(function))
    assert source.count(mutant.old) == 1, f"{mutant.place} has {mutant.old!r} {source.count(mutant.old)} times"
    source = source.replace(mutant.old, mutant.new)
    flags = function.__code__.co_flags & 0x1000000  # annotations stay text
    space = dict(function.__globals__)
    exec(compile(source, f"<{mutant.place}>", "exec", flags=flags, dont_inherit=True), space)
    return inspect.unwrap(space[function.__name__]).__code__


ORDER = "applier.commit.commit_order:CommitOrder."
JOBS = "applier.schedule.job_list:JobList."
WORKER = "applier.execute.worker:Worker."
RESOLUTION = "applier.execute.resolution:"
COORDINATOR = "applier.schedule.coordinator:Coordinator."
POLICY = "applier.schedule.policy."
FILES = "targets.progress.file_ledger:"
GTIDS = "targets.progress.gtid_ledger:"

_IN_ORDER = [
    Mutant(ORDER + "_may_commit", "return self._queue[0] is ticket", "return True"),
    Mutant(ORDER + "_may_commit", "return self._queue[0] is ticket", "return self._queue[0].sequence + 1 >= ticket.sequence"),
    Mutant(ORDER + "_may_commit", "all(self._is_committed(sequence) for sequence in ticket.after)", "True"),
    Mutant(ORDER + "_may_commit", "all(", "any("),
    Mutant(ORDER + "_is_committed", "sequence <= self._low_water_mark", "sequence <= self._low_water_mark + 1"),
    Mutant(ORDER + "_is_committed", " or sequence in self._committed_early", "", harmless="it waits until everything older is committed"),
    Mutant(ORDER + "_mark_committed", "elif queue:\n        self._wake(queue[0])", "elif False:\n        pass"),
    Mutant(
        ORDER + "_mark_committed",
        "self._committed_early.add(ticket.sequence)",
        "pass",
        harmless="it waits until everything older is committed",
    ),
    Mutant(ORDER + "_mark_committed", "self._wake(follower)", "pass", harmless="the oldest ticket is woken in any case"),
    Mutant(ORDER + "_mark_committed", "self._wake(waiter)", "pass", harmless="the oldest ticket is woken in any case"),
    Mutant(ORDER + "_mark_committed", "self._wake_next_sender()", "pass"),
    Mutant(ORDER + "_wake_next_sender", "self._sent + 1 - queue[0].sequence", "self._sent - queue[0].sequence"),
    Mutant(ORDER + "sent", "self._wake_next_sender()", "pass", harmless="the next one is woken by the acknowledgement"),
    Mutant(ORDER + "_fail", "self._wake(ticket)", "pass"),
    Mutant(ORDER + "_check", "if self._failure is not None:", "if False:"),
    Mutant(ORDER + "_wait", "raise RollbackRequested(older)", "ticket.older = None"),
    Mutant(ORDER + "_in_progress", "if self._consistency is not Consistency.MOST_OF_THE_TIME:", "if True:"),
    Mutant(ORDER + "take_turns", "ticket.rollback_requested or not all(", "ticket.rollback_requested or False and not all("),
    Mutant(ORDER + "take_turns", "or self._failure is not None", "", harmless="the batch is recorded like any other that was under way"),
    Mutant(ORDER + "wait_committed", "self._wait(ticket, lambda: self._low_water_mark >= older, rollback=True)", "pass"),
    Mutant(ORDER + "wait_for", "self._wait(ticket, lambda: self._low_water_mark >= older)", "pass"),
    Mutant(
        ORDER + "wait_for",
        "self._followers.setdefault(older, []).append(ticket)",
        "pass",
        harmless="the oldest ticket is woken in any case",
    ),
    Mutant(
        ORDER + "wait_turn",
        "self._awaiting.setdefault(sequence, []).append(ticket)",
        "pass",
        harmless="the oldest ticket is woken in any case",
    ),
    Mutant(
        ORDER + "withdraw",
        "while self._queue and self._queue[-1].state is TicketState.GIVEN_UP:",
        "while False:",
        harmless="nothing is registered behind them any more",
    ),
    Mutant(ORDER + "_request", "if ticket.sequence <= older or", "if"),
    Mutant(
        ORDER + "_request",
        "(TicketState.REGISTERED, TicketState.WAITING)",
        "(TicketState.REGISTERED, TicketState.WAITING, TicketState.TURN)",
        harmless="it is only met if the commit fails",
    ),
]
_JOBS = [
    Mutant(JOBS + "_may_start", "(job.number - 1 if self._serial else job.needs) > mark", "(job.needs - 1) > mark"),
    Mutant(
        JOBS + "_may_start",
        "for number in job.blocks:\n        if number > mark and",
        "for number in job.blocks[1:]:\n        if number > mark and",
    ),
    Mutant(
        JOBS + "_may_start",
        "for number in job.blocks:\n        if number > mark and number not in early",
        "for number in job.blocks:\n        if number > mark + 1 and number not in early",
    ),
    Mutant(JOBS + "_raise_mark", "if self._ordered:", "if True:"),
    Mutant(JOBS + "_raise_mark", "while self._low_water_mark + 1 in early:", "if self._low_water_mark + 1 in early:"),
    Mutant(JOBS + "_pop_ready", "del self._jobs[index]", "if index: del self._jobs[index]"),
    Mutant(JOBS + "_pop_ready", "if job.held_by > mark and job.held_by not in early:", "if job.held_by > 0 and job.held_by not in early:"),
    Mutant(JOBS + "put_all", "self._hand_over()", "pass"),
    Mutant(
        JOBS + "committed",
        "self._hand_over(leave=1 if returns else 0)",
        "self._hand_over(leave=1)",
        harmless="the worker that committed takes it itself",
    ),
    Mutant(
        JOBS + "committed",
        "self._hand_over(leave=1 if returns else 0)",
        "pass",
        harmless="the worker that committed takes the next one itself",
    ),
    Mutant(JOBS + "committed", "self._drained.notify_all()", "pass"),
    Mutant(JOBS + "committed", "self._not_full.notify()", "pass"),
    Mutant(JOBS + "_started", "self._not_full.notify()", "pass"),
    Mutant(JOBS + "drain", "while self._low_water_mark < number and", "while self._low_water_mark < number - 1 and"),
    Mutant(JOBS + "drain", "return self._low_water_mark >= number", "return True"),
    Mutant(JOBS + "stop", "self._jobs = kept", "pass"),
    Mutant(JOBS + "stop", "job.number < self._newest_started", "False"),
    Mutant(JOBS + "abort", "self._jobs.clear()", "pass"),
    Mutant(JOBS + "abort", "self._drained.notify_all()", "pass"),
    Mutant(JOBS + "_dismiss_if_over", "slot.condition.notify()", "pass"),
    Mutant(JOBS + "_hand_over", "slot = self._idle.pop()", "slot = self._idle[-1]"),
    Mutant(JOBS + "_place_behind", "min(last_of[table][0], job.number - 1)", "last_of[table][-1] + 1"),
    Mutant(JOBS + "take_more", "job.is_free or self._may_commit(job, numbers)", "True"),
    Mutant("logs.bounded_queue:BoundedQueue.get", "self._changed.notify()", "pass"),
    Mutant("logs.bounded_queue:BoundedQueue.put", "self._changed.notify()", "pass"),
    Mutant(
        "applier.execute.supervisor:Supervisor._stop_if_asked",
        "self._run.order.withdraw(job.ticket)",
        "pass",
        harmless="the run ends without them",
    ),
]
_WORKERS = [
    Mutant(WORKER + "_get_in", "if committing and was_committed(run, ticket, block):", "if False:"),
    Mutant(WORKER + "_get_in", "if committing and was_committed(run, ticket, block):", "if committing:"),
    Mutant(WORKER + "_get_in", "self._wait_turn(job)\n                committing = True", "self._wait_turn(job)"),
    Mutant(WORKER + "_get_in", "self._wait_turn(job)", "pass"),
    Mutant(WORKER + "_get_in", "if not part_of_job:", "if True:", harmless="at most-of-the-time neighbours may change places"),
    Mutant(WORKER + "_get_in", "or statement:", ":"),
    Mutant(WORKER + "_get_in", "if older is None and not early:", "if older is None:"),
    Mutant(WORKER + "_get_in", "early = run.optimistic and", "early =", harmless="the error comes again when it is the oldest"),
    Mutant(WORKER + "_back_off", "self._rollback()", "pass"),
    Mutant(WORKER + "_step_back", "self._rollback()", "pass"),
    Mutant(WORKER + "_reconnect", "self._connect(job)", "pass", harmless="the session is opened at its next use"),
    Mutant(WORKER + "_replay", "job.block.split()", "job.block.split()[1:]"),
    Mutant(WORKER + "_replay", "part_of_job=True", "part_of_job=False", harmless="at most-of-the-time neighbours may change places"),
    Mutant(WORKER + "_replay", "self._run.order.wait_for(job.ticket, job.number - 1)\n    self._run.order.wait_turn(job.ticket)", "pass"),
    Mutant(RESOLUTION + "end_run", "run.order.wait_for(job.ticket, job.number - 1)", "pass"),
    Mutant(
        RESOLUTION + "end_run",
        "run.order.wait_for(job.ticket, job.number - 1)\n    run.order.wait_turn(job.ticket)\n    run.order.finish(job.ticket, error)",
        "pass",
    ),
    Mutant(WORKER + "_apply_job", "self._replay(job)", "self._resolve(job, job.block, error)"),
    Mutant(
        WORKER + "process",
        "except PrecedingFailed as error:\n        self._rollback()",
        "except PrecedingFailed as error:",
        harmless="the session is closed at once",
    ),
    Mutant(WORKER + "process", "order.finish(job.ticket)\n", "pass\n"),
    Mutant(
        WORKER + "_commit_together",
        "order.take_turns([job.ticket for job in jobs])",
        "order.take_turns([job.ticket for job in jobs]) and len(jobs)",
        harmless="the job list lets only such jobs into a batch",
    ),
    Mutant(WORKER + "process_batch", "batch[outcome.done :]", "batch[outcome.done + 1 :]"),
    Mutant(WORKER + "process_batch", "untold = jobs.take_older(job.number)", "untold = []"),
    Mutant(WORKER + "process_batch", "outcome if outcome.error is not None else None", "None"),
    Mutant(WORKER + "loop", "for one in untold))", "for one in untold[:1]))"),
    Mutant(WORKER + "_apply_rows", "steps[-1] <= order.low_water_mark", "steps[-1] <= order.low_water_mark + 1"),
    Mutant("applier.schedule.early_rows:steps_of", "if start > mark():", "if False:"),
    Mutant("applier.schedule.early_rows:steps_of", "block.step(before, done)", "block.step(None, done)"),
    Mutant("applier.schedule.early_rows:steps_of", "max(start, mark())", "start + 1"),
]
_DEPENDENCIES = [
    Mutant(POLICY + "dependency:DependencyPolicy.needs", "for n in older if", "for n in older[1:] if"),
    Mutant(
        POLICY + "dependency:DependencyPolicy.needs",
        "return Needs(barrier, tuple(",
        "return Needs(0, tuple(",
        harmless="the planner names the barrier among the older blocks",
    ),
    Mutant(
        POLICY + "dependency:DependencyPolicy.needs",
        "return Needs(barrier) if barrier else NOTHING",
        "return NOTHING",
        harmless="the planner names the barrier among the older blocks",
    ),
    Mutant(
        POLICY + "dependency:DependencyPolicy.needs",
        "Needs(max(barrier, steps[0]))",
        "Needs(barrier)",
        harmless="its worker waits for the first rows, too",
    ),
    Mutant(POLICY + "dependency:DependencyPolicy.needs", "return Needs(number - 1)", "return Needs(number - 2)"),
    Mutant(POLICY + "barrier:BarrierPolicy.needs", "self._through = number - 1", "self._through = number - 2"),
    Mutant(POLICY + "barrier:BarrierPolicy.needs", "n > max(self._through, committed)", "n > max(self._through + 1, committed)"),
    Mutant(POLICY + "table:TablePolicy.needs", ".union(block.depends_on)", ""),
    Mutant(
        POLICY + "logical_clock:LogicalClockPolicy.needs",
        "self._ids[place - 1] if place else 0",
        "self._ids[place - 2] if place > 1 else 0",
    ),
    Mutant(POLICY + "base:LastBarrier.needs", "return Needs(self._block) if self._block > committed else NOTHING", "return NOTHING"),
    Mutant("applier.schedule.session_order:SessionOrder.before_all", "(last,) if committed < last < number else ()", "()"),
    Mutant("applier.schedule.session_order:SessionOrder.before_all", "tuple(n for n in older if committed < n < number)", "()"),
    Mutant(
        COORDINATOR + "_register",
        "Needs(own.up_to, (*own.blocks, *older))",
        "own",
        harmless="the lock watchdog finds the locks that it would hold",
    ),
    Mutant(COORDINATOR + "coordinate", "self._executor.drain(self._last) and self._pass_skipped()", "self._pass_skipped()"),
    Mutant(COORDINATOR + "_pass_over", "self._executor.passed(ticket.sequence)", "pass"),
    Mutant(COORDINATOR + "_pass_over", "target.pass_over(block)", "pass"),
    Mutant(COORDINATOR + "_hand_out", "if self._done and end_of(blocks[0]) in self._done:", "if False:"),
    Mutant(
        "logs.feed:Feed._define",
        "self._catalog.put(table)",
        "self._catalog.put(__import__('dataclasses').replace(table, keys=table.keys[:1]))",
    ),
    Mutant(
        "logs.feed:Feed._define", "self._catalog.put(table)", "self._catalog.put(__import__('dataclasses').replace(table, foreign_keys=()))"
    ),
    Mutant("applier.applier:Applier._apply", "executed=start.skip, after=start.place", "after=start.place"),
    Mutant("applier.applier:Applier._apply", "executed=start.skip, after=start.place", "executed=start.skip"),
]
_LEDGER = [
    Mutant(FILES + "PlaceLedger.marks", "done = done | _ends(block)", "pass"),
    Mutant(FILES + "PlaceLedger.marks", "low = FilePositions(block.end_file, block.end_offset, block.ordinal)", "pass"),
    Mutant(FILES + "PlaceLedger.marks", "done = done.union(*(_ends(early) for early in self._early.values()))", "pass"),
    Mutant(FILES + "PlaceLedger.marks", "if not self._ordered:", "if self._ordered:"),
    Mutant(FILES + "PlaceLedger._take_in", "- block.transaction_count - block.skipped", "- block.transaction_count"),
    Mutant(FILES + "PlaceLedger._take_in", "early.end_offset, early.ordinal)", "early.offset, early.ordinal)"),
    Mutant(
        FILES + "PlaceLedger._take_in",
        "self._initial = self._initial - _ends(block) if self._initial else self._initial",
        "self._initial = frozenset()",
    ),
    Mutant(FILES + "read_positions", "low = max(", "low = min("),
    Mutant(FILES + "read_positions", "earlier.done.union(*(places.done for places in written))", "earlier.done"),
    Mutant(
        FILES + "read_positions",
        "earlier.done.union(*(places.done for places in written))",
        "frozenset().union(*(places.done for places in written))",
    ),
    Mutant(FILES + "_ends", "if block.transaction_count == 1:", "if True:"),
    Mutant(GTIDS + "read_executed", "low = low | new_gtid_set(text)", "low = new_gtid_set(text)"),
    Mutant(GTIDS + "read_executed", 'low = low | new_gtid_set(stored["low"])', 'low = new_gtid_set(stored["low"])'),
    Mutant(
        GTIDS + "read_executed",
        "beyond.setdefault(int(domain), []).extend(NumberRange(*numbers) for numbers in ranges)",
        "beyond[int(domain)] = [NumberRange(*numbers) for numbers in ranges]",
    ),
    Mutant(GTIDS + "make_ledger", "(gaps or executed.beyond)", "gaps"),
    Mutant(GTIDS + "ProgressLedger.marks", "self.native.texts(blocks, slot)", "[str(block.gtids) for block in blocks]"),
    Mutant(GTIDS + "ProgressLedger.acknowledge_all", "self.native.acknowledge(blocks, slot)", "self.native.acknowledge(blocks[:1], slot)"),
]
MUTANTS = [*_IN_ORDER, *_JOBS, *_WORKERS, *_DEPENDENCIES, *_LEDGER]
"""All planted faults. A place that cannot be changed any more as written here is an error of this list."""
