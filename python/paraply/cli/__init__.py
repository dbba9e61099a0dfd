"""The command line."""

from __future__ import annotations

import gc
import sys

__all__ = ["main"]

_COLLECT_AFTER = 60_000
"""New objects between two cycle collections; loading modules makes many objects and no garbage."""


def main() -> None:
    """Run the command line, and end the process with the exit code."""
    if sys.argv[1:] == ["--version"]:  # monitoring and packagers ask for it often: no command line is needed
        from paraply._version import __version__
        from paraply.cli.terminal.plain import print_text

        print_text(f"paraply {__version__}")
        return
    if sys.argv[1:] == ["--help"]:
        from paraply.cli.terminal.overview import print_overview

        if print_overview():
            return
    from paraply.cli.process.interrupt import raises_interrupted, report_early_stop
    from paraply.cli.process.secrets import hide_arguments

    raises_interrupted()
    hide_arguments()  # before anything that takes time
    gc.disable()  # loading modules leaves nothing to collect
    try:
        from paraply.cli.app import main as run

        gc.freeze()
        gc.enable()
        gc.set_threshold(_COLLECT_AFTER)
    except KeyboardInterrupt:
        report_early_stop(sys.argv[1:])
        sys.exit(4)
    run()
