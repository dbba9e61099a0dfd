"""Rows of a merged block that need not wait go in before those that must (C3 within C4 of WL#4648)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from paraply._native import Block
    from paraply.applier.options import Options
    from paraply.targets.protocol import Target

__all__ = ["in_waves", "may_go_in_waves"]


def in_waves(block: Block, mark: Callable[[], int], wait: Callable[[int], None]) -> Iterator[Block]:
    """The parts of a block, each as soon as everything that it needs is committed; what may go in together comes together.

    Args:
        block: A block that has waves.
        mark: The low-water mark.
        wait: Waits until everything up to a block is committed.
    """
    done: int | None = None
    for start in block.waves:
        if done is not None and start <= done:
            continue
        if start > mark():
            wait(start)
        before, done = done, max(start, mark())
        yield block.wave(before, done)


def may_go_in_waves(options: Options, target: Target) -> bool:
    """Whether rows of a block may go in before others of it.

    Where blocks are merged, because a transaction that keeps its own commit keeps the order of its rows in the target's binlog too; and
    where commits are in order, because what the rows wait for is told by the low-water mark.

    Args:
        options: The run's options.
        target: The target, opened.
    """
    merged = options.merges and target.merges
    return merged and options.consistency.keeps_order and options.policy.in_waves and options.workers > 1
