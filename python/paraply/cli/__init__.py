"""The command line."""

from __future__ import annotations

import gc

__all__ = ["main"]

_COLLECT_AFTER = 60_000
"""New objects between two looks for cycles; modules that are loaded make many objects and no waste."""


def main() -> None:
    """Runs the command line; ends the process with the exit code."""
    from paraply.cli.secrets import hide_arguments

    hide_arguments()  # before anything that takes time
    gc.disable()  # while modules are made there is nothing to collect
    from paraply.cli.app import main as run

    gc.freeze()
    gc.enable()
    gc.set_threshold(_COLLECT_AFTER)
    run()
