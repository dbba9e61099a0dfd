"""Plain and slow schedules: time goes on in single ticks, and every transaction looks at all others."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Given:
    """One transaction: its keys, the ticks of its rows, and whether it runs alone."""

    exclusive: frozenset[int]
    shared: frozenset[int]
    ticks: int
    barrier: bool = False
    need: int = 0

    def conflicts(self, other: Given) -> bool:
        """Return True if the two may not run at once."""
        return bool(
            self.barrier
            or other.barrier
            or self.exclusive & other.exclusive
            or self.exclusive & other.shared
            or self.shared & other.exclusive
        )


def older_conflicts(transactions: list[Given], index: int) -> list[int]:
    """Return the older transactions that one conflicts with."""
    return [older for older in range(index) if transactions[index].conflicts(transactions[older])]


def fine_need(transactions: list[Given], index: int) -> int:
    """Return the number of transactions that must be committed first."""
    return max((older + 1 for older in older_conflicts(transactions, index)), default=0)


@dataclass
class State:
    """State of the transactions at a tick; None for what has not happened."""

    start: list[int | None] = field(default_factory=list)
    applied: list[int | None] = field(default_factory=list)
    commit: list[int | None] = field(default_factory=list)
    end: list[int | None] = field(default_factory=list)
    busy: set[int] = field(default_factory=set)

    @staticmethod
    def of(number: int) -> State:
        """Return the state before the first tick."""
        return State([None] * number, [None] * number, [None] * number, [None] * number)


def coordinator(transactions: list[Given], needs: list[int], commit: int, workers: int, *, ordered: bool, leaves: bool) -> int:
    """Return the ticks until everything is committed, as MySQL's coordinator would need.

    Args:
        transactions: The transactions.
        needs: Number of transactions that must be committed before each.
        commit: Ticks of a commit.
        workers: Number of workers.
        ordered: True if commits keep the order.
        leaves: True if a worker that must wait for its turn takes the next transaction.
    """
    state = State.of(len(transactions))
    started = tick = 0
    while not all(end is not None for end in state.end):
        proceed(transactions, state, commit, tick, ordered=ordered)
        for index in list(state.busy):
            waits = state.applied[index] is not None and state.commit[index] is None
            if state.end[index] is not None or (leaves and waits):
                state.busy.discard(index)
        while started < len(transactions) and len(state.busy) < workers:
            if any(state.end[older] is None for older in range(needs[started])):
                break
            state.start[started] = tick
            state.busy.add(started)
            started += 1
        tick += 1
    return max((end for end in state.end if end is not None), default=0)


def proceed(transactions: list[Given], state: State, commit: int, tick: int, *, ordered: bool) -> None:
    """Let everything happen that happens at a tick."""
    for index, given in enumerate(transactions):
        start = state.start[index]
        if start is not None and state.applied[index] is None and tick >= start + given.ticks:
            state.applied[index] = tick
        begun = not ordered or all(state.commit[older] is not None for older in range(index))
        if state.applied[index] is not None and state.commit[index] is None and begun:
            state.commit[index] = tick
        ended = not ordered or all(state.end[older] is not None for older in range(index))
        begin = state.commit[index]
        if begin is not None and state.end[index] is None and tick >= begin + commit and ended:
            state.end[index] = tick


def optimistic(transactions: list[Given], commit: int, workers: int) -> tuple[int, int]:
    """Return ticks and retries of MariaDB's optimistic mode."""
    number = len(transactions)
    starts, reached, ends, begun = [0] * number, [0] * number, [0] * number, [0] * number
    free = [0] * workers
    retries = 0
    for index, given in enumerate(transactions):
        worker = free.index(min(free))
        older = range(index)
        alone = [end for end in older if given.barrier or transactions[end].barrier]
        start = max([free[worker], *(starts[other] for other in older), *(ends[other] for other in alone)])
        reach = start + given.ticks // 2
        rivals = [] if given.barrier else [other for other in older_conflicts(transactions, index) if ends[other] > reach]
        all_committed = max((ends[other] for other in older), default=0)
        if any(reached[other] > reach for other in rivals):
            retries += 1
            again = max(all_committed, start + given.ticks)
            applied, reached[index] = again + given.ticks, again + given.ticks // 2
        elif rivals:
            until = max(ends[other] for other in rivals)
            applied, reached[index] = until + given.ticks - given.ticks // 2, until
        else:
            applied, reached[index] = start + given.ticks, reach
        starts[index] = start
        begun[index] = max([applied, *(begun[other] for other in older)])
        ends[index] = max(begun[index] + commit, all_committed)
        free[worker] = ends[index]
    return max(ends, default=0), retries


def merged(transactions: list[Given], base: int, commit: int, workers: int, merge: int, *, ordered: bool) -> int:
    """Return the ticks of paraply; a transaction's ticks are ``base`` and those of its rows."""
    blocks = cut(transactions, merge)
    block_of = {index: number for number, block in enumerate(blocks) for index in block}
    ends: list[int] = []
    free = [0] * workers
    for number, block in enumerate(blocks):
        worker = free.index(min(free))
        waits = block_needs(transactions, block, block_of)
        all_before = max(ends, default=0)
        barrier = any(transactions[index].barrier for index in block)
        up_to = [max(ends[: need + 1], default=0) if need >= 0 else 0 for need in waits]
        rows = [transactions[index].ticks - base for index in block]
        if ordered:
            now = start = max(free[worker], min(up_to))
            now += base
            for until, ticks in sorted(zip(up_to, rows, strict=True)):
                now = max(now, until) + ticks
            end = max(now, all_before) + commit
        else:
            conflicts = {block_of[older] for index in block for older in older_conflicts(transactions, index)} - {number}
            start = max([free[worker], all_before if barrier else 0, *(ends[older] for older in conflicts)])
            barriers = [block_of[older] for older in range(block[0]) if transactions[older].barrier]
            start = max([start, *(max(ends[: older + 1]) for older in barriers)])
            end = start + base + sum(rows) + commit
        ends.append(end)
        free[worker] = end
    return max(ends, default=0)


def cut(transactions: list[Given], merge: int) -> list[list[int]]:
    """Return the transactions of each block."""
    blocks: list[list[int]] = []
    for index, given in enumerate(transactions):
        last = blocks[-1] if blocks else []
        if last and len(last) < merge and not given.barrier and not transactions[last[0]].barrier:
            last.append(index)
        else:
            blocks.append([index])
    return blocks


def block_needs(transactions: list[Given], block: list[int], block_of: dict[int, int]) -> list[int]:
    """Return the newest older block that each transaction of a block waits for, through others of the block too; -1 for none."""
    needs: dict[int, int] = {}
    for index in block:
        own = block_of[index]
        waits = [block_of[older] if block_of[older] < own else needs[older] for older in older_conflicts(transactions, index)]
        needs[index] = max(waits, default=-1)
    return [needs[index] for index in block]
