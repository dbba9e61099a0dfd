"""The partial order that scheme ``fine`` gives a log's transactions, and other orders that it allows."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from paraply._native import Block, Catalog, LogReader, Planner
from paraply.logs.feed import Feed, FeedRules
from paraply.schema.catalog import SchemaCatalog

WriteSet = tuple[frozenset[int], frozenset[int], bool]
"""Keys taken exclusively, keys shared, whether it is a barrier."""


@dataclass
class Plan:
    """A history's transactions behind its DDL, numbered from 0.

    Attributes:
        blocks: What is applied.
        before: For each, all that must come before it, directly or not.
        write_sets: What each touches.
        fallbacks: Why keys are coarse: reason, table, count.
    """

    blocks: list[Block]
    before: list[set[int]]
    write_sets: list[WriteSet]
    fallbacks: list[tuple[str, str, int]]


def read_plan(log: Path, *, bytewise: bool = False) -> Plan:
    """Reads a log as the applier does, one transaction a block."""
    feed = Feed(LogReader([str(log)]), SchemaCatalog(), Catalog(), FeedRules(bytewise=bytewise), threaded=False)
    planner = Planner()
    blocks: list[Block] = []
    write_sets: list[WriteSet] = []
    for item in feed:
        # Nothing is ever told to be committed, so that every dependency is given.
        planned = planner.plan(item.batch, item.write_sets, merge=1, max_bytes=1 << 30, committed=0)
        assert len(planned) == item.transactions
        for index, block in enumerate(planned):
            keys = item.write_sets.items(index)
            if block.kind == "dml":
                blocks.append(block)
                write_sets.append((frozenset(keys.exclusive), frozenset(keys.shared), keys.barrier))
            else:
                assert not blocks, f"{block.kind} behind rows"
    number = {block.id: index for index, block in enumerate(blocks)}
    before: list[set[int]] = []
    for index, block in enumerate(blocks):
        direct = set(range(index)) if block.depends_on_all else {number[other] for other in block.depends_on if other in number}
        before.append(direct.union(*(before[other] for other in direct)))
    return Plan(blocks, before, write_sets, feed.fallbacks)


def order_of(write_sets: list[WriteSet]) -> list[set[int]]:
    """The rule itself: two conflict if one takes exclusively what the other takes or shares, or one is a barrier."""
    before: list[set[int]] = []
    for index, one in enumerate(write_sets):
        direct = {other for other in range(index) if _conflict(write_sets[other], one)}
        before.append(direct.union(*(before[other] for other in direct)))
    return before


def _conflict(one: WriteSet, other: WriteSet) -> bool:
    return one[2] or other[2] or bool(one[0] & (other[0] | other[1]) or one[1] & other[0])


def allowed_orders(before: list[set[int]], chance: random.Random, count: int) -> Iterator[list[int]]:
    """At most so many different orders: reversed as far as it goes, each transaction as late and as early as may be, then random ones."""
    size = len(before)
    seen = {tuple(range(size))}
    rules = [_reversed_as_far_as_may_be()]
    for one in chance.sample(range(size), size):
        behind = {other for other in range(size) if one in before[other]} | {one}
        rules += [_late(behind, one), _early(before[one] | {one})]
    for tries in range(count * 3):
        choose = rules[tries] if tries < len(rules) else chance.choice
        order = _extension(before, choose)
        if tuple(order) not in seen:
            seen.add(tuple(order))
            yield order
            if len(seen) > count:
                return


Choice = Callable[[list[int]], int]


def _reversed_as_far_as_may_be() -> Choice:
    return max


def _late(behind: set[int], one: int) -> Choice:
    return lambda ready: min(ready, key=lambda other: (other in behind, -other))


def _early(needed: set[int]) -> Choice:
    return lambda ready: min(ready, key=lambda other: (other not in needed, -other))


def _extension(before: list[set[int]], choose: Choice) -> list[int]:
    """One order in which everything comes after what must come before it."""
    left = set(range(len(before)))
    done: set[int] = set()
    order: list[int] = []
    while left:
        one = choose([other for other in sorted(left) if before[other] <= done])
        order.append(one)
        done.add(one)
        left.remove(one)
    return order
