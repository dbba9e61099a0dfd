"""The command line."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Runs the command line; ends the process with the exit code."""
    from paraply.cli.secrets import hide_arguments

    hide_arguments()  # before anything that takes time
    from paraply.cli.app import main as run

    run()
