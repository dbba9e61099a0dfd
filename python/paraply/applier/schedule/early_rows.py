"""Early rows: rows of a merged block that are applied before its other rows, which must wait (C3 within C4 of WL#4648)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from paraply._native import Block
    from paraply.applier.options import Options
    from paraply.targets.protocol import Target

__all__ = ["may_have_early_rows", "steps_of"]


def steps_of(block: Block, mark: Callable[[], int], wait: Callable[[int], None]) -> Iterator[Block]:
    """Yield the parts of a block, each as soon as everything it needs is committed; parts that are ready at the same time together.

    Args:
        block: A block with early rows.
        mark: The low-water mark.
        wait: Waits until everything up to a block is committed.
    """
    done: int | None = None
    for start in block.steps:
        if done is not None and start <= done:
            continue
        if start > mark():
            wait(start)
        before, done = done, max(start, mark())
        yield block.step(before, done)


def may_have_early_rows(options: Options, target: Target) -> bool:
    """Return True if some rows of a block may be applied before others.

    This needs merged blocks, because an unmerged transaction keeps the order of its rows in the target's binlog too. And it needs
    commits in order, because the low-water mark decides whether the rows may go.

    Args:
        options: The run's options.
        target: The target, opened.
    """
    merged = options.merges and target.merges
    return merged and options.consistency.keeps_order and options.policy.early_rows and options.workers > 1
